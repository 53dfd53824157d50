"""Weights, units, known classes and links: read from columns and files, from arrays, and refused in one line."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from splitmerge_cli.api.sampling import row_options, specify_sample
from splitmerge_cli.config import ConfigError, specify, specify_stored
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.bundled import round_weights
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.data.tables.scaled import fit_power
from splitmerge_cli.data.values import digest_of
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.identity import run_id

TABLE = """x,y,w,unit,class,share
0.5,1,1,a,u,0.25
1.5,2,2,a,,0.5
2.5,3,3,b,,1.25
3.5,4,0,b,v,1
4.5,5,1,c,,0.5
5.5,6,1,c,u,0.5
"""
X = ["x", "y"]


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table and files of links."""
    monkeypatch.chdir(tmp_path)
    files = {"t.csv": TABLE, "must.csv": "one,other\n1,5\n5,3\n", "cannot.tsv": "1\t2\n2\t1\n6\t4\n"}
    for name, text in files.items():
        Path(name).write_text(text)


def read(kind: str = "points", **options):
    return csv("t.csv", kind, **options)


@pytest.mark.parametrize("kind", ["points", "mixed", "counts"])
def test_weights_count_rows_and_leave_out_those_of_none(kind: str) -> None:
    data = read(kind, weights="w", truth="class", drop=["unit", "share", "x"])
    assert data.columns == ["y"] and data.N == 5 and data.names == ["1", "2", "3", "5", "6"]
    assert data.truth.tolist() == [0, -1, -1, -1, 0]
    assert data.bundles.counts.tolist() == [1, 2, 3, 1, 1] and data.bundles.prior_counts == "rows"
    assert [note for note in data.notes if "data.weights" in note] == [
        "t.csv: column 3 ('w'): 1 row of weight 0 left out (data.weights)",
        "t.csv: column 3 ('w'): 5 rows count as 8 (data.weights)",
    ]


def test_weights_that_make_copies_of_real_numbers_are_told() -> None:
    rows = "".join(f"{0.37 * i:.3f},{(i * 37) % 11 + 0.123:.3f},3\n" for i in range(40))
    Path("r.csv").write_text("x,y,w\n" + rows)
    data = csv("r.csv", "points", weights="w")
    assert data.meta["repeated_rows"] == {"rows": 120, "different": 40, "read": "weights"}
    assert "80 of 120 rows repeat another row, more than by chance" in data.notes[-1]
    assert "data.weights_scale=rows reads weights as powers of the likelihood" in data.notes[-1]
    assert "repeated_rows" not in csv("r.csv", "points", weights="w", weights_scale="rows").meta


def test_fractions_are_powers_that_sum_to_the_rows() -> None:
    data = read(weights="share", columns=X)
    bundles = data.bundles
    assert bundles.counts.tolist() == [1, 2, 5, 4, 2, 2] and bundles.unit == 6 / 16 and bundles.prior_counts == "items"
    assert read(weights="share", columns=X, weights_scale="none").bundles.unit == 0.25
    scaled = read(weights="w", columns=X, weights_scale="rows").bundles
    assert scaled.unit * scaled.counts.sum() == pytest.approx(5) and scaled.prior_counts == "items"
    powers = "1 of 6 rows have a power above 2 (at most 2.5): like copies, such rows may form clusters of their own"
    doubled = csv("t.csv", "points", weights="share", columns=X, weights_scale="none")
    Path("t.csv").write_text(TABLE.replace("0.25", "2.5"))
    large = csv("t.csv", "points", weights="share", columns=X, weights_scale="none")
    assert powers in large.notes[-1] and not any("copies" in note for note in doubled.notes)
    odd = np.pi * np.linspace(0.1, 1.0, 1_000)
    counts, unit, error = round_weights(odd)
    assert 0 < error < 0.006 and np.abs(counts * unit / odd - 1).max() == error and counts.sum() < 1_100_000


def test_rows_of_a_unit_are_one_item() -> None:
    data = read("mixed", group="unit", drop=["class", "w", "share"])
    bundles = data.bundles
    assert data.columns == X and data.N == 6
    assert bundles.items.tolist() == [0, 0, 1, 1, 2, 2] and bundles.names == ["a", "b", "c"]
    assert bundles.prior_counts == "items" and bundles.first_rows.tolist() == [0, 2, 4]
    assert read(group="unit", columns=X, prior_counts="rows").bundles.prior_counts == "rows"
    weighed = read(group="unit", weights="w", columns=X).bundles
    assert weighed.items.tolist() == [0, 0, 1, 2, 2] and weighed.mass.tolist() == [3, 3, 2]
    assert read(group="unit", columns=X, N=3).bundles.n_items == 2


def test_known_classes_are_together_and_apart() -> None:
    bundles = read(labels="class", columns=X).bundles
    assert bundles.items.tolist() == [0, 1, 2, 3, 4, 0] and bundles.classes.tolist() == [0, -1, -1, 1, -1]
    assert read(labels="class", columns=X, apart=False).bundles.classes is None
    assert bundles.smallest_K == 2
    # the row of class v has weight 0
    weighed = read(labels="class", weights="w", columns=X).bundles
    assert weighed.items.tolist() == [0, 1, 2, 3, 0] and weighed.classes.tolist() == [0, -1, -1, -1]
    joined = read(labels="class", group="unit", columns=X).bundles
    assert "every row has a class, so the clusters are the classes" in read(labels="unit", columns=X).notes[-1]
    assert joined.names == ["a+c", "b"] and joined.classes.tolist() == [0, 1]


def test_words_around_which_spaces_stand_are_the_same_and_na_is_no_class() -> None:
    """As in columns that are data; a unit needs a name."""
    Path("t.csv").write_text("x,g,known\n1, a,NA\n2,a ,u\n3,b,u \n4,b,?\n")
    data = csv("t.csv", "points", group="g", columns=["x"])
    assert data.bundles.items.tolist() == [0, 0, 1, 1] and data.bundles.names == ["a", "b"]
    classes = csv("t.csv", "points", labels="known", columns=["x"]).bundles
    assert classes.items.tolist() == [0, 1, 1, 2] and classes.classes.tolist() == [-1, 0, -1]
    with pytest.raises(DataError, match=r"row 2, column 3 .'known'.: 'NA'; expected the name of a unit"):
        csv("t.csv", "points", group="known", columns=["x"])


def test_links_join_rows_and_keep_them_apart() -> None:
    data = read(must_link="must.csv", cannot_link="cannot.tsv", columns=X)
    assert data.bundles.items.tolist() == [0, 1, 0, 2, 0, 3] and data.bundles.apart.tolist() == [[0, 1], [2, 3]]
    assert data.notes[-2:] == [
        "must.csv: pairs of rows that stay together: 2",
        "cannot.tsv: pairs of rows that stay apart: 3",
    ]
    assert data.bundles.smallest_K == 2
    # rows that are left out keep their numbers, and what they join
    weighed = read(must_link="must.csv", weights="w", columns=X).bundles
    assert weighed.items.tolist() == [0, 1, 0, 0, 2]


def test_links_name_rows_or_units() -> None:
    Path("named.csv").write_text("x,who\n" + "".join(f"{i},{name}\n" for i, name in enumerate("pqrstuvwkl")))
    Path("m.csv").write_text("a row,another\np,r\n")
    data = csv("named.csv", "mixed", must_link="m.csv")
    assert data.bundles.items[[0, 2]].tolist() == [0, 0] and data.bundles.n_items == 9
    assert "m.csv: row 1: 'a row' and 'another' name no rows: they are names of columns" in data.notes
    Path("m.csv").write_text("a,c\n")
    assert read(must_link="m.csv", group="unit", columns=X).bundles.names == ["a+c", "b"]


def test_a_program_has_arrays_or_names_columns() -> None:
    frame = pd.read_csv("t.csv")
    file = read(weights="w", group="unit", labels="class", must_link="must.csv", columns=X, apart=False)
    options = {"must_link": [[0, 4], [4, 2]], "apart": False}
    named = from_object(frame.drop(columns="share"), "points", weights="w", group="unit", labels="class", **options)
    given = from_object(frame[X], "points", weights=frame.w, group=frame.unit, labels=list(frame["class"]), **options)
    for data in (named, given):
        assert data.columns == X and data.N == file.N
        for field in ("items", "weights", "names", "classes", "apart"):
            assert np.array_equal(getattr(data.bundles, field), getattr(file.bundles, field)), field
    assert digest_of(named) != digest_of(from_object(frame[X][frame.w > 0], "points"))
    pairs = from_object(frame[X].set_index(frame.index.map("r{}".format)), "points", cannot_link=[["r0", "r3"]])
    assert pairs.bundles.apart.tolist() == [[0, 3]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1, 2]}, "data.weights: 2 values; expected one for each of 6 rows"),
        ({"weights": [1, 2, -1, 1, 1, 1]}, "data: row 3: -1; expected a number from 0 on (data.weights)"),
        ({"weights": ["a"] * 6}, "data.weights: could not convert string to float: 'a'; expected numbers"),
        ({"group": [1, None, 2, 3, 4, 5]}, "data: row 2: None; expected the name of a unit (data.group)"),
        ({"labels": [None] * 6}, "data.labels: data: no row has one; expected a known class"),
        ({"group": "unit"}, "data.group=unit: no such column; expected one of a data frame"),
        ({"must_link": [[0, 6]]}, "data.must_link: pair 0: [0, 6]; expected a row from 0 to 5"),
        ({"must_link": [["a", "b"]]}, "data.must_link: pair 0: 'a'; expected a row from 0 to 5"),
        ({"must_link": [1, 2]}, "data.must_link=an array of shape (2,): expected a file, or pairs of rows"),
    ],
)
def test_bad_arrays_are_one_line(options: dict, message: str) -> None:
    with pytest.raises(DataError) as raised:
        from_object(pd.read_csv("t.csv")[X], "points", **options)
    assert str(raised.value).startswith(message)


def test_a_power_of_a_weighted_column_is_that_of_repeated_cells() -> None:
    x, counts = np.random.default_rng(0).gamma(1.0, size=40), np.arange(1, 41)
    assert fit_power(x, counts) == fit_power(np.repeat(x, counts)) != fit_power(x)


def test_identity_knows_the_links_and_old_runs() -> None:
    words = ["data=csv", "data.path=t.csv", "model=gaussian", "data.columns=[x,y]"]
    linked = [*words, "data.must_link=must.csv"]
    first = run_id(specify(linked))
    Path("must.csv").write_text("1,2\n")
    assert len({first, run_id(specify(linked)), run_id(specify(words))}) == 3
    spec = specify(words)
    later = {"weights", "weights_scale", "group", "labels", "apart", "must_link", "cannot_link", "prior_counts"}
    assert not later & set(spec.identity["data"])
    values = spec.values | {"data": {key: value for key, value in spec.values["data"].items() if key not in later}}
    assert specify_stored(values, Path("t.csv")).identity == spec.identity
    edges = specify(["data=edges", "data.path=t.csv", "model=irm", "data.weights=null"])
    assert edges.identity["data"]["weights"] is None


def test_a_sample_takes_the_same_arguments() -> None:
    frame = pd.read_csv("t.csv")[[*X, "w", "unit"]]
    keys = {"chains": 1, "iterations": 10, "seed": 0, "progress": "none"}

    def settle(model: str, data: object, **of_rows: object):
        return specify_sample(model, data, None, keys, None, row_options(**of_rows), say=lambda line: None)

    settled, data = settle("gaussian", frame, weights="w", group="unit", must_link=[[0, 2]])
    assert data.columns == X and data.bundles.names == ["a+b", "c"] and settled.spec.data.name == "given"
    of_file = settle("gaussian", "t.csv", weights="w", cannot_link="cannot.tsv")[0].spec.data.values
    assert (of_file["weights"], of_file["cannot_link"]) == ("w", "cannot.tsv")
    with pytest.raises(ConfigError, match=r"data.weights: expected names of columns and files, as data are a file"):
        settle("gaussian", "t.csv", weights=[1] * 6)
    with pytest.raises(ConfigError, match=r"data.group: expected None with a Dataset"):
        settle("gaussian", data, group="unit")


def test_columns_that_are_constant_in_units_are_told() -> None:
    rows = "".join(f"{u},{20.5 + 3 * u},{i + u * u / 7:.3f}\n" for u in range(6) for i in range(3))
    Path("r.csv").write_text("who,age,y\n" + rows)
    assert "each unit has one value of age in all its rows" in csv("r.csv", "points", group="who").notes[-1]
    assert not any("one value" in note for note in read(group="unit", columns=X).notes)
