"""Figures that compare the samplers of all papers, which no paper has."""

from splitmerge_cli.papers.declaration import Comparison, PaperFigure

FIGURES = (
    PaperFigure(
        "matrix",
        "Every sampler on every model that it supports, those of counts left out, raced on data sets of 100 to 100,000 "
        "items with few and many clusters, well and badly separated. 1 is the best; grey: not supported.",
        "matrix.draw",
    ),
    PaperFigure(
        "auto",
        "What sampler=auto loses on data sets that it was not chosen by, beside every fixed sampler; the runs of "
        "matrix.",
        "choice.draw",
    ),
    PaperFigure(
        "exactness",
        "Every form of every sampler on small data whose posterior is enumerated, a mark for each small data set. "
        "Left: of the transition matrix of the compiled code, all random choices listed. Right: of a sampled chain; "
        "dashed: what an exact sampler shows by chance.",
        "exactness.draw",
        "exactness.compute",
    ),
    PaperFigure(
        "scaling",
        "What an iteration costs and how long it is to the target, as points, dimensions and clusters grow.",
        "scaling.draw",
    ),
)

COMPARISON = Comparison(key="comparisons", title="Comparisons across papers", figures=FIGURES)
