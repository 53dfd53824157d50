"""The sanitized build: its folders, how it is made, and the environment of a process that uses it."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "sanitize"
LIBRARY = FOLDER / "lib"
REPORTS = FOLDER / "reports"


def build() -> None:
    """The sanitized build."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", str(LIBRARY)]
    subprocess.run([*command, str(ROOT)], env=os.environ | {"SMCMC_SANITIZE": "1"}, check=True)


def environment() -> dict[str, str]:
    """Of a process on the sanitized build: its libraries come before all others."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "gcc").split()
    libraries = []
    for name in ("libasan.so", "libubsan.so", "libstdc++.so"):
        asked = subprocess.run([*compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
        path = Path(asked.stdout.strip())
        if not path.is_absolute():
            raise SystemExit(f"{name}: not found by {' '.join(compiler)}; expected gcc with its sanitizers")
        libraries.append(str(path.resolve()))
    return os.environ | {
        "LD_PRELOAD": ":".join(libraries),
        "PYTHONPATH": str(LIBRARY),
        # each object by itself, so that its end is known
        "PYTHONMALLOC": "malloc",
        # the interpreter keeps what it has until its end
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
