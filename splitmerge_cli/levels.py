"""Which of the compiled variants in a wheel are imported on this machine.

A portable wheel has every compiled module for the baseline of its platform, and those with loops once more for each
later level of x86-64 in a folder ``_levels/LEVEL``. A build from source has one variant, and none of this. Chains are
the same, draw by draw, on every level: contraction to fused multiplications is off, and sums have one order.

``SMCMC_LEVEL`` forces a level: ``baseline``, ``x86-64-v3`` or ``x86-64-v4``.
"""

import os
import sys

FOLDER = os.path.join(os.path.dirname(__file__), "_levels")
BASELINE = "baseline"
VARIABLE = "SMCMC_LEVEL"
_AVX2 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "abm"}
NEEDS = {"x86-64-v4": _AVX2 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}, "x86-64-v3": _AVX2}
"""Levels, the best first, and the instructions that each needs, as ``/proc/cpuinfo`` calls them."""


def processor_flags() -> set[str]:
    """Instructions that the processor has and the system lets programs use; empty where that cannot be read."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("flags"):
                    return set(line.split()[2:])
    except OSError:
        pass
    return set()


def built_levels() -> list[str]:
    """Levels that this installation has variants for, the best first."""
    return [level for level in NEEDS if os.path.isdir(os.path.join(FOLDER, level))]


def choose(levels: list[str]) -> str:
    """Choose among the levels of an installation.

    Raises
    ------
    ImportError
        ``SMCMC_LEVEL`` names none of them, or one whose instructions the processor lacks.
    """
    flags = processor_flags()
    able = [level for level in levels if NEEDS[level] <= flags] + [BASELINE]
    if (forced := os.environ.get(VARIABLE)) is None:
        return able[0]
    if forced not in able:
        raise ImportError(f"{VARIABLE}={forced}: expected one of {', '.join(able)}, which this processor has")
    return forced


class Finder:
    """Imports modules of the package from the folder of a level, those that it has."""

    def __init__(self, level: str) -> None:
        self.level = level
        root, self.files = os.path.join(FOLDER, level), {}
        for folder, _, names in os.walk(root):
            package = [__name__.partition(".")[0], *os.path.relpath(folder, root).split(os.sep)]
            for name in names:
                module = [*(part for part in package if part != "."), name.partition(".")[0]]
                self.files[".".join(module)] = os.path.join(folder, name)

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        """The specification of a module that the level has; None for any other."""
        if (file := self.files.get(name)) is None:
            return None
        from importlib.util import spec_from_file_location

        return spec_from_file_location(name, file)


def install() -> str:
    """Let compiled modules be those of the best level that processor and installation have; returns its name."""
    level = choose(built_levels())
    if level != BASELINE:
        sys.meta_path.insert(0, Finder(level))  # type: ignore[arg-type]
    return level
