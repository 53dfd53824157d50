"""Luo & Shrivastava 2018: the paper and its figures."""

from splitmerge_cli.papers.declaration import Paper, PaperFigure

FIGURES = (
    PaperFigure(
        "lshsm-fig1",
        "S1 to S3 are generated again for every chain: ten normal distributions in 25 dimensions that differ in mean "
        "and variance. The paper gives neither the start nor whether Gibbs scans follow a move. Here they do not, "
        "because with scans every split-merge sampler finds them all (Table 1); and both extreme starts are shown, "
        "because the start decides who leads.",
        "curves.fig1",
        shows="Six panels, three data sets by two starts: log likelihood minus the best over iterations on a log "
        "axis, a line and a band for each sampler, marks on the axis at median hitting times.",
    ),
    PaperFigure(
        "lshsm-fig2",
        "The chains of Figure 1 against sampling time (without the building of the hash tables, which are part of no "
        "iteration). Every sampler has the same time and start.",
        "curves.fig2",
        shows="Six panels, three data sets by two starts: log likelihood minus the best over seconds of sampling on a "
        "log axis, a line and a band for each sampler, marks on the axis at median hitting times.",
    ),
    PaperFigure(
        "lshsm-fig3",
        "kdd_like is generated in the manner of KDDCUP04Bio; ohsumed23, 7,400 abstracts in the words of PubMed's "
        "vocabulary, stands for PubMed's 8.2 million. Moves alone, equal time for all samplers.",
        "curves.fig3",
        shows="Eight panels, two data sets by two starts: log likelihood minus the best, over iterations and over "
        "seconds of sampling on log axes, a line for each sampler.",
    ),
    PaperFigure(
        "lshsm-speed",
        "The paper reports one size of each data set. Here N, D and the number of clusters vary; every sampler has the "
        "same time. A chain that has not reached the level counts with all its time, which makes a ratio a bound.",
        "speed.speed",
        shows="Two panels by start, a row for each number of clusters, dimension and size: seconds to the level on a "
        "log axis, a mark for each sampler; hollow marks for a level not reached.",
    ),
    PaperFigure(
        "lshsm-table1",
        "Only S1 to S3 of the paper's data sets can be scored, generated again with separations of our choice; for the "
        "two others no labels are public. The columns of what stands for them are named as what they are.",
        "table.table1",
        shows="Table: NMI and accuracy of each sampler, in three blocks by schedule and start, on the paper's data "
        "sets and two stand-ins; the paper's values on top.",
    ),
    PaperFigure(
        "lshsm-cache",
        "The paper's caches served 79 % and 83 %; how long its runs were and where they started it does not say. Here: "
        "runs of several lengths of the same chain.",
        "cache.cache",
        shows="Two panels, one for each data set: percentage served from the cache over iterations on a log axis, a "
        "line for each of two starts; a dotted line at the printed value.",
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
