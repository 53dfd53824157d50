"""FILE on the command line: the keys that it stands for, ``data=csv data.path=FILE model=auto``."""

import os
from collections.abc import Sequence

from splitmerge_cli.cli.base import note
from splitmerge_cli.config import choices, component, errors, schema
from splitmerge_cli.data.opening import SIGN
from splitmerge_cli.overrides import PATH, path_word, read, write

_OF_NETWORKS = [
    *("data.directed", "data.values", "data.loops", "data.layer", "data.bipartite", "data.unknown", "data.nodes"),
    *("data.matrix", "data.source", "data.target"),
]
"""Keys that networks alone have."""
_READ_AS = {"csv": "a table", "edges": "a network", "corpus": "documents"}


def with_file(words: Sequence[str]) -> list[str]:
    """Replace a file among the overrides by the keys that it stands for; print how it is read unless it is a table."""
    overrides: list[str] = []
    for word in words:
        if (path := _find_file(word, words)) is None:
            overrides.append(word)
            continue
        from splitmerge_cli.api.recognition import NETWORK, TABLE, Recognised, recognise

        recognised = recognise(path)
        of_networks = next((key for key in map(_key, words) if key in _OF_NETWORKS), None)
        if recognised.data == TABLE and of_networks and "data" not in map(_key, words):
            recognised = Recognised(NETWORK, f"the key {of_networks}")
        elif recognised.data != TABLE and (model := _named_model(words)):
            kind = component("model", model).kind
            recognised = recognised if kind.reader != TABLE else Recognised(TABLE)
        overrides += [f"data={recognised.data}", f"data.path={write(path, PATH)}"]
        if recognised.data == TABLE and not any(override.startswith(("model=", "experiment=")) for override in words):
            overrides.append("model=auto")
        if recognised.why:
            others = ", ".join(
                f"data={data} {path_word(path)} as {read}" for data, read in _READ_AS.items() if data != recognised.data
            )
            note(f"{path}: read as {_READ_AS[recognised.data]} ({recognised.why}); {others}")
    return overrides


def _named_model(words: Sequence[str]) -> str:
    """The model that is named, if there is such a one; else an empty text."""
    names = [word.partition("=")[2] for word in words if _key(word) == "model"]
    return names[-1] if names and names[-1] in choices("model") else ""


def _key(word: str) -> str:
    return word.partition("=")[0]


def _find_file(word: str, words: Sequence[str]) -> str | None:
    """The file, or standard input, that a word among `words` names; None if the word is a key."""
    key, equals, value = word.partition("=")
    if not equals:
        return word if word == SIGN or errors.is_file_name(word) or os.path.exists(word) else None
    if key == "data.path" and not {"data", "experiment"} & set(map(_key, words)):
        # messages name a file so, and its reader only where that is known
        path = str(read(value, PATH))
        return path if path == SIGN or os.path.exists(path) else None
    if key == "data":
        named = value in choices("data") or ("," in value and not os.path.exists(value))
        return value if not named and (errors.is_file_name(value) or os.path.exists(value)) else None
    known = {name for name, _ in schema.all_keys()}
    return word if "." not in key and key not in known and os.path.exists(word) else None
