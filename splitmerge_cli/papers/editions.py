"""Editions of the reproduction: the same figures, claims and rules, from other seeds.

Edition 1 has the seeds that the experiments' files name. In edition N every one of them is larger by
(N - 1) `SHIFT`: that of the chains and, where a data set is a seed, that of the data. Published data, generated data
that stand in for them, a data set whose seed no job names (a network that was chosen for a figure), and the projections
of LSHSM stay. A shifted
seed is a setting like any other, so runs of several editions lie in one folder of results; what is drawn or kept of an
edition has a folder of its own.
"""

import re
from collections.abc import Sequence
from pathlib import Path

SHIFT = 1_000_000
"""Added to every seed from one edition to the next; the seeds of the files are all smaller, so none repeats."""
SEEDS = ("seed", "data.seed")
"""Keys of a job that hold seeds."""
_NAME = re.compile(r"(figures-)?edition-([1-9]\d*)")


def shift_seeds(job: Sequence[str], edition: int, default: int) -> list[str]:
    """The overrides of a job with the seeds of an edition.

    Parameters
    ----------
    job : sequence of str
        ``KEY=VALUE``. A seed that is an interpolation follows the seed of the chains.
    edition : int
        1 at least.
    default : int
        The seed of the chains of a job that names none.
    """
    if edition == 1:
        return list(job)
    shift = (edition - 1) * SHIFT
    named = [override.partition("=") for override in job]
    shifted = [
        f"{key}={int(value) + shift}" if key in SEEDS and value.isdecimal() else f"{key}{equals}{value}"
        for key, equals, value in named
    ]
    has_seed = any(key == "seed" for key, _, _ in named)
    return shifted if has_seed else [*shifted, f"seed={default + shift}"]


def figures_folder(edition: int) -> str:
    """The folder of the results that holds an edition's drawn figures."""
    return "figures" if edition == 1 else f"figures-edition-{edition}"


def kept_folder(folder: Path, edition: int) -> Path:
    """The folder of a kept edition: `folder` of the first, one within it of every other."""
    return folder if edition == 1 else folder / f"edition-{edition}"


def kept_editions(folder: Path) -> list[int]:
    """Numbers of the later editions that have a folder within the first's, in order."""
    return _numbers(folder, None)


def drawn_editions(out: Path) -> list[int]:
    """Numbers of the later editions of which figures are drawn in a folder of results, in order."""
    return _numbers(out, "figures-")


def _numbers(folder: Path, before: str | None) -> list[int]:
    matches = (_NAME.fullmatch(one.name) for one in folder.iterdir() if one.is_dir())
    numbers = (int(match[2]) for match in matches if match and match[1] == before)
    return sorted(number for number in numbers if number > 1)


def edition_option(edition: int) -> str:
    """Return a command's option for an edition; empty for the first."""
    return "" if edition == 1 else f" --edition {edition}"
