"""Figures that compare the samplers of all papers, which no paper has."""

from splitmerge_cli.papers.declaration import Comparison, PaperFigure

FIGURES = (
    PaperFigure(
        "matrix",
        "Every sampler on every model that it supports (except models of counts), raced on data sets of 100 to 100,000 "
        "items with few and many clusters, well and badly separated. 1 is the best; grey: not supported.",
        "figures.matrix",
        shows="Two heat maps with numbers, a row for each sampler and a column for each model: time to the target, "
        "and effective draws a second; grey cells for what is not supported.",
    ),
    PaperFigure(
        "auto",
        "How much longer sampler=auto takes than the best sampler in hindsight, compared with every fixed sampler, on "
        "data sets that did not influence its choice. The runs are from matrix.",
        "figures.auto",
        shows="Seven panels, one for each model: time to the target as a multiple of the best in hindsight on a log "
        "axis, in a row for each sampler marks at the median (dot) and at the worst (tick).",
    ),
    PaperFigure(
        "exactness",
        "Every form of every sampler on small data whose posterior is enumerated; each mark is one data set. Left: the "
        "transition matrix of the compiled code, with all random choices listed. Right: a sampled chain; dashed: what "
        "an exact sampler shows by chance.",
        "figures.exactness",
        "figures.compute",
        shows="Two panels on log axes, a row for each sampler: marks for the defect of the transition matrix, and for "
        "the total variation of a sampled chain; discs exact, diamonds as printed.",
    ),
    PaperFigure(
        "scaling",
        "How the cost of an iteration and the time to the target grow with the numbers of points, dimensions and "
        "clusters.",
        "figures.scaling",
        shows="Six panels on log axes: seconds an iteration and seconds to the target over items N, dimensions D and "
        "clusters K, a line for each sampler.",
    ),
)

COMPARISON = Comparison(key="comparisons", title="Comparisons across papers", figures=FIGURES)
