"""Options of generated data that are out of range, a row for each; seeds, on which alone the data depend; what tokens
and rows of 0 and 1 are.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.values import draw_codes, token_names
from splitmerge_cli.kinds.documents.generated import nested_topics, synthetic_documents
from splitmerge_cli.kinds.lines import generate as lines
from splitmerge_cli.kinds.networks.generated import generate as network
from splitmerge_cli.kinds.tables.generated import TABLE, gaussian, jain_neal, kdd_like, mixed
from splitmerge_cli.kinds.tokens import generate as emm
from splitmerge_cli.received import DataError

NAN = float("nan")
GRID = {"structure": "grid"}
GENERATORS = [emm, jain_neal, lines, gaussian, mixed, kdd_like, network, nested_topics]
REFUSED = [
    *((generate, {"N": 0}, "N=0: expected a whole number from 1") for generate in GENERATORS),
    *((generate, {"seed": -1}, "data.seed=-1: expected a whole number") for generate in GENERATORS),
    (emm, {"entities": 12}, "data.n_tokens=10"),
    (emm, {"dictionaries": "same"}, "data.dictionaries=same"),
    (emm, {"dictionaries": "dirichlet", "concentration": 0}, "data.concentration=0"),
    (jain_neal, {"example": 4}, "data.example=4"),
    (jain_neal, {"N": 11, "example": 1}, "N=11"),
    (jain_neal, {"attributes": 0}, "data.attributes=0"),
    (jain_neal, {"components": 0}, "data.components=0"),
    (emm, {"dictionaries": "dirichlet", "concentration": 1e308}, "data.concentration=1e+308"),
    (emm, {"dictionaries": "dirichlet", "n_tokens": 10**6, "entities": 10**6}, "data.entities=1000000"),
    (jain_neal, {"N": 99999999999}, "N=99999999999"),
    (lines, {"N": 2**31}, "N=2147483648"),
    (lines, {"lines": 0}, "data.lines=0"),
    (lines, {"lines": 11}, "data.lines=11"),
    (lines, {"N": 10, "lines": 9, "outliers": 0.2}, "data.lines=9"),
    (lines, {"concentration": 0.0}, "data.concentration=0.0"),
    (lines, {"concentration": NAN}, "data.concentration=nan"),
    (lines, {"length": 0.0}, "data.length=0.0"),
    (lines, {"length": float("inf")}, "data.length=inf"),
    (lines, {"noise": -0.1}, "data.noise=-0.1"),
    (lines, {"outliers": 1.0}, "data.outliers=1.0"),
    (lines, {"outliers": -0.1}, "data.outliers=-0.1"),
    (lines, {"spread": -1.0}, "data.spread=-1.0"),
    (lines, {"sigma0": -1.0}, "data.sigma0=-1.0"),
    (lines, {"sigma0": 1e60}, "data.sigma0=1e+60"),
    (gaussian, {"components": 0}, "data.components=0"),
    (gaussian, {"components": 11}, "data.components=11"),
    (gaussian, {"D": 0}, "data.D=0"),
    (gaussian, {"D": 2**31}, "data.D=2147483648"),
    (gaussian, {"separation": -1.0}, "data.separation=-1.0"),
    (gaussian, {"spread": NAN}, "data.spread=nan"),
    (gaussian, {"sizes": "same"}, "data.sizes=same"),
    (gaussian, {"sizes": "crp", "concentration": -1.0}, "data.concentration=-1.0"),
    (mixed, {"components": 11}, "data.components=11"),
    (mixed, {"binary": -1}, "data.binary=-1"),
    (mixed, {"count": 2**31}, "data.count=2147483648"),
    (mixed, {"binary": 0, "categorical": 0, "count": 0, "real": 0}, "data.real=0"),
    (mixed, {"levels": 1}, "data.levels=1"),
    (mixed, {"separation": 101.0}, "data.separation=101.0"),
    (mixed, {"missing": 1.1}, "data.missing=1.1"),
    (kdd_like, {"dtype": "float16"}, "data.dtype=float16"),
    (gaussian, {"dtype": "f4"}, "data.dtype=f4"),
    (kdd_like, {"components": 0}, "data.components=0"),
    (kdd_like, {"components": 145752}, "data.components=145752"),
    (kdd_like, {"D": 0}, "data.D=0"),
    (kdd_like, {"D": 2**30}, "data.D=1073741824"),
    (kdd_like, {"separation": -1.0}, "data.separation=-1.0"),
    (kdd_like, {"exponent": 11.0}, "data.exponent=11.0"),
    (kdd_like, {"spreads": [2.0, 1.0]}, "data.spreads=[2.0, 1.0]"),
    (kdd_like, {"scales": [0.0, 1.0]}, "data.scales=[0.0, 1.0]"),
    (kdd_like, {"scales": [1.0]}, "data.scales=[1.0]"),
    (gaussian, {"spreads": [-1.0, 1.0]}, "data.spreads=[-1.0, 1.0]"),
    (gaussian, {"spreads": [1.0, NAN]}, "data.spreads=[1.0, nan]"),
    (gaussian, {"spreads": ["a", 1.0]}, "data.spreads=['a', 1.0]"),
    (gaussian, {"spreads": [1.0, 2.0, 3.0]}, "data.spreads=[1.0, 2.0, 3.0]"),
    (gaussian, {"spreads": 2.0}, "data.spreads=2.0"),
    (nested_topics, {"length": 0}, "data.length=0: expected a whole number"),
    (nested_topics, {"N": 10, "length": 2**30}, "data.length=1073741824: expected a whole number"),
    (nested_topics, {"words": 0}, "data.words=0"),
    (nested_topics, {"concentration": 0.0}, "data.concentration=0.0: expected a number from 1e-100"),
    (nested_topics, {"concentration": NAN}, "data.concentration=nan"),
    (nested_topics, {"heldout": 2}, "data.heldout=2"),
    (synthetic_documents, {"N": 1.5}, "N=1.5: expected a whole number"),
    (synthetic_documents, {"length": 0}, "data.length=0: expected a number from 1e-09"),
    (synthetic_documents, {"length": 1000000000.0}, "data.length=1000000000.0: expected a number"),
    (synthetic_documents, {"length": 1.5, "lengths": "fixed"}, "data.length=1.5: expected a whole number with"),
    (synthetic_documents, {"lengths": "equal"}, "data.lengths=equal: expected one of poisson, fixed"),
    (synthetic_documents, {"topics": 2**30}, "data.topics=1073741824: expected a whole number from 1 to"),
    (synthetic_documents, {"words": 2**30}, "data.words=1073741824: expected a whole number from 1 to"),
    (synthetic_documents, {"eta": 0}, "data.eta=0"),
    (synthetic_documents, {"alpha0": -1}, "data.alpha0=-1"),
    (synthetic_documents, {"gamma": 0.0}, "data.gamma=0.0"),
    (synthetic_documents, {"heldout_by": "x"}, "data.heldout_by=x"),
    (synthetic_documents, {"N": 1, "length": 1e-09}, "synthetic_documents: documents: 1, tokens: none"),
    (network, {"structure": "tree"}, "data.structure=tree: expected one of blocks, grid, random"),
    (network, {"blocks": 51}, "data.blocks=51: expected a whole number from 1 to 10"),
    (network, {"p_in": 1.5}, "data.p_in=1.5: expected a number from 0 to 1"),
    (network, {"p_out": NAN}, "data.p_out=nan: expected a number from 0 to 1"),
    (network, {"structure": "random", "p": -0.1}, "data.p=-0.1: expected a number from 0 to 1"),
    (network, {"N": 10**6, "structure": "random", "p": 0.1}, "data.p=0.1: expected a probability that makes 1e+09"),
    (network, GRID | {"N": 97}, "N=97: expected a product of 2 whole numbers of at least 3"),
    (network, GRID | {"N": 8}, "N=8: expected a product of 2 whole numbers"),
    (network, GRID | {"dimensions": 0}, "data.dimensions=0: expected a whole number from 1 to 20"),
    (network, GRID | {"sides": [5, 5]}, "data.sides=[5, 5]: expected numbers whose product is N=10, not 25"),
    (network, GRID | {"sides": [25, 2]}, "data.sides=[25, 2]: expected a list of whole numbers, at least 3"),
    (network, GRID | {"sides": "50"}, "data.sides=50: expected a list"),
    (network, GRID | {"sides": []}, "data.sides=[]: expected a list"),
]


@pytest.mark.parametrize(("generate", "options", "message"), REFUSED)
def test_options_out_of_range(generate: Callable[..., Dataset], options: dict[str, Any], message: str) -> None:
    """There are 10 items where a row gives no other number."""
    with pytest.raises(DataError) as raised:
        generate(**{"N": 10} | options)
    assert str(raised.value).startswith(message) and "expected" in str(raised.value)


def contents(data: Dataset) -> np.ndarray:
    if data.kind == "documents":
        return data.values.tokens.words
    return data.values.toarray() if data.kind == "graph" else data.values


@pytest.mark.parametrize("generate", GENERATORS)
def test_data_depend_on_their_seed_alone(generate: Callable[..., Dataset]) -> None:
    one, two, other = (generate(50, seed=seed) for seed in (7, 7, 8))
    assert np.array_equal(contents(one), contents(two), equal_nan=one.kind == "mixed")
    assert np.array_equal(one.truth, two.truth) and not np.array_equal(contents(one), contents(other))


def test_codes_are_drawn_by_the_probabilities_of_their_rows() -> None:
    probabilities = np.array([[0.2, 0.5, 0.3], [0.0, 1.0, 0.0]])
    rows = np.tile(np.array([0, 1], dtype=np.int32), 4000)
    codes = draw_codes(np.random.default_rng(1), probabilities, rows)
    assert (codes[rows == 1] == 1).all()
    assert np.bincount(codes[rows == 0]) / 4000 == pytest.approx(probabilities[0], abs=0.03)
    # a row whose sum is less than 1, much more so than by rounding: the last column that it has takes the rest
    codes = draw_codes(np.random.default_rng(1), np.array([[0.25, 0.25, 0.0]]), np.zeros(4000, dtype=np.int32))
    assert np.bincount(codes) / 4000 == pytest.approx([0.25, 0.75], abs=0.03)


@pytest.mark.parametrize("n", [10, 100, 103])
def test_emm_gives_each_entity_its_own_token(n):
    data = emm(n, seed=3)
    assert data.kind.name == "tokens" and n == data.N and data.n_tokens == 10
    assert data.values.dtype == np.int32 and np.array_equal(data.values, data.truth)
    sizes = np.bincount(data.truth, minlength=10)
    assert sizes.max() - sizes.min() <= 1 and sizes.sum() == n


def test_dirichlet_dictionaries_share_tokens():
    """With concentration 0.001 each entity says one token almost always, and 10 entities use about 6.5 of 10."""
    distinct = []
    for seed in range(40):
        data = emm(400, dictionaries="dirichlet", seed=seed)
        distinct.append(len(np.unique(data.values)))
        said = [len(np.unique(data.values[data.truth == e])) for e in np.unique(data.truth)]
        assert np.mean(said) < 1.5
    assert 5.8 < np.mean(distinct) < 7.3


def test_emm_vocabulary_goes_on_after_z():
    assert token_names(28)[24:] == ["Y", "Z", "AA", "AB"]


@pytest.mark.parametrize(("example", "d"), [(1, 6), (2, 8), (3, 10)])
def test_examples_have_five_equal_components_and_a_repeated_last_column(example, d):
    data = jain_neal(100, example=example, seed=1)
    assert data.values.shape == (100, d) and data.values.dtype == np.uint8
    assert np.bincount(data.truth).tolist() == [20] * 5
    large = jain_neal(50_000, example=example, seed=1)
    means = np.array([large.values[large.truth == k].mean(axis=0) for k in range(5)])
    np.testing.assert_allclose(means[:, :6], TABLE, atol=0.02)
    np.testing.assert_allclose(means[:, 6:], np.repeat(TABLE[:, 5:], d - 6, axis=1), atol=0.02)


def test_jain_neal_default_and_other_numbers_of_components():
    data = jain_neal(20_000, seed=0)
    assert data.values.shape == (20_000, 15)
    np.testing.assert_allclose(np.bincount(data.truth) / 20_000, 0.2, atol=0.02)
    other = jain_neal(20_000, components=7, attributes=4, seed=0)
    means = np.array([other.values[other.truth == k].mean(axis=0) for k in range(7)])
    assert np.all((np.abs(means - 0.05) < 0.02) | (np.abs(means - 0.95) < 0.02))
