"""Damages drawn for the files of a run."""

from typing import Any

from hypothesis import strategies as st

VALUES: list[Any] = [None, True, False, 0, 1, -1, 2, 5, 10**6, 2**31, 2**63, -(2**63) - 1, 0.5, 1e308, -1e-300]
VALUES += [
    float("nan"),
    float("inf"),
    "",
    "x",
    "0",
    "null",
    "../../x",
    "x" * 3000,
    "a\nb",
    "é\u2028",
    "\x00",
    "[red]x[/]",
    "[/x]",
    "$a_{$",
]
VALUES += [[], {}, [1], [None], [[]], [-1, 5], [0] * 12, ["x"], {"name": "x"}, {"a": {"b": 1}}]
VALUES += [{"_target_": "os.system"}]
VALUES += ["subprocess.check_output", "gaussian", "done", "running", "${N}", "$x_1$", "gamma(1,1)"]

GARBAGE = [b"", b"\x80garbage", b"[]", b"{}", b"null", b"PAR1", b"PK\x05\x06"]


def _bytes(others: list[str]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Damage to the bytes of a file."""
    place = st.floats(0, 1, exclude_max=True)
    return st.one_of(
        st.tuples(st.just("flip"), place, st.integers(0, 7)),
        st.tuples(st.just("flip"), place, st.integers(0, 7)),
        st.tuples(st.just("cut"), place),
        st.tuples(st.just("insert"), place, st.binary(min_size=1, max_size=5)),
        st.tuples(st.just("garbage"), st.sampled_from(GARBAGE)),
        st.tuples(st.sampled_from(["gone", "folder"])),
        st.tuples(st.just("link"), st.sampled_from(["nowhere", "/dev/null", ".", "config.yaml"])),
        st.tuples(st.just("swap"), st.sampled_from(others)),
        st.tuples(st.just("extra"), st.binary(max_size=4)),
    )


def _contents() -> st.SearchStrategy[tuple[Any, ...]]:
    """Damage to what a file says."""
    place = st.floats(0, 1, exclude_max=True)
    value = st.sampled_from(VALUES)
    what = st.one_of(st.tuples(value), st.tuples(value), st.just("gone"))
    how = st.sampled_from(["drop", "rename", "rows", "double", "metadata", "null", "values", "values", "types"])
    return st.one_of(
        st.tuples(st.just("value"), place, what),
        st.tuples(st.just("table"), how, place, value),
        st.tuples(st.just("flip"), place, st.integers(0, 7)),
    )


# what a file is changed by: nested values, a table, bytes
_OF_VALUES = (".yaml", ".json", ".npz")


@st.composite
def cases(draw: Any, files: dict[str, list[str]]) -> tuple[str, list[tuple[Any, ...]], bool, str]:
    """A run, damages to its files, whether it is sealed again, and a command."""
    name = draw(st.sampled_from(sorted(files)))
    sealed = draw(st.booleans())
    damages = []
    for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
        file = draw(st.sampled_from([file for file in files[name] if not file.endswith(("lock", "reserve"))]))
        if sealed:
            how = draw(_contents())
            # of a kind that the file has
            if how[0] == "value" and not file.endswith(_OF_VALUES):
                how = ("table", "values", how[1], how[2][0] if how[2] != "gone" else None)
            elif how[0] == "table" and file.endswith(_OF_VALUES):
                how = ("value", how[2], (how[3],))
        else:
            how = draw(_bytes(sorted(set(files) - {name})))
        damages.append((file, *how))
    command = draw(st.sampled_from(["diagnose"] * 6 + ["run"] * 5 + ["plot"]))
    return name, damages, sealed, command
