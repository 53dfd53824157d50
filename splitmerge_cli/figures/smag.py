"""Figures of paper 002: Rana, Phung & Venkatesh, Split-Merge Augmented Gibbs Sampling for HDP."""

from splitmerge_cli.figures.base import Entry
from splitmerge_cli.figures.smag_confusion import fig4
from splitmerge_cli.figures.smag_corpus import fig2
from splitmerge_cli.figures.smag_counts import fig3
from splitmerge_cli.figures.smag_perplexity import fig5a, fig5b

FIGURES = [
    Entry(
        "smag-fig2",
        "Ten nested topics over ten words, and four groups drawn from them. The paper gives neither the number of "
        "words nor the mixtures that it drew.",
        fig2,
        compute="smag_corpus.groups",
    ),
    Entry(
        "smag-fig3",
        "The paper gives neither the number of words nor the hyper-parameters nor the start, and these decide how many "
        "topics the posterior holds: on four groups it is not ten. So the four groups are shown beside 200 documents, "
        "and beside the setting in which the claim comes nearest; from one topic and from five random ones.",
        fig3,
    ),
    Entry(
        "smag-fig4",
        "Rows: true topics; columns: the topics found, named by the true ones that they match. Nested topics share "
        "their words, so that no sampler can tell all tokens apart: the last column shows what can be told at best.",
        fig4,
    ),
    Entry(
        "smag-fig5a",
        "The paper names neither the kind of perplexity nor the start. Fold-in is what its figure most likely shows; "
        "completion predicts words that the mixture was not told from. From one topic and from fifty random ones.",
        fig5a,
    ),
    Entry(
        "smag-fig5b",
        "As Figure 5a, on 16,242 postings of which a hundred words are known.",
        fig5b,
    ),
]
