"""People in a register with typing errors, several records of some of them: data for entity resolution.

The true value of a field is drawn for each entity, independently of other fields: names and towns by a distribution as
Zipf's is, the date of birth and the number of the house uniformly. Each record repeats it, or an error:

==============  =====================================================================================================
error           what it does
==============  =====================================================================================================
slip            names and towns: a letter is inserted, left out or replaced, or two neighbours are swapped, in one of
                five cases twice; dates: day and month are swapped, a digit is replaced, or the day is up to 3 off;
                numbers: a digit is replaced, or the number is 1 off
wrong value     the value is drawn again
missing         the cell is empty
==============  =====================================================================================================
"""

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from string import ascii_lowercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.values import require, require_number, require_seed, require_size
from splitmerge_cli.kinds.records.fields import code_fields

FIELDS = {"first_name": "string", "last_name": "string", "birth_date": "date", "town": "string", "house": "number"}
SHARE = 0.7
"""Entities for each record, by default."""
SIZES = {"first_name": (60, 12.0), "last_name": (120, 40.0), "town": (40, 4.0)}
"""How many names there are: so many, and so many times the root of the number of entities."""
FIRST_DAY, DAYS = date(1930, 1, 1), 80 * 365
HOUSES = 200
ONSETS = ("b", "br", "d", "f", "g", "gr", "h", "j", "k", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w", "z")
VOWELS, ENDS = "aeiou", ("", "", "n", "r", "l", "s")


def generate(
    N: int,
    entities: int | None = None,
    distortion: float = 0.1,
    slips: float = 0.8,
    missing: float = 0.02,
    sources: int = 1,
    seed: int = 0,
) -> Dataset:
    """Records of people, in random order.

    Parameters
    ----------
    N : int
        Number of records.
    entities : int, optional
        Number of people, each with a record; the others go to people at random. By default 7 to 10 records.
    distortion : float
        Share of cells with an error.
    slips : float
        Share of errors that are slips; the others are wrong values.
    missing : float
        Share of cells that are empty.
    sources : int
        Number of files. With two or more a person has at most one record in each, and the data have `sources`.
    seed : int
        Seed of the data, independent of the seed of the chains.

    Returns
    -------
    Dataset
        Kind ``records``; the truth is the person.

    Raises
    ------
    DataError
        A parameter out of range.

    Examples
    --------
    >>> dataset = generate(5, entities=3, seed=1)
    >>> dataset.columns, dataset.truth.max() + 1
    (['first_name', 'last_name', 'birth_date', 'town', 'house'], np.int32(3))
    """
    require_size("N", N)
    require_seed(seed)
    require_size("data.sources", sources)
    least = 1 if sources == 1 else -(-N // sources)
    entities = max(least, round(SHARE * N)) if entities is None else entities
    require_size("data.entities", entities, N)
    require(entities >= least, "data.entities", entities, f"at least {least}: a person has one record of each file")
    for key, share in {"distortion": distortion, "slips": slips, "missing": missing}.items():
        require_number(f"data.{key}", share, 0, 1)
    rng = np.random.default_rng(seed)
    truth, files = _people(rng, N, entities, sources)
    columns: list[list[str | None]] = []
    for j, (field, type) in enumerate(FIELDS.items()):
        # the true values of a field depend on no error
        rng = np.random.default_rng([seed, j])
        draw = _draw_from(rng, field, entities)
        true_values = draw(entities)
        wrong = draw(N)
        error, slip, absent = rng.random((3, N))
        cells: list[str | None] = [true_values[k] for k in truth]
        for i in np.flatnonzero(error < distortion):
            cells[i] = SLIPS[type](rng, true_values[truth[i]]) if slip[i] < slips else wrong[i]
        # one cell at least is there
        for i in np.flatnonzero(absent < missing)[: N - 1]:
            cells[i] = None
        columns.append(cells)
    values, types = code_fields(columns, list(FIELDS.values()))
    meta: dict[str, Any] = {"entities": entities, "distortion": distortion, "slips": slips, "missing": missing}
    meta |= {"sources": sources, "seed": seed}
    of_files = files if sources > 1 else None
    return Dataset("records", "records", values, truth, columns=list(FIELDS), types=types, meta=meta, sources=of_files)


def _people(
    rng: np.random.Generator, N: int, entities: int, sources: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The person and the file of each record."""
    if sources == 1:
        person = np.concatenate([np.arange(entities), rng.integers(entities, size=N - entities)])
        return rng.permutation(person).astype(np.int32), np.zeros(N, dtype=np.int32)
    # a file for each person, then other pairs of a person and a file
    first = rng.integers(sources, size=entities)
    others = np.delete(np.arange(entities * sources), np.arange(entities) * sources + first)
    pairs = np.concatenate([np.arange(entities) * sources + first, rng.permutation(others)[: N - entities]])
    person, files = np.divmod(rng.permutation(pairs), sources)
    return person.astype(np.int32), files.astype(np.int32)


def _draw_from(rng: np.random.Generator, field: str, entities: int) -> Callable[[int], list[str]]:
    """Return a function that draws true values of a field."""
    if field == "birth_date":
        return lambda n: [str(FIRST_DAY + timedelta(days=int(day))) for day in rng.integers(DAYS, size=n)]
    if field == "house":
        return lambda n: [str(number) for number in rng.integers(1, HOUSES + 1, size=n)]
    least, times = SIZES[field]
    names = _names(rng, least + int(times * np.sqrt(entities)))
    share = 1.0 / (np.arange(len(names)) + 10.0)
    return lambda n: [names[k] for k in rng.choice(len(names), size=n, p=share / share.sum())]


def _names(rng: np.random.Generator, n: int) -> list[str]:
    """Different names of two or three syllables."""
    names: dict[str, None] = {}
    while len(names) < n:
        syllables = [_pick(rng, ONSETS) + _pick(rng, VOWELS) + _pick(rng, ENDS) for _ in range(rng.integers(2, 4))]
        names["".join(syllables)] = None
    return list(names)


def _pick(rng: np.random.Generator, choices: Sequence[str]) -> str:
    return choices[int(rng.integers(len(choices)))]


def _slip_of_letters(rng: np.random.Generator, word: str) -> str:
    for _ in range(1 + (rng.random() < 0.2)):
        j, kind = int(rng.integers(len(word))), int(rng.integers(4))
        if kind == 0 or len(word) < 3:
            word = word[:j] + _pick(rng, ascii_lowercase) + word[j:]
        elif kind == 1:
            word = word[:j] + word[j + 1 :]
        elif kind == 2:
            word = word[:j] + _pick(rng, ascii_lowercase) + word[j + 1 :]
        else:
            j = min(j, len(word) - 2)
            word = word[:j] + word[j + 1] + word[j] + word[j + 2 :]
    return word


def _slip_of_a_date(rng: np.random.Generator, written: str) -> str:
    day = date.fromisoformat(written)
    kind = int(rng.integers(3))
    if kind == 0 and day.day <= 12:
        return str(day.replace(month=day.day, day=day.month))
    if kind == 1:
        return str(day + timedelta(days=int(rng.choice([-3, -2, -1, 1, 2, 3]))))
    while True:
        # the century stays
        j = int(rng.choice([2, 3, 5, 6, 8, 9]))
        changed = written[:j] + str(rng.integers(10)) + written[j + 1 :]
        try:
            return str(date.fromisoformat(changed))
        except ValueError:
            continue


def _slip_of_a_number(rng: np.random.Generator, written: str) -> str:
    if rng.random() < 0.5:
        return str(max(int(written) + int(rng.choice([-1, 1])), 1))
    j = int(rng.integers(len(written)))
    return str(max(int(written[:j] + str(rng.integers(10)) + written[j + 1 :]), 1))


SLIPS: dict[str, Callable[[np.random.Generator, str], str]] = {
    "string": _slip_of_letters,
    "date": _slip_of_a_date,
    "number": _slip_of_a_number,
}
"""Functions that make a slip of a value, by the type of the field."""
