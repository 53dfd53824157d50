"""Columns that describe records are found by the pairs that agree in the others, and nothing else is."""

from pathlib import Path

import numpy as np
import pytest

from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.kinds.records import columns as misleading_columns
from splitmerge_cli.kinds.records.columns import find_differing
from splitmerge_cli.kinds.records.generated import generate
from splitmerge_cli.kinds.records.similar_values import code_fields, words_of

TYPES = ["string", "string", "date", "string", "number"]
WORDS = ["call", "again", "paid", "late", "letter", "price", "new", "old", "no", "yes", "sent", "moved", "away", "door"]
ABOUT_RECORDS = {
    "nr": ("string", lambda rng: str(rng.integers(10**5, 10**6))),
    "ref": ("string", lambda rng: f"K-{rng.integers(10**6):06d}"),
    "amount": ("number", lambda rng: f"{rng.random() * 1000:.2f}"),
    "channel": ("categorical", lambda rng: ("AX", "CRM", "WEB")[rng.integers(3)]),
    "visit": ("date", lambda rng: str(np.datetime64("2021-01-01") + int(rng.integers(700)))),
    "text": ("string", lambda rng: " ".join(rng.choice(WORDS, 9))),
}


def with_errors(rng, words, share, wrong):
    return [wrong(word) if rng.random() < share else word for word in words]


def mistype(rng):
    def wrong(word):
        place = rng.integers(len(word))
        return f"{word[:place]}{rng.integers(10)}{word[place + 1 :]}"

    return wrong


@pytest.mark.parametrize("distortion, N, seed", [(0.05, 300, 1), (0.1, 1000, 2), (0.2, 1000, 3)])
def test_each_column_about_records_is_found_among_all_others(distortion, N, seed):
    rng = np.random.default_rng(seed)
    people = generate(N, distortion=distortion, seed=seed)
    more = [[make(rng) for _ in range(N)] for _, make in ABOUT_RECORDS.values()]
    values, types = code_fields([*words_of(people), *more], [*TYPES, *(type for type, _ in ABOUT_RECORDS.values())])
    found = find_differing(values, types)
    assert set(found) == set(range(5, 5 + len(ABOUT_RECORDS)))
    assert all(share < 0.02 for f, share in found.items() if f not in (8, 10))
    assert found[8] == pytest.approx(1 / 3, abs=0.15)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_of_a_person_is_kept_with_its_errors(seed):
    """Sex, a number, an address, a recent day and words about a person look like columns about records."""
    rng = np.random.default_rng(seed)
    N, distortion = int(rng.choice([200, 1000])), float(rng.choice([0.02, 0.1, 0.3]))
    people = generate(N, entities=int(N * rng.choice([0.5, 0.8, 0.97])), distortion=distortion, seed=seed)
    of_person = {
        "categorical": lambda: str(rng.choice(["f", "m"])),
        "number": lambda: str(rng.integers(10**6, 10**7)),
        "address": lambda: f"{rng.integers(1, 99)} {''.join(rng.choice(list('abcdefgh'), 6))} road",
        "date": ABOUT_RECORDS["visit"][1],
        "text": ABOUT_RECORDS["text"][1],
    }
    columns = []
    for type, make in of_person.items():
        true = [make() if type in ("categorical", "address", "number") else make(rng) for _ in range(N)]
        other = [make() if type in ("categorical", "address", "number") else make(rng) for _ in range(N)]
        wrong = mistype(rng) if type in ("number", "address") else (lambda _, other=other: other[rng.integers(N)])
        columns.append(with_errors(rng, [true[k] for k in people.truth], distortion, wrong))
    types = [*TYPES, "categorical", "string", "string", "date", "string"]
    assert find_differing(*code_fields([*words_of(people), *columns], types)) == {}


def family_register(rng, duplicates):
    """Members of a household share the family name, the street, the town and the telephone."""
    rows = []
    for _ in range(300):
        shared = [f"n{rng.integers(1500)}", f"{rng.integers(1, 99)} s{rng.integers(80)} rd", f"t{rng.integers(30)}"]
        phone = str(rng.integers(10**6, 10**7))
        for _ in range(rng.integers(1, 5)):
            born = f"{rng.integers(1930, 2000)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}"
            rows.append([f"g{min(rng.zipf(1.5), 150)}", *shared, phone, born, "fm"[rng.integers(2)]])
    rows += [list(rows[i]) for i in rng.integers(len(rows), size=duplicates)]
    return [list(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("duplicates", [0, 5, 30])
def test_members_of_a_family_are_not_taken_for_one_person(duplicates):
    """The day of birth distinguishes them, also where the register has no given names."""
    columns = family_register(np.random.default_rng(duplicates), duplicates)
    types = [*["string"] * 5, "date", "categorical"]
    for first in (0, 1):
        values, fields = code_fields(columns[first:], types[first:])
        assert not {len(fields) - 2, len(fields) - 3} & find_differing(values, fields).keys()


def write(path: Path, columns: dict[str, list[str | None]]) -> Path:
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(cell or "" for cell in row) for row in rows)]))
    return path


def test_they_are_left_out_with_a_note_and_kept_where_they_are_named(tmp_path):
    rng = np.random.default_rng(5)
    people = generate(600, distortion=0.1, seed=6)
    more = {name: [make(rng) for _ in range(600)] for name, (_, make) in ABOUT_RECORDS.items()}
    path = write(tmp_path / "p.csv", dict(zip(people.columns, words_of(people), strict=True)) | more)
    read = csv(path, "records")
    # before, all names were said to follow from the date of birth, as pairs that differ in six columns were no one
    assert read.columns == people.columns
    notes = "\n".join(read.notes)
    assert "column 6 ('nr')" in notes and "(data.types={nr:string} keeps the first)" in notes
    assert "column 9 ('channel') is left out: records that agree in the other columns agree here in" in notes
    kept = csv(path, "records", types={"channel": "categorical"})
    assert kept.columns == [*people.columns, "channel"]
    assert any("('channel'): records" in note and "{channel:skip}' leaves it out" in note for note in kept.notes)
    assert csv(path, "records", columns=["first_name", "town", "nr", "visit"]).columns[-2:] == ["nr", "visit"]


def test_a_column_that_follows_is_still_found_among_them(tmp_path):
    rng = np.random.default_rng(7)
    people = generate(600, distortion=0.05, seed=8)
    columns = dict(zip(people.columns, words_of(people), strict=True))
    codes = {town: f"{1000 + 7 * i}" for i, town in enumerate(sorted({*columns["town"]} - {None}))}
    columns["area"] = [town and codes[town] for town in columns["town"]]
    columns |= {name: [make(rng) for _ in range(600)] for name, (_, make) in ABOUT_RECORDS.items()}
    read = csv(write(tmp_path / "p.csv", columns), "records")
    assert len(read.columns) == 5 and {"first_name", "last_name", "birth_date", "house"} < {*read.columns}


def test_named_as_of_a_person_they_are_kept(tmp_path):
    """A class of one year, in families of twins, who agree in the rest: named by their birth, and by their sex."""
    rng = np.random.default_rng(9)
    rows = [(f"n{rng.integers(100)}", f"s{rng.integers(100)}", f"t{rng.integers(30)}", f"u{k}") for k in range(120)] * 2
    columns = dict(zip(("last", "street", "town", "phone"), map(list, zip(*rows, strict=True)), strict=True))
    days = [str(np.datetime64("2012-01-01") + int(rng.integers(365))) for _ in rows]
    sex = [str(rng.choice(["f", "m"])) for _ in rows]
    for names, kept in ((("born", "sex"), True), (("day", "letter"), False)):
        read = csv(write(tmp_path / "p.csv", columns | dict(zip(names, (days, sex), strict=True))), "records")
        assert (set(names) <= {*read.columns}) == kept and ({*names} & {*read.columns} == set()) == (not kept)


def names_with_duplicates(rng, people, pairs, values=100, columns=4):
    """Names of `people`, the first `pairs` of which have two records: four columns of so many values."""
    names = rng.integers(values, size=(people, columns))
    rows = np.concatenate([names, names[:pairs]])
    return [[f"{'abcdef'[f]}{code}x" for code in rows[:, f]] for f in range(columns)]


def find_in(columns, type="categorical"):
    return find_differing(*code_fields(columns, ["string"] * (len(columns) - 1) + [type]))


def of_pairs(rng, people, pairs, agreeing):
    """One of two letters for each record; of the pairs so many agree."""
    letters = ["fm"[k] for k in rng.permutation(np.arange(people) % 2)]
    flip = {"f": "m", "m": "f"}
    return letters + [letters[k] if k < agreeing else flip[letters[k]] for k in range(pairs)]


@pytest.mark.parametrize(
    "people, pairs, agreeing, found",
    [
        # many pairs, so that 0.64 of them, of 0.5 by chance, exclude two fifths of the way
        (1600, 800, 400, True),
        (1600, 800, 512, False),
        # as large a share of pairs agrees among 200 and among 22
        (600, 200, 109, True),
        (600, 22, 12, False),
    ],
)
def test_pairs_agree_no_more_than_a_fifth_of_the_way(people, pairs, agreeing, found):
    rng = np.random.default_rng(1 if people == 1600 else 2)
    columns = [*names_with_duplicates(rng, people, pairs), of_pairs(rng, people, pairs, agreeing)]
    assert bool(find_in(columns)) == found


def test_pairs_that_differ_in_a_name_are_no_evidence(monkeypatch):
    """Most pairs are two people of one household: other first names, and letters as they come."""
    monkeypatch.setattr(misleading_columns, "find_followers", lambda *_: {})
    rng = np.random.default_rng(3)
    columns, letters = names_with_duplicates(rng, 400, 200), of_pairs(rng, 400, 200, 100)
    assert find_in([*columns, letters])
    # the first thirty pairs are of one person, and agree
    letters[400:430] = letters[:30]
    first = [f"g{code}" for code in rng.integers(100, size=400)]
    columns.append(first + [f"{first[k]}{'' if k < 30 else 'other'}" for k in range(200)])
    assert not find_in([*columns, letters])


def test_agreement_by_coincidence_is_no_evidence():
    """Two columns of five names agree in a pair of 25, and no two records are of one person."""
    rng = np.random.default_rng(4)
    columns = [[f"{name}{code}" for code in rng.integers(5, size=300)] for name in "ab"]
    assert not find_in([*columns, ["fm"[k] for k in rng.integers(2, size=300)]])
    assert find_in([*names_with_duplicates(rng, 300, 100), of_pairs(rng, 300, 100, 50)])


def test_a_column_that_follows_is_no_second_coincidence():
    """People of one postcode with one last name agree in its town and county, too."""
    rng = np.random.default_rng(5)
    postcode, letters = rng.integers(200, size=600), ["fm"[k] for k in rng.integers(2, size=600)]
    last = [f"n{code}" for code in rng.integers(10, size=600)]
    places = [[f"{name}{code // size}q" for code in postcode] for name, size in (("p", 1), ("t", 2), ("c", 5))]
    assert not find_in([last, *places, letters])
    # columns that do not follow are as many coincidences
    assert find_in([*names_with_duplicates(rng, 600, 100), of_pairs(rng, 600, 100, 50)])


@pytest.mark.parametrize("mistyped", [True, False])
def test_codes_with_typing_errors_are_of_the_person(mistyped):
    """A number of ten digits, of which one is wrong in each second record, or another number."""
    rng = np.random.default_rng(6)
    codes = [str(code) for code in rng.integers(10**9, 10**10, size=400)]
    second = [
        f"{code[:5]}{(int(code[5]) + 1) % 10}{code[6:]}" if mistyped else str(rng.integers(10**9, 10**10))
        for code in codes[:100]
    ]
    assert bool(find_in([*names_with_duplicates(rng, 400, 100), codes + second], "string")) == (not mistyped)


@pytest.mark.parametrize("share_words", [True, False])
def test_notes_that_share_most_words_are_of_the_person(share_words):
    rng = np.random.default_rng(7)
    notes = [" ".join(rng.choice(WORDS, 8, replace=False)) for _ in range(400)]
    second = [f"{note} changed" if share_words else notes[-1 - k] for k, note in enumerate(notes[:100])]
    assert bool(find_in([*names_with_duplicates(rng, 400, 100), notes + second], "string")) == (not share_words)
