"""The rules of a reproduction as files: one digest of all that was fixed before the runs.

The rules are, of every paper, its claims, their readings, the settings chosen and the numbers that several claims
share; the files of all experiments, which say what is run; and the modules that turn numbers into intervals and these
into verdicts. These modules are compared by what they make of numbers, rule by rule (`judgements`): code that is
written otherwise and judges alike is no other rule. Not among the rules: the modules that measure and draw a figure;
their state is the commit of the runs.
"""

import hashlib
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

import splitmerge_cli
from splitmerge_cli.diagnostics import intervals
from splitmerge_cli.papers import claims, declaration, verdicts
from splitmerge_cli.papers.experiments import FOLDER

OF_PAPER = ("claims.csv", "readings.csv", "settings.csv", "shared.csv")
ADDED = "added.csv"
"""Claims that were added after an edition, each with its reading and rule: no rule of what was judged before."""
OF_CODE = ("papers/verdicts.py", "papers/claims.py", "diagnostics/intervals.py")

SAMPLES = (
    [0.9, 1.0, 1.1, 1.05, 0.95, 1.0, 0.98],
    [1.02, 1.11, 1.06, 1.12, 1.14, 1.1, 1.09],
    [1.9, 2.1, 2.4, 1.7, 2.0, 2.2, 1.8, 2.3, 2.0],
    [0.4, 3.0, 0.2, np.nan, 5.0, 1.5, 0.1, 2.5],
    [1.12, 1.25, 1.16, 1.3, 1.17, 1.22],
    [1.2, 1.4],
    [2.0],
)
"""Measured values that every rule judges; each is a unit."""
PUBLISHED = ((1.0, 1.1), (1.15, 1.5), (2.0, 1.25), (1.0, 0.1))
"""Published values and tolerances that they are judged by."""


def _by_frequencies(claim: claims.Claim, x: np.ndarray) -> verdicts.Verdict:
    """Judge shares x / 6 of two states, a restart each, by the probability value / 6 of the first."""
    shares, exact = (np.stack([y, 6 - y], axis=-1) / 6 for y in (x, claim.value))
    away, noise = abs(shares.mean(axis=0) - exact).sum() / 2, shares.std(axis=0).sum() / len(x)
    return verdicts.by_noise(claim, shares, exact, away, noise)


def _by_jackknife(claim: claims.Claim, x: np.ndarray) -> verdicts.Verdict:
    """Judge the mean as an R-hat, by leaving out one unit at a time."""
    told = intervals.leave_one_out(lambda kept: float(x[kept].mean()), len(x))
    return verdicts.by_rhat(claim, verdicts.jackknife(*told, intervals.excess_interval, "restarts"))


JUDGES: dict[str, Callable[[claims.Claim, np.ndarray], verdicts.Verdict]] = {
    "exact": lambda claim, x: verdicts.exactly(claim, x.mean()),
    "holds": lambda claim, x: verdicts.holds(claim, x.mean(), bool((x > claim.value).all()), ""),
    "factor": verdicts.by_factor,
    "distance": verdicts.by_distance,
    "at_most": verdicts.by_bound,
    "at_least": lambda claim, x: verdicts.by_edge(claim, verdicts.estimate(x, intervals.median_interval), ""),
    "mixing": _by_jackknife,
    "most": lambda claim, x: verdicts.by_majority(claim, x, x > claim.value, ""),
    "positive": lambda claim, x: verdicts.by_sign(claim, {"difference": x - claim.value}),
    "noise": _by_frequencies,
    "clock": lambda claim, x: verdicts.by_edge(replace(claim, rule="clock"), verdicts.estimate(x), ""),
    "none": lambda claim, x: verdicts.untestable(claim, x, "", summary=intervals.geometric_interval),
}
"""Every rule of `splitmerge_cli.papers.claims.RULES`, as a judge of a claim by values."""


@np.errstate(all="ignore")
def judgements() -> dict[str, str]:
    """Return the SHA-256 of every rule: of its words, and of its verdicts on `SAMPLES` with intervals of six digits."""
    digests = {}
    for rule, judge in JUDGES.items():
        lines = [claims.RULES[rule]]
        for value, tolerance in PUBLISHED:
            claim = claims.Claim("", "", "", "", value, "", "", rule=rule, tolerance=tolerance)
            for samples in (np.array(x) for x in SAMPLES):
                v = judge(claim, samples)
                lines.append(f"{v.verdict} {v.ours:.6g} {v.low:.6g} {v.high:.6g} {v.n} {v.needed}")
        digests[rule] = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return digests


def rule_files(config_dir: str | Path | None = None) -> dict[str, Path]:
    """The files that hold the rules, by the name under which they are kept, in order."""
    package = Path(splitmerge_cli.__file__).resolve().parent
    path_by_name = {name: package / name for name in OF_CODE}
    for each in declaration.figure_sets(config_dir):
        path_by_name |= {f"{each.key}/{name}": each.folder / name for name in (*OF_PAPER, ADDED)}
        path_by_name |= {f"{FOLDER}/{file.name}": file for file in (each.folder / FOLDER).glob("*.yaml")}
    shared = Path(str(resources.files("splitmerge_cli.conf.experiment")))
    path_by_name |= {f"{FOLDER}/{file.name}": file for file in shared.glob("*.yaml")}
    return {name: path_by_name[name] for name in sorted(path_by_name) if path_by_name[name].is_file()}


def rules(config_dir: str | Path | None = None) -> dict[str, Any]:
    """The rules as they are now.

    Returns
    -------
    dict
        `digest`, the SHA-256 of all; `files`, that of each by name; `judgements`, see there; `commit` and `committed`,
        the commit of this checkout that changed a file last, and its time, None where that is not known or one was
        edited since.
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
        "judgements": judgements(),
    }


def _last_commit(paths: list[Path]) -> tuple[str | None, str | None]:
    git = ["git", "-C", str(Path(__file__).resolve().parent)]
    names = [str(path.resolve()) for path in paths]
    lines = []
    try:
        for command in (["status", "--porcelain"], ["log", "-1", "--format=%H %cI"]):
            done = subprocess.run([*git, *command, "--", *names], capture_output=True, text=True, check=True)
            lines.append(done.stdout.split())
    except (OSError, subprocess.SubprocessError):
        return None, None
    edited, last = lines
    return (last[0], last[1]) if len(last) == 2 and not edited else (None, None)


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Name what differs between two sets of `rules`: ``NAME (changed)``, ``(new)``, ``(gone)``.

    A name is that of a file, or ``rule NAME`` where numbers are judged otherwise. The modules that judge are compared
    as files only with rules that were kept without `judgements`. A new file of claims that were added later changes no
    rule.
    """
    by_file = "judgements" not in before
    old, new = (
        {name: digest for name, digest in state["files"].items() if by_file or name not in OF_CODE}
        | {f"rule {name}": digest for name, digest in ({} if by_file else state["judgements"]).items()}
        for state in (before, now)
    )
    words = {
        name: "gone" if name not in new else "new" if name not in old else "changed"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    }
    return [f"{name} ({word})" for name, word in words.items() if word != "new" or not name.endswith(f"/{ADDED}")]
