"""Figures and tables of paper 003: Herlau, Morup, Teh & Schmidt, Adaptive Reconfiguration Moves."""

from splitmerge_cli.figures.arm_mixtures import fig4, fig6b, table2
from splitmerge_cli.figures.arm_moves import fig1, fig2
from splitmerge_cli.figures.arm_networks import fig3, fig5, fig6a
from splitmerge_cli.figures.arm_tables import table3, table4, table5
from splitmerge_cli.figures.base import Entry

FIGURES = [
    Entry(
        "arm-fig1",
        "A move that the compiled sampler made on a state of three Gibbs chains, and below it the way back. Items keep "
        "the colour of their block in the first plate, so that what moved shows.",
        fig1,
        "arm_exact.plates",
    ),
    Entry(
        "arm-fig2",
        "(a) Gibbs updates of variables 2 and 3 of a network of three: two paths lead to one partition. (b) A split in "
        "the 4-node network of Figure 3: the lower path is forbidden, because k would leave its block to a newcomer. "
        "Probabilities are exact; the product of the allowed path is what the compiled sampler counts.",
        fig2,
        "arm_exact.paths",
    ),
    Entry(
        "arm-fig3",
        "Each sampler alone. ARM learns from a growing past (paper), and from the present states of the other chains "
        "(population), for which it is exact at any time.",
        fig3,
    ),
    Entry(
        "arm-fig4",
        "One chain of each sampler on the same data, from 20 random blocks; a full Gibbs scan after each move.",
        fig4,
    ),
    Entry(
        "arm-table2",
        "Autocorrelation times 1 + 2 sum r(lag), by Geyer's initial positive sequence, of the iterations after the 50 "
        "of warm-up. A full Gibbs scan follows each move; start from 20 random blocks. Standardised iterations: "
        "iterations times total time over the time inside the Gibbs scans.",
        table2,
    ),
    Entry(
        "arm-fig5",
        "All chains start from 20 random blocks, of which the paper says nothing, with Gibbs scans alone; then Gibbs "
        "goes on, or SM or ARM take over. The cost of an iteration is in Gibbs sweeps, measured inside the run.",
        fig5,
    ),
    Entry(
        "arm-table3",
        "R-hat is taken for each chain number s between the s-th chains of four restarts, which are independent; the "
        "chains of one restart share their past. The start decides much, and the paper does not give it: all three are "
        "shown.",
        table3,
    ),
    Entry(
        "arm-fig6a",
        "Four restarts for each number of chains S that share their past. More chains are also more cost.",
        fig6a,
    ),
    Entry(
        "arm-fig6b",
        "The runs of Table 2: one point per data set, the mean over its chains.",
        fig6b,
    ),
    Entry(
        "arm-table4",
        "As Table 3, with bSM (SM whose pair and launch state come from the past) and sARM (ARM without moves of whole "
        "blocks).",
        table4,
    ),
    Entry(
        "arm-table5",
        "Share of the proposals of a split or merge that were accepted, in the runs of Table 4; ARM and sARM with more "
        "restarts. A proposal always changes the partition: i and j end up apart in a split, together in a merge.",
        table5,
    ),
]
