"""Wang & Russell 2015: the paper and its figures."""

from splitmerge_cli.papers.declaration import Paper, PaperFigure

FIGURES = (
    PaperFigure(
        "sdds-table1",
        "Probability of each step of the smart split's sequential allocation (alpha = 1, three tokens), computed by "
        "the code's own proposal. An arrow marks the mention placed in the step.",
        "exact.table1",
        "exact.allocation",
        shows="Table of six steps: letter tiles of the tokens that two entities hold after each step, and below them "
        "the probability of the step here and in the paper.",
    ),
    PaperFigure(
        "sdds-fig1",
        "The width of an arrow is the probability of the proposal, given the type of move. Smart moves follow equation "
        "3, summed over all merges or splits. Dashed: a way back that the reverse move does not prefer.",
        "exact.fig1",
        "exact.proposals",
        shows="Two rows of three states, boxes of letter tiles, joined by arrows as wide as the proposal is probable: "
        "a smart split undone by a smart merge, a smart merge undone by a smart split.",
    ),
    PaperFigure(
        "sdds-fig2",
        "As Figure 1, for the two kernels of SDDS: a smart move forth, a dumb move back.",
        "exact.fig2",
        "exact.proposals",
        shows="Two rows of three states, boxes of letter tiles, joined by arrows as wide as the proposal is probable: "
        "a smart split undone by a dumb merge, a smart merge undone by a dumb split.",
    ),
    PaperFigure(
        "sdds-fig3",
        "Ten entities with one token each; chains start at K0 = 5. Lines: median over chains of the running mean; "
        "bands: range over chains. Upper row: the acceptance ratios as printed, whose stationary distribution is the "
        "posterior times 2^K/K!; each move is followed by a full Gibbs scan for RGSM and by one Gibbs site for the "
        "others. Lower row: the model as defined, with full scans. Dashed: the mean of the distribution that the "
        "chains of the row sample.",
        "running_means.fig3",
        shows="Six panels, two forms of the model by three sizes N: running mean of K over iterations on a log axis, "
        "a median line and a band for each sampler; dashed lines at the posterior mean.",
        differs={
            "medians and ranges of ten chains for one line": "one chain says little",
            "a log axis": "the climb takes less than 1 % of the iterations",
            "a second row": "the model as defined has another mean: on the dashed lines at our location and largest "
            "K, in the rows above at the printed location, 0.5, and without a largest K",
        },
    ),
    PaperFigure(
        "sdds-fig4",
        "As Figure 3. Bottom: share of chains whose mean K over their second half is within 1 of 10, with 95 % "
        "Jeffreys intervals. Filled: a full Gibbs scan after each move of RGSM and one Gibbs site for the others; "
        "hollow: the other way round.",
        "running_means.fig4",
        shows="Twelve panels, four initial numbers of entities side by side: lines of the running mean of K over "
        "iterations on a log axis in two forms of the model; points with intervals of the share that settles at 10.",
        differs={
            "medians and ranges of ten chains for one line": "one chain says little",
            "a log axis": "the climb takes less than 1 % of the iterations",
            "a second row": "the model as defined has another mean",
            "a row of shares": "claims are judged by them",
        },
    ),
    PaperFigure(
        "sdds-fig5",
        "Means over chains (times: medians) with 95 % intervals. Chains start at K0 = 5 and use the ratios as printed, "
        "RGSM with a full Gibbs scan after each move, SS and SDDS (their smart moves) with one Gibbs site. Times are "
        "measured in the compiled loops.",
        "speed.fig5",
        shows="Four panels of lines over N with intervals: percentage of splits and of merges accepted, milliseconds "
        "per iteration, and time of RGSM over time of SDDS, on log axes; hollow marks for the paper.",
        differs={
            "log axes": "rates differ by a factor of 1,000",
            "the time of SS, and a panel with the ratio of times": "the paper has both in words",
        },
    ),
    PaperFigure(
        "sdds-fig6",
        "Bernoulli mixture of 5 components with 15 attributes. All samplers start with all items in one component (the "
        "paper does not give the start), and a full Gibbs scan follows each move. Lines and bands: median and range "
        "over chains. A chain reaches the level when it has made 99 % of the climb from its start to the median log "
        "joint of the best chain's second half; a chain that has not reached it counts with all its time. Lead: median "
        "of the differences of pairs. Below, on a log axis, all of the time.",
        "speed.fig6",
        shows="Three panels by N as in the paper: log likelihood minus the best chain's over seconds, lines and bands "
        "for SDDS, RGSM and Gibbs, marks at the median time to the level. Below, the same on a log axis.",
        differs={
            "log likelihood less the best one, medians and ranges": "every chain has data of its own",
            "fractions of a second for minutes": "the loops are compiled",
        },
    ),
    PaperFigure(
        "sdds-traces",
        "One chain: fractions of the items in the largest component, in the two largest, and so on. It starts with all "
        "items in one component.",
        "running_means.traces",
        shows="Six panels, SDDS, RGSM and Gibbs by two sizes N: stacked areas of the cumulative fractions of the "
        "largest components over iterations.",
        differs={"a figure of its own": "section 5.2 says in words what these traces show"},
    ),
)

PAPER = Paper(
    key="sdds",
    authors=("Wang, Wei", "Russell, Stuart"),
    year=2015,
    title="A Smart-Dumb/Dumb-Smart Algorithm for Efficient Split-Merge MCMC",
    venue="UAI 2015",
    figures=FIGURES,
)
