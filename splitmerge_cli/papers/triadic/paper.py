"""van Rossum et al. 2018: the paper and its figures."""

from splitmerge_cli.papers.declaration import Paper, PaperFigure

FIGURES = (
    PaperFigure(
        "triadic-fig1",
        "How often each move was proposed and accepted in the runs of Table 1 (noise of standard deviation 1, lines "
        "integrated out), and by the dyadic sampler on the same data. No move leads from one cluster to three or back.",
        "runs.fig1",
        shows="Two diagrams of circles with numbers of clusters, joined by arrows with the percentages proposed and "
        "accepted: triadic between 1, 2 and 3, dyadic between 1 and 2.",
        differs={"rates on the arrows": "the paper's figure is a scheme"},
    ),
    PaperFigure(
        "triadic-fig2",
        "Points have the colour of their cluster in a last state; the line fitted to each cluster (posterior mean) is "
        "drawn over them, and true lines are thin and grey. The states were chosen by rule among the last states of "
        "all runs of Table 1. Left: the smallest angle between two true lines in one cluster. Right, on another data "
        "set: the most points of one true line in its second cluster. Only lines of ten points or more count.",
        "runs.fig2",
        shows="Two scatter plots of points, y over x, marked by cluster, with the line fitted to each cluster and the "
        "true lines; grey bands along the lines concerned by an error.",
    ),
    PaperFigure(
        "triadic-fig3",
        "Distribution of the scores of the last states over data sets and seeds, for the setting that comes near the "
        "paper's numbers: noise of standard deviation 1, lines integrated out, 10,000 iterations from 30 clusters. One "
        "iteration of the auxiliary variable sampler updates every item.",
        "table.fig3",
        shows="Three panels of violins, purity, Rand index and adjusted Rand index, of the dyadic, the auxiliary "
        "variable and the triadic sampler, with means here and in the paper.",
    ),
    PaperFigure(
        "triadic-table1",
        "Mean scores over data sets and seeds. The paper gives neither the noise of the model nor the state that it "
        "scores. Its formulas keep the lines as parameters; the authors' scripts score the state of the highest "
        "likelihood after 10,000 iterations from 30 clusters. As printed: the ratio of SAMS takes q from random "
        "allocation (printed q) or leaves it out (q = 1), and a dyadic call draws a new pair.",
        "table.table1",
        shows="Table as in the paper: purity, Rand index and adjusted Rand index of three samplers, printed values in "
        "grey. Below, the released program, blocks by setting with differences, and four panels of mean ARI.",
    ),
)

PAPER = Paper(
    key="triadic",
    authors=("van Rossum, Anne C.", "Lin, Hai Xiang", "Dubbeldam, Johan", "van den Herik, H. Jaap"),
    year=2018,
    title="Triadic Split-Merge Sampler",
    venue="ICMV 2017, Proc. SPIE 10696",
    figures=FIGURES,
)
