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
"""Variants, the best first, and the instructions that each needs, as ``/proc/cpuinfo`` calls them."""


def processor_flags() -> set[str]:
    """Instructions that the processor has and the system lets programs use; empty if that cannot be read."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("flags"):
                    return set(line.split()[2:])
    except OSError:
        pass
    return set()


def built_variants() -> list[str]:
    """Compiled variants that this installation has, the best first."""
    return [variant for variant in NEEDS if os.path.isdir(os.path.join(FOLDER, variant))]


def choose(variants: list[str]) -> str:
    """Choose among the variants of an installation. Raises `ImportError` (``SMCMC_LEVEL`` names none of them, or one
    whose instructions the processor lacks)."""
    flags = processor_flags()
    able = [variant for variant in variants if NEEDS[variant] <= flags] + [BASELINE]
    if (forced := os.environ.get(VARIABLE)) is None:
        return able[0]
    if forced not in able:
        raise ImportError(f"{VARIABLE}={forced}: expected one of {', '.join(able)}, which this processor has")
    return forced


class Finder:
    """Imports modules of the package from the folder of a variant, those that it has."""

    def __init__(self, variant: str) -> None:
        self.variant = variant
        root, self.files = os.path.join(FOLDER, variant), {}
        for folder, _, names in os.walk(root):
            package = [__name__.partition(".")[0], *os.path.relpath(folder, root).split(os.sep)]
            for name in names:
                module = [*(part for part in package if part != "."), name.partition(".")[0]]
                self.files[".".join(module)] = os.path.join(folder, name)

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        """The specification of a module that the variant has; None for any other."""
        if (file := self.files.get(name)) is None:
            return None
        from importlib.util import spec_from_file_location

        return spec_from_file_location(name, file)


def install() -> str:
    """Load compiled modules from the best variant that processor and installation have; return its name."""
    variant = choose(built_variants())
    if variant != BASELINE:
        sys.meta_path.insert(0, Finder(variant))  # type: ignore[arg-type]
    return variant
