"""A run reads what a user types after ``KEY=``, whatever letters it has; printed commands read the same."""

import shlex
import subprocess
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import create_functions
from hypothesis import given, settings
from hypothesis import strategies as st

from splitmerge_cli import overrides
from splitmerge_cli.config import ConfigError, composition, hydra_adapter, hydra_session, plain, specify
from splitmerge_cli.config.specification import command_of, override
from splitmerge_cli.overrides import Accepts, quote, read, shell_word, split_values, write
from splitmerge_cli.runs.sweeps.sweep import expand

CSV = ["data=csv", "data.path=t.csv", "model=mixed"]
TEXT = Accepts(text=True)
COLUMN = Accepts(text=True, whole=True)
COLUMNS = Accepts(text=True, whole=True, null=True, items=COLUMN)
TYPES = Accepts(null=True, entries=(COLUMN, TEXT))
NAMES = [
    *("dä.csv", "年", "größe (cm)", "a,b", "x=y", "it's", 'a "b"', "a[0]", "[a]", "{a}", "(", "a: b", "a#b", "a@b"),
    *("null", "TRUE", "1", "1.0", ".5", "1e3", "nan", "-", "???", "$x", "${x}", "${oc.env:HOME}", "~", "~/x", "~x"),
    *(" a", "a ", " ", "", "back\\", "a\\'b", "'a'", "choice(1,2)", "range(3)", "gamma(2,1)", "😀", "a\u00a0b", "100%"),
    *("a\nb", "a\tb", "\u202ea", "\udce4.csv", "`ls`", "!x", "a;b", "a|b", "<a>", "*", "--x", "+x", "é\u0301"),
]
WRITTEN = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
LETTERS = st.text(st.sampled_from([*"ab'\"\\,:=()[]{}$ ~#@é年😀0.-!`\n\t"]), max_size=8)
TEXTS = st.one_of(LETTERS, st.text(WRITTEN, max_size=8), st.sampled_from(NAMES))
VALUES = [(TEXTS, COLUMNS), (TEXTS, TEXT), (st.lists(TEXTS | st.integers(), max_size=4), COLUMNS)]
VALUES += [(st.dictionaries(TEXTS | st.integers(), TEXTS, max_size=3), TYPES)]
FEW = settings(max_examples=200, deadline=None)


@pytest.mark.parametrize(("values", "accepts"), VALUES)
def test_what_is_written_reads_the_same(values: st.SearchStrategy[object], accepts: Accepts) -> None:
    @FEW
    @given(values)
    def check(value: object) -> None:
        word = write(value)
        found = read(word, accepts)
        assert found == value and type(found) is type(value)
        assert split_values(word) == [word], "a sweep would take it apart"

    check()


@FEW
@given(TEXTS)
def test_quotes_are_those_of_hydras_grammar(text: str) -> None:
    assert hydra_adapter.parse_override(f"k={quote(text)}").value() == text == read(quote(text), TEXT)


def test_functions_are_those_of_hydras_grammar() -> None:
    assert set(create_functions().functions) == overrides.FUNCTIONS


def test_words_can_be_pasted_into_a_shell() -> None:
    words = [override("data.path", name) for name in NAMES]
    script = "\n".join(f"printf '%s\\0' {shell_word(word)}" for word in words)
    shown = subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout
    assert shown.decode("utf-8", "surrogateescape").split("\0")[:-1] == words
    assert all(overrides._CONTROL.search(shell_word(word)) is None for word in words)


@pytest.mark.parametrize("name", [name for name in NAMES if name == name.strip() and name and name not in ("~", "~/x")])
def test_a_text_is_taken_as_it_stands(name: str) -> None:
    typed = name if name[0] + name[-1] != "''" else f'"{name}"'
    spec = specify([*CSV, f"data.path={typed}", f"init={typed}", f"data.encoding={typed}"])
    init = None if name == "null" else name
    assert (spec.data.values["path"], spec.values["init"] if init else None) == (name, init)
    assert spec.data.values["encoding"] == name


@pytest.mark.parametrize("name", NAMES)
def test_a_command_names_the_same_files_and_columns(name: str) -> None:
    """So do the configuration that Hydra composes, and a job of a sweep."""
    given = [*CSV[:1], *CSV[2:], override("data.path", name), override("init", name), override("data.truth", name)]
    given += [override("data.drop", [name, 2]), override("data.types", {name: "real", 3: "skip"})]
    spec = specify(given)
    data = spec.data.values
    assert (data["path"], spec.init, data["truth"], data["drop"]) == (name, name, name, [name, 2])
    assert data["types"] == {name: "real", 3: "skip"}
    if not overrides._CONTROL.search(name):
        _, verb, *words = shlex.split(str(command_of(spec)))
        assert verb == "run" and specify(words).values == spec.values
    with hydra_session():
        composed = plain(hydra_adapter.compose(composition.for_hydra(given)))
    assert composed["data"]["types"] == data["types"] and composed["init"] == name
    assert composed["data"]["drop"] == data["drop"]
    (job,) = expand(given)
    assert specify(job).values == spec.values


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
@pytest.mark.parametrize("key", ["out", "init", "data.path", "data.truth"])
def test_what_no_file_is_called_is_rejected(key: str, text: str) -> None:
    with pytest.raises(ConfigError, match="cannot be read as a value"):
        specify([*CSV, f"{key}={text}"])
    with pytest.raises(ConfigError, match="cannot be read as a value"):
        specify([*CSV, override(key, text)])


def test_a_folder_of_runs_has_a_name_in_utf_8() -> None:
    assert specify([*CSV[:1], "data.path=\udce4.csv"]).data.values["path"] == "\udce4.csv"
    with pytest.raises(ConfigError, match="expected a folder whose name is UTF-8"):
        specify([*CSV, "out=\udce4"])


def test_home_is_where_a_path_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/of me")
    spec = specify([*CSV, "data.path=~/a.csv", "out=~/results", "init=~/labels.txt", "data.truth=~/x"])
    assert (spec.data.values["path"], spec.out, spec.init) == (
        "/home/of me/a.csv",
        "/home/of me/results",
        "/home/of me/labels.txt",
    )
    assert spec.data.values["truth"] == "~/x"
    assert specify([*CSV, "data.path='~/a.csv'"]).data.values["path"] == "~/a.csv"


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("data.truth=1", 1),
        ("data.truth='1'", "1"),
        ("data.truth=null", None),
        ("data.truth='null'", "null"),
        ("data.drop=[ a , 'b, c',3,x(1,2)]", ["a", "b, c", 3, "x(1,2)"]),
        ("data.drop=größe", "größe"),
        ("data.missing=[-99,1.5,unbekannt,nan]", [-99, 1.5, "unbekannt", pytest.approx(float("nan"), nan_ok=True)]),
        ("data.types={'a:b':real,größe (cm): count}", {"a:b": "real", "größe (cm)": "count"}),
        ("data.header=true", True),
        ("data.header=false", False),
        ("data.truth=-1", -1),
        ("data.N=null", None),
        ("data.sheet=Tabelle 1", "Tabelle 1"),
    ],
)
def test_types_are_those_that_a_key_takes(given: str, value: object) -> None:
    key = given.partition("=")[0].removeprefix("data.")
    assert specify([*CSV, given]).data.values[key] == value


def test_values_of_a_sweep_are_those_of_runs() -> None:
    jobs = expand(["data.path=dä.csv,'a,b.csv', x=y.csv", "seed=range(2)", "model.kappa0=1e-2,gamma(1,1)", "N='7'"])
    assert len(jobs) == 12 and jobs[0] == ["data.path=dä.csv", "seed=0", "model.kappa0=1e-2", "N='7'"]
    paths = list(dict.fromkeys(specify([*CSV[:1], *CSV[2:], *job[:1]]).data.values["path"] for job in jobs))
    assert paths == ["dä.csv", "a,b.csv", "x=y.csv"]
    assert [job[2] for job in jobs[:2]] == ["model.kappa0=1e-2", "model.kappa0=gamma(1,1)"]
    assert expand(["data.truth=choice(1.0,'1',größe)"]) == [
        ["data.truth=1.0"],
        ["data.truth='1'"],
        ["data.truth=größe"],
    ]
    with pytest.raises(ConfigError, match="a value with a comma stands in quotes, such as "):
        expand(["data.path=a,,b"])


def test_a_file_with_a_comma_in_its_name_is_named_in_quotes(tmp_path: Path) -> None:
    path = tmp_path / "a,b.csv"
    path.write_text("1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="several values in a sweep, and the name of a file; expected") as raised:
        expand([*CSV, f"data.path={path}"])
    (word,) = shlex.split(str(raised.value).partition("expected ")[2].removesuffix(" for it"))
    assert specify([*CSV, *expand([word])[0]]).data.values["path"] == str(path)


def test_groups_of_a_folder_with_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "eigene, '${x}' größe"
    (folder / "sampler").mkdir(parents=True)
    packaged = Path("conf/sampler/sams.yaml")
    text = (packaged if packaged.exists() else Path(__file__).parents[2] / packaged).read_text(encoding="utf-8")
    (folder / "sampler" / "meiner.yaml").write_text(text.replace("name: sams", "name: meiner"), encoding="utf-8")
    assert specify(["sampler=meiner"], folder).sampler_name == "meiner"
