"""Bernoulli mixtures in the manner of Jain & Neal (2004), as Wang & Russell 2015 and Herlau et al. 2014 use them.

Each component holds an attribute with probability 0.95 or 0.05; with more than six attributes the last column of the
table is repeated, so that components differ in the first columns only and are hard to tell apart.

Source: Herlau et al., section 3.1 and Table 1 (Examples 1 to 3); Wang & Russell 2015, section 5.2 (5 components,
15 attributes; the paper refers to Jain & Neal for the probabilities).
"""

import numpy as np

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.labels import equal_sizes
from splitmerge_cli.data.values import LARGEST, require, require_seed, require_size

TABLE = np.array(
    [
        [0.95, 0.95, 0.95, 0.95, 0.95, 0.95],
        [0.05, 0.05, 0.05, 0.05, 0.95, 0.95],
        [0.95, 0.05, 0.05, 0.95, 0.95, 0.95],
        [0.05, 0.05, 0.05, 0.05, 0.05, 0.05],
        [0.95, 0.95, 0.95, 0.95, 0.05, 0.05],
    ]
)
EXAMPLES = {1: 6, 2: 8, 3: 10}


def generate(N: int, components: int = 5, attributes: int = 15, example: int | None = None, seed: int = 0) -> Dataset:
    """Binary observations from a mixture of components.

    Parameters
    ----------
    N : int
        Number of observations.
    components : int
        Number of components, equally likely. Five use the published table; any other number draws each probability
        of each component from {0.05, 0.95}.
    attributes : int
        Number of attributes.
    example : {1, 2, 3} or None
        The Examples of Herlau et al. 2014: 6, 8 or 10 attributes and five components of exactly N / 5 observations
        each; `components` and `attributes` are then not looked at.
    seed : int
        Seed of the data, independent of the seed of the chains.

    Returns
    -------
    Dataset
        Kind ``binary``, uint8 ``[N, attributes]``; the truth is the component.

    Raises
    ------
    DataError
        A parameter out of range, or N not a multiple of 5 in an example.
    """
    require_size("N", N)
    require_seed(seed)
    rng = np.random.default_rng(seed)
    if example is not None:
        require(example in EXAMPLES, "data.example", example, "1, 2, 3 or null")
        require(N % 5 == 0, "N", N, "a multiple of 5 (five components of equal size)")
        components, attributes = 5, EXAMPLES[example]
        truth = equal_sizes(rng, N, components)
    else:
        require_size("data.attributes", attributes, LARGEST // N)
        require_size("data.components", components, LARGEST // attributes)
        truth = rng.integers(components, size=N, dtype=np.int32)
    if components == len(TABLE):
        p = TABLE[:, np.minimum(np.arange(attributes), TABLE.shape[1] - 1)]
    else:
        p = rng.choice([0.05, 0.95], size=(components, attributes))
    x = (rng.random((N, attributes)) < p[truth]).astype(np.uint8)
    meta = {"components": components, "attributes": attributes, "example": example, "seed": seed}
    return Dataset("jain_neal", "binary", x, truth, meta=meta)
