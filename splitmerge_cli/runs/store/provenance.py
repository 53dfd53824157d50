"""Where a result comes from: versions, commit, machine."""

import os
import platform
import subprocess
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from splitmerge_cli import __version__

_PACKAGES = ("numpy", "scipy", "pyarrow", "pandas", "hydra-core", "omegaconf", "scikit-learn")


def versions() -> dict[str, str]:
    """Versions of smcmc, Python and the packages that results depend on."""
    packages = {package: _find_version(package) for package in _PACKAGES}
    return {"smcmc": __version__, "python": platform.python_version(), **packages}


@cache
def _find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@cache
def commit() -> str | None:
    """The commit of the source tree that is running, with ``+changes`` if it was edited; None outside a checkout."""
    root = Path(str(files("splitmerge_cli"))).parent
    if not (root / ".git").exists():
        return None
    git = ["git", "-C", str(root), "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    try:
        lines = subprocess.run(git, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return None
    # first "# branch.oid COMMIT", then lines on the branch, and one for each file that was edited
    return lines[0].split()[-1] + "+changes" * any(not line.startswith("#") for line in lines)


def machine() -> dict[str, Any]:
    """Name, system and processors of this machine."""
    names: list[str] = []
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "node": platform.node(),
        "system": platform.platform(),
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "processors": os.cpu_count(),
    }
