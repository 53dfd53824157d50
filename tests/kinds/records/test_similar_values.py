"""Near values of fields, compared with all pairs."""

from collections.abc import Callable

import numpy as np
import pytest
from rapidfuzz.distance import OSA, JaroWinkler

from splitmerge_cli.kinds.records import similar_values
from splitmerge_cli.kinds.records.similar_values import near_values, slip_norms

STRENGTH = 0.5


def random_words(seed: int, n: int = 300, letters: str = "abc", longest: int = 9) -> list[str]:
    rng = np.random.default_rng(seed)
    return sorted({"".join(rng.choice(list(letters), size=rng.integers(1, longest + 1))) for _ in range(n)})


def near_pairs_of(levels: list[str], type: str, similarity: str = "edit") -> dict[tuple[str, str], float]:
    """Distances of near values, each pair in both orders, as the arrays have them."""
    begin, other, weight = near_values(levels, type, similarity, STRENGTH)
    assert begin.dtype == np.int64 and other.dtype == np.int32 and weight.dtype == np.float64
    assert begin[0] == 0 and begin[-1] == len(other) == len(weight) and len(begin) == len(levels) + 1
    distances = {}
    for i, level in enumerate(levels):
        row = other[begin[i] : begin[i + 1]]
        assert (np.diff(row) > 0).all() and i not in row
        for k, j in enumerate(row):
            distances[level, levels[j]] = round(-np.log(weight[begin[i] + k]) / STRENGTH, 9)
    assert all(distances[b, a] == distance for (a, b), distance in distances.items())
    return distances


def brute_force(levels: list[str], distance: Callable[[str, str], float | None]) -> dict[tuple[str, str], float]:
    pairs = {(a, b): distance(a, b) for a in levels for b in levels if a != b}
    return {pair: round(value, 9) for pair, value in pairs.items() if value is not None}


def edits(a: str, b: str) -> float | None:
    shorter = min(len(a), len(b))
    limit = 2 if shorter >= 5 else 1 if shorter >= 2 else 0
    distance = OSA.distance(a, b)
    return distance if distance <= limit else None


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("parts", [80, 12, 4])
def test_strings_within_their_limits_of_edits(seed: int, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # few parts: the beginnings of long strings alone are compared
    monkeypatch.setattr(similar_values, "MOST_PARTS", parts)
    monkeypatch.setattr(similar_values, "MOST_NEAR", 10**6)
    words = random_words(seed, letters="abcdé"[: 2 + seed % 4], longest=8 + seed)
    expected = brute_force(words, edits)
    assert len(expected) > 100 and {1.0, 2.0} == set(expected.values())
    assert near_pairs_of(words, "string") == expected


def test_a_swap_of_two_letters_is_one_edit() -> None:
    assert near_pairs_of(["lee", "ele", "el"], "string") == {("lee", "ele"): 1, ("ele", "lee"): 1, ("ele", "el"): 1} | {
        ("el", "ele"): 1
    }


def test_jaro_winkler() -> None:
    words = [*random_words(1, 400, "abcdefgh", 7), "johnathan", "john", "johnson", "johnsen"]

    def distance(a: str, b: str) -> float | None:
        alike = a[:4] == b[:4] and min(len(a), len(b)) >= 4 and JaroWinkler.similarity(a, b) >= 0.9
        return 20 * JaroWinkler.distance(a, b) if alike or edits(a, b) is not None else None

    expected = brute_force(words, distance)
    assert ("john", "johnson") in expected and edits("john", "johnson") is None
    assert near_pairs_of(words, "string", "jaro_winkler") == expected


def test_dates() -> None:
    days = [f"1980-{month:02d}-{day:02d}" for month in range(1, 13) for day in range(1, 29, 4)] + ["1981-12-31"]
    days += ["1982-01-01", "1982-01-03", "1982-01-04", "1999-11-11"]

    def distance(a: str, b: str) -> float | None:
        apart = abs(int((np.datetime64(a) - np.datetime64(b)).astype(int)))
        swapped = a == f"{b[:5]}{b[8:]}-{b[5:7]}"
        return 1.0 if swapped or apart <= 3 else edits(a.replace("-", ""), b.replace("-", ""))

    expected = brute_force(days, distance)
    assert expected["1981-12-31", "1982-01-03"] == 1 and expected["1980-03-09", "1980-05-05"] == 2
    assert expected["1980-05-09", "1980-09-05"] == 1 and ("1981-12-31", "1982-01-04") not in expected
    assert near_pairs_of(days, "date") == expected


def test_numbers() -> None:
    ages = [str(age) for age in (7, 8, 19, 20, 21, 29, 30, 50, 94, 130)]
    assert {b for a, b in near_pairs_of(ages, "number") if a == "29"} == {"19", "20", "21", "30"}
    heights = ["1.70", "1.7001", "1.9", "2.4444", "3.3"]
    assert {b for a, b in near_pairs_of(heights, "number") if a == "1.70"} == {"1.7001"}


@pytest.mark.parametrize(
    ("type", "levels", "unseen"),
    [
        ("string", ["anna", "anne", "zoe"], np.exp(-4.0)),
        ("number", ["17", "18", "92"], np.exp(-4.0)),
        ("date", ["1980-01-01", "1980-01-02", "1999-11-23"], 15 * np.exp(-2.0)),
    ],
)
def test_slips_that_no_record_shows_have_a_share(type: str, levels: list[str], unseen: float) -> None:
    """One slip of two edits, of dates fifteen of one: numbers, not the table that the package and brute force share."""
    begin, _, weight = near_values(levels, type)
    np.testing.assert_allclose(slip_norms(type, begin, weight), 1 / (np.exp(-2.0) * np.array([1, 1, 0]) + unseen))


def test_categories_have_no_near_values() -> None:
    assert not near_pairs_of(["a", "b", "aa"], "categorical")


@pytest.mark.parametrize("levels", [[], ["a"], ["a", "b"], ["", "ab"]])
@pytest.mark.parametrize("similarity", similar_values.SIMILARITIES)
def test_few_values(levels: list[str], similarity: str) -> None:
    assert not near_pairs_of(levels, "string", similarity)


def test_a_field_that_is_dense_has_a_lower_limit() -> None:
    # a tenth of the codes of 5 digits: some 5 others are one edit away, some 100 two
    rng = np.random.default_rng(0)
    codes = [f"{code:05d}" for code in rng.permutation(100_000)[:10_000]]
    _, other, weight = near_values(codes, "string", strength=1.0)
    assert 4 < len(other) / len(codes) < 8
    assert (weight == np.exp(-1.0)).all()
    few = codes[:900]
    assert set(near_values(few, "string", strength=1.0)[2].round(6)) == {0.367879, 0.135335}
    every = [f"{code:03d}" for code in range(1000)]
    assert len(near_values(every, "string")[1]) / len(every) == pytest.approx(29, abs=1)
