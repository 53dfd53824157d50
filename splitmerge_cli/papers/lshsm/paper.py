"""Luo & Shrivastava 2018: the paper and its figures."""

from splitmerge_cli.papers.declaration import Paper, PaperFigure

FIGURES = (
    PaperFigure(
        "lshsm-fig1",
        "S1 to S3 are generated again for every chain: ten normal distributions in 25 dimensions that differ in mean "
        "and variance. The paper does not say where chains start or whether Gibbs scans follow a move. Here none do, "
        "because with scans every split-merge sampler finds all ten (Table 1). The panels as in the paper have the "
        "start that counts. Both extreme starts are shown below, because the start decides which sampler leads; "
        "iterations are on a log axis there, since the samplers need very different numbers of them.",
        "runs.fig1",
        shows="Three panels as in the paper: log likelihood minus the best of RGSM, SDDS and LSHSM over iterations. "
        "Below, six panels on log axes, three data sets by two starts: a line and a band for each sampler, marks on "
        "the axis at the median iteration of the level.",
        differs={"log likelihood less the best one, medians and ranges": "every chain has data of its own"},
    ),
    PaperFigure(
        "lshsm-fig2",
        "The chains of Figure 1 over sampling time. The hash tables are built before the first iteration, and that "
        "time is left out. Every sampler has the same time and start. The panels as in the paper have the start that "
        "counts.",
        "runs.fig2",
        shows="Three panels as in the paper: log likelihood minus the best of RGSM, SDDS and LSHSM over seconds of "
        "sampling. Below, six panels on log axes, three data sets by two starts: a line and a band for each sampler, "
        "marks on the axis at the median time to the level.",
        differs={
            "log likelihood less the best one, medians and ranges": "every chain has data of its own",
            "fractions of a second to seconds": "the loops are compiled",
        },
    ),
    PaperFigure(
        "lshsm-fig3",
        "kdd_like is generated in the manner of KDDCUP04Bio. ohsumed23, 7,400 abstracts in PubMed's vocabulary, stands "
        "in for PubMed's 8.2 million. No Gibbs scans follow the moves, and all samplers have equal time. The panels as "
        "in the paper have the start that counts.",
        "runs.fig3",
        shows="Four panels as in the paper: log likelihood minus the best of RGSM, SDDS and LSHSM, over iterations and "
        "over seconds, on two data sets. Below, eight panels on log axes, from two starts, a line for each sampler.",
        differs={
            "log likelihood less the best one, medians": "every chain of kdd_like has data of its own",
            "other data": "the paper's cannot be had",
        },
    ),
    PaperFigure(
        "lshsm-speed",
        "The paper reports one size of each data set. Here N, D and the number of clusters vary, and every sampler has "
        "the same time. A chain that did not reach the level counts with all its time, so the ratio is then only a "
        "bound.",
        "table.speed",
        shows="Two panels by start, a row for each number of clusters, dimension and size: seconds to the level on a "
        "log axis, a mark for each sampler; hollow marks for a level not reached.",
        differs={"a figure of its own": "sections 4.3 and 5 say in words that LSHSM is at least five times faster"},
    ),
    PaperFigure(
        "lshsm-table1",
        "Only S1 to S3 of the paper's data sets can be scored; they are generated again with separations of our "
        "choice. The two others have no public labels, so the columns show stand-ins under their own names.",
        "table.table1",
        shows="Table: NMI and accuracy of each sampler, in three blocks by schedule and start, on the paper's data "
        "sets and two stand-ins; the paper's values on top.",
    ),
    PaperFigure(
        "lshsm-cache",
        "The paper's caches served 79 % and 83 %, but it does not say how long its runs were or where they started. "
        "Here the same chain is shown at several lengths.",
        "table.cache",
        shows="Two panels, one for each data set: percentage served from the cache over iterations on a log axis, a "
        "line for each of two starts; a dotted line at the printed value.",
        differs={"a figure of its own": "section 4.3 has two numbers"},
    ),
)

PAPER = Paper(
    key="lshsm",
    authors=("Luo, Chen", "Shrivastava, Anshumali"),
    year=2018,
    title="Scaling-up Split-Merge MCMC with Locality Sensitive Sampling (LSS)",
    venue="arXiv:1802.07444",
    figures=FIGURES,
)
