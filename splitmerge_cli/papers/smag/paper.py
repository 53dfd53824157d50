"""Rana et al. 2013: the paper and its figures."""

from splitmerge_cli.papers.declaration import Paper, PaperFigure

FIGURES = (
    PaperFigure(
        "smag-fig2",
        "Ten nested topics over ten words, and four groups drawn from them. The paper gives neither the number of "
        "words nor its mixtures.",
        "runs.fig2",
        compute="runs.groups",
        shows="A heat map of the probabilities of ten words in ten topics; for each of four groups, bars "
        "of the word counts and bars of the topic mixture.",
    ),
    PaperFigure(
        "smag-fig3",
        "The paper gives neither the number of words nor the hyper-parameters nor the start. These decide how many "
        "topics the posterior has; on four groups it does not have ten. So 200 documents are shown, too, with the "
        "setting that comes nearest to the claim. Chains start from one topic and from five random ones.",
        "counts.fig3",
        shows="Two panels as in the paper: lines of topics over iterations, of split-merge with the share accepted and "
        "of Gibbs. Below, twelve panels on a log axis, three corpora: topics, share of chains that had ten, share "
        "accepted.",
        differs={"medians and ranges of 20 chains for one line": "one chain says little"},
    ),
    PaperFigure(
        "smag-fig4",
        "Columns are the topics found, named after the true topics that they match; a dash: without a match. Rows as "
        "in the paper are the groups; below, they are true topics. Nested topics share words, so no sampler can "
        "separate all tokens; the panels at the right show the best possible separation.",
        "counts.fig4",
        shows="Two heat maps as in the paper: topics of the four groups, by Gibbs and by split-merge. Below, maps of "
        "true topic by topic found, for two corpora, three samplers and known mixtures.",
        differs={"a column of tokens without a match": "a topic found may match none"},
    ),
    PaperFigure(
        "smag-fig5a",
        "The paper names neither the kind of perplexity nor the start. Its figure most likely shows fold-in; "
        "completion predicts words that were not used to estimate the mixture. Chains start from one topic and from "
        "fifty random ones. A panel as in the paper has fold-in from one topic, the reading that counts.",
        "runs.fig5a",
        shows="One panel as in the paper: lines of held-out perplexity over iterations, of Gibbs and split-merge. "
        "Below, eight panels by evaluation, axis and start, and differences from Gibbs with intervals.",
    ),
    PaperFigure(
        "smag-fig5b",
        "As Figure 5a, on 16,242 postings, of which only the presence of a hundred words is known.",
        "runs.fig5b",
        shows="One panel as in the paper: lines of held-out perplexity over iterations, of Gibbs and split-merge. "
        "Below, eight panels by evaluation, axis and start, and differences from Gibbs with intervals.",
    ),
)

PAPER = Paper(
    key="smag",
    authors=("Rana, Santu", "Phung, Dinh", "Venkatesh, Svetha"),
    year=2013,
    title="Split-Merge Augmented Gibbs Sampling for Hierarchical Dirichlet Processes",
    venue="PAKDD 2013",
    figures=FIGURES,
)
