"""The rules of a reproduction as files: one digest of all that was fixed before the runs.

The rules are, of every paper, its claims, their readings, the settings chosen and the numbers that several claims
share; the files of all experiments, which say what is run; and the modules that turn numbers into intervals and these
into verdicts. Not among them: the modules that measure and draw a figure; their state is the commit of the runs.
"""

import hashlib
import subprocess
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from splitmerge_cli.papers import discovery
from splitmerge_cli.papers.experiments import FOLDER

OF_PAPER = ("claims.csv", "readings.csv", "settings.csv", "shared.csv")
OF_CODE = ("papers/verdicts.py", "papers/claims.py", "diagnostics/intervals.py")


def rule_files(config_dir: str | Path | None = None) -> dict[str, Path]:
    """The files that hold the rules, by the name under which they are kept, in order."""
    package = Path(__file__).resolve().parents[1]
    found = {name: package / name for name in OF_CODE}
    for each in discovery.figure_sets(config_dir):
        found |= {f"{each.key}/{name}": each.folder / name for name in OF_PAPER}
        found |= {f"{FOLDER}/{file.name}": file for file in (each.folder / FOLDER).glob("*.yaml")}
    shared = Path(str(resources.files("splitmerge_cli.conf.experiment")))
    found |= {f"{FOLDER}/{file.name}": file for file in shared.glob("*.yaml")}
    return {name: found[name] for name in sorted(found) if found[name].is_file()}


def rules(config_dir: str | Path | None = None) -> dict[str, Any]:
    """The rules as they are now.

    Returns
    -------
    dict
        `digest`, the SHA-256 of all; `files`, that of each by name; `commit` and `committed`, the commit of this
        checkout that changed one of them last, and its time, None where that is not known or one was edited since.
    """
    paths = rule_files(config_dir)
    # a checkout may have other ends of lines
    contents = {name: path.read_bytes().replace(b"\r\n", b"\n") for name, path in paths.items()}
    files = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    lines = "".join(f"{digest}  {name}\n" for name, digest in files.items())
    commit, committed = _last_commit(list(paths.values()))
    return {
        "digest": hashlib.sha256(lines.encode()).hexdigest(),
        "commit": commit,
        "committed": committed,
        "files": files,
    }


def _last_commit(paths: list[Path]) -> tuple[str | None, str | None]:
    git = ["git", "-C", str(Path(__file__).resolve().parent)]
    names = [str(path.resolve()) for path in paths]
    said = []
    try:
        for command in (["status", "--porcelain"], ["log", "-1", "--format=%H %cI"]):
            done = subprocess.run([*git, *command, "--", *names], capture_output=True, text=True, check=True)
            said.append(done.stdout.split())
    except (OSError, subprocess.SubprocessError):
        return None, None
    edited, last = said
    return (last[0], last[1]) if len(last) == 2 and not edited else (None, None)


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Name what differs between the files of two sets of rules: ``NAME (changed)``, ``(new)``, ``(gone)``."""
    words = {
        name: "gone" if name not in now else "new" if name not in before else "changed"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    }
    return [f"{name} ({word})" for name, word in words.items()]
