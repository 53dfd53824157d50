"""Herlau et al. 2014: the paper and its figures."""

from splitmerge_cli.papers.declaration import Paper, PaperFigure

FIGURES = (
    PaperFigure(
        "arm-fig1",
        "A move that the compiled sampler made from a state of three Gibbs chains and, below it, the way back. Items "
        "keep the colour of their cluster in the first plate and the letter of their block of c.",
        "moves.fig1",
        "moves.plates",
        shows="Two rows of five diagrams, a split forth and the merge back: circles for clusters hold discs and "
        "letters for their items, with rings around the items i and j.",
    ),
    PaperFigure(
        "arm-fig2",
        "(a) Gibbs updates of variables 2 and 3 in a network of three nodes: two paths lead to the same partition. (b) "
        "A split in the 4-node network of Figure 3: the lower path is forbidden, because k would leave its block to a "
        "newcomer. Probabilities are exact; the compiled sampler counts the product along the allowed path.",
        "moves.fig2",
        "moves.paths",
        shows="Two diagrams of partitions, boxes of numbered tiles joined by arrows with probabilities; in the second "
        "one arrow is dashed and crossed out.",
    ),
    PaperFigure(
        "arm-fig3",
        "Each sampler runs alone. ARM learns either from a growing history (paper) or from the present states of the "
        "other chains (population); the population form is exact at any time.",
        "moves.fig3",
        shows="Bars of the exact probability of each of the 15 partitions of four nodes; on each bar a mark with an "
        "error bar for Gibbs, SM, ARM and ARM with a population. Below, the differences from the exact probabilities.",
        differs={
            "ARM with a population": "ARM as published is not exact while its history grows",
            "a panel with the differences from the exact probabilities": "they are smaller than the marks",
        },
    ),
    PaperFigure(
        "arm-fig4",
        "One chain of each sampler on the same data. Each starts from 20 random blocks, and a full Gibbs scan follows "
        "each move.",
        "mixtures.fig4",
        shows="Three panels, Gibbs, SM and ARM: stacked areas, dark and light in turn, of the cumulative fractions "
        "of the largest components over iterations.",
    ),
    PaperFigure(
        "arm-table2",
        "Autocorrelation times are 1 + 2 sum r(lag), by Geyer's initial positive sequence, over the iterations after "
        "the 50 of warm-up. Chains start from 20 random blocks, and a full Gibbs scan follows each move. Standardised "
        "iterations are iterations times total time, divided by the time inside the Gibbs scans.",
        "mixtures.table2",
        shows="Table: autocorrelation times of the largest block and of the indicators, and standardised iterations, "
        "of Gibbs, SM and ARM on three examples; the paper's values in grey.",
    ),
    PaperFigure(
        "arm-fig5",
        "All chains start from 20 random blocks (the paper does not give the start) with Gibbs scans alone; then Gibbs "
        "continues, or SM or ARM takes over. The cost of an iteration is in Gibbs sweeps, measured inside the run.",
        "runs.fig5",
        shows="Twelve panels, four networks by Gibbs, SM and ARM: the log joint of every chain over Gibbs sweeps; "
        "between vertical lines lies the cost of ARM's whole run.",
    ),
    PaperFigure(
        "arm-table3",
        "R-hat is computed for each chain number s from the s-th chains of four restarts. These are independent, while "
        "the chains of one restart share their history. The start makes a large difference, and the paper does not "
        "give it, so all three starts are shown.",
        "tables.table3",
        shows="Table: R-hat of Gibbs, SM and ARM with spreads, a row for each network; above from 20 random blocks at "
        "two lengths of the run, with the paper's values in grey, below from two other starts.",
    ),
    PaperFigure(
        "arm-fig6a",
        "Four restarts for each number S of chains that share their history. More chains also cost more.",
        "runs.fig6a",
        shows="Four panels, one for each network: R-hat of the log joint over the number of chains S, points with "
        "bars and a line for ARM, a horizontal line for SM.",
        differs={"R-hat on a log axis": "it goes from 1 to 10"},
    ),
    PaperFigure(
        "arm-fig6b",
        "The runs of Table 2. Each point is one data set, the mean over its chains.",
        "mixtures.fig6b",
        shows="Four scatter plots on log axes: autocorrelation time of SM and of Gibbs against that of ARM, of the "
        "largest block and of the indicators, a point for each data set, with the diagonal.",
    ),
    PaperFigure(
        "arm-table4",
        "As Table 3, with two more samplers: bSM (SM whose pair and launch state come from the history) and sARM (ARM "
        "without moves of whole blocks).",
        "tables.table4",
        shows="Table: R-hat of Gibbs, SM, bSM, sARM and ARM with spreads, a row for each network, in three blocks by "
        "start; the paper's values in grey.",
    ),
    PaperFigure(
        "arm-table5",
        "Share of proposed splits and merges that were accepted in the runs of Table 4; ARM and sARM have more "
        "restarts. A proposal always changes the partition: a split separates i and j, a merge joins them.",
        "tables.table5",
        shows="Table: percentage accepted of SM, bSM, sARM and ARM, a row for each network, in three blocks by start; "
        "at the right the ratio of ARM to sARM with intervals on a log axis.",
    ),
)

PAPER = Paper(
    key="arm",
    authors=("Herlau, Tue", "Mørup, Morten", "Teh, Yee Whye", "Schmidt, Mikkel N."),
    year=2014,
    title="Adaptive Reconfiguration Moves for MCMC inference in Dirichlet Process Mixtures",
    venue="arXiv:1406.0071",
    figures=FIGURES,
)
