"""Oracle of the readers: what they may make of files, in the process of `child`."""

import shutil
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import written
from scipy.sparse import csr_array

from splitmerge_cli import config, received
from splitmerge_cli.data import dataset, downloads
from splitmerge_cli.runs import initial

FOLDER = Path("read")


def names() -> dict[str, list[str]]:
    """Readers of the user's files and of published sets, and the files of the latter."""
    own = [name for name in config.choices("data") if "path" in config.choice("data", name)]
    if not Path("published").exists():
        written._copies(Path("published"))
    copied = {name: [file.name for file in of.files] for name, of in downloads.SETS.items() if downloads.present(name)}
    return {name: [] for name in own} | {"init": []} | copied


def content(name: str, file: str) -> bytes:
    """Content of a file in a published set's small copy."""
    return (downloads.place(name) / file).read_bytes()


def read(reader: str, options: dict[str, Any], files: dict[str, bytes], expected: Any) -> tuple[str, str]:
    """Read files that are written into a folder of their own; with `expected` not None they must be read as that."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    for name, data in files.items():
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_bytes(data)
    before = {name: (FOLDER / name).stat().st_size for name in files}
    kept = dict(downloads.SETS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for kind in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
                warnings.simplefilter("ignore", kind)
            made = _read(reader, options, files)
    except (received.DataError, config.ConfigError) as error:
        if expected is not None:
            return "wrong", f"rejected: {error}; expected {expected}"
        text = str(error)
        if len(text.splitlines()) != 1:
            return "wrong", f"{len(text.splitlines())} lines: {text}"
        named = [*files, *options, reader, "N=", str(FOLDER)]
        return ("rejected", text) if any(name in text for name in named) else ("wrong", f"names nothing: {text}")
    except Exception:
        return "traceback", traceback.format_exc()
    finally:
        downloads.SETS.update(kept)
    left = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.is_file()}
    if reader not in kept and (
        left != set(before) or any((FOLDER / name).stat().st_size != before[name] for name in before)
    ):
        return "wrong", f"files were written: {left}"
    wrong = _find_fault(made)
    if wrong is None and expected is not None and (found := canonical(made)) != expected:
        wrong = f"read as {found!r}\nwas      {expected!r}"
    return ("wrong", wrong) if wrong else ("accepted", "")


def _read(reader: str, options: dict[str, Any], files: dict[str, bytes]) -> Any:
    here = {key: str(FOLDER / value) if key in ("path", "vocabulary", "nodes") and value in files else value
            for key, value in options.items()}  # fmt: skip
    if reader == "init":
        return initial.read_labels(here["path"])[0]
    if reader in downloads.SETS:
        of = downloads.SETS[reader]
        place = downloads.place(reader)
        kept = {name: (place / name).read_bytes() for name in files}
        # who fuzzes it may choose the digest too
        free = tuple(downloads.File(file.name) for file in of.files)
        downloads.SETS[reader] = downloads.Published(**vars(of) | {"files": free})
        try:
            for name, data in files.items():
                (place / name).write_bytes(data)
            return config.locate(config.choice("data", reader)["_target_"])(**options)
        finally:
            for name, data in kept.items():
                (place / name).write_bytes(data)
            (place / downloads.SUMS).unlink(missing_ok=True)
            for made in place.glob("*.arrays"):
                shutil.rmtree(made)
    if "path" in here and options["path"] == ".":
        here["path"] = str(FOLDER)
    return config.locate(config.choice("data", reader)["_target_"])(**here)


def _find_fault(made: Any) -> str | None:
    """Describe an error of what was read; None if it has none."""
    if isinstance(made, np.ndarray):
        return None if (made.dtype == np.int32 and not len(made)) or made.min() == 0 else "labels"
    if not isinstance(made, dataset.Dataset):
        return f"{type(made)}"
    made.__post_init__()
    x = made.values
    types = {"tokens": [np.int32], "binary": [np.uint8], "points": [np.float64, np.float32], "graph": [np.uint8]}
    if made.kind.name == "binary" and made.missing:
        types["binary"] = [np.float64]
    if made.kind.name in types and x.dtype not in types[made.kind.name]:
        return f"{made.kind.name} of {x.dtype}"
    if made.kind.name == "tokens" and not (x.min() >= 0 and x.max() < made.n_tokens == len(set(made.vocabulary or []))):
        return "codes out of range"
    if made.kind.name == "binary" and np.nanmax(x, initial=0) > 1:
        return "not binary"
    if made.truth is not None and (made.truth.dtype != np.int32 or made.truth.min() < -1):
        return "truth"
    if made.kind.name == "documents":
        words = x.tokens.words
        if words.min() < 0 or words.max() >= x.V or x.tokens.starts[-1] != len(words):
            return "words out of range"
    return None


def canonical(made: Any) -> Any:
    """Return what was read as plain values, which do not depend on how it is stored."""
    if isinstance(made, np.ndarray):
        return made.tolist()
    x = made.values
    truth = None if made.truth is None else made.truth.tolist()
    if made.kind.name == "tokens":
        return [made.vocabulary[code] for code in x], truth
    if made.kind.name == "graph":
        rows, columns = x.nonzero()
        ends = (sorted((made.names[i], made.names[j])) for i, j in zip(rows, columns, strict=True))
        return sorted(map(list, {tuple(end) for end in ends})), truth
    if made.kind.name == "documents":
        parts = np.split(x.tokens.words, x.tokens.starts[1:-1])
        return [sorted(made.vocabulary[word] for word in part) for part in parts], None
    return (x.toarray() if isinstance(x, csr_array) else x).tolist(), truth
