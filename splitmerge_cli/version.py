"""Where a result comes from: version of the installed distribution, its packages, the commit, the machine."""

import os
import platform
import subprocess
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

try:
    __version__ = version("smcmc")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

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
    root = Path(__file__).parents[1]
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
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "node": platform.node(),
        "system": platform.platform(),
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "processors": os.cpu_count(),
    }
