"""The sanitized builds: their folders, how they are made, and the environment of a process that uses one."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "sanitize"
LIBRARIES = {"address": ("libasan.so", "libubsan.so", "libstdc++.so"), "thread": ("libtsan.so", "libstdc++.so")}
"""Libraries of each build, in the order in which they are loaded."""
SYMBOL = {"address": b"__asan_", "thread": b"__tsan_"}
"""Symbol that a module of each build has."""
SUPPRESSIONS = Path(__file__).with_name("thread.supp")


def library(kind: str) -> Path:
    """The packages of a build."""
    return FOLDER / kind / "lib"


def reports(kind: str) -> Path:
    """Folder for what processes on a build write when they end early."""
    return FOLDER / kind / "reports"


def build(kind: str) -> None:
    """The build with these sanitizers: `address` or `thread`."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"]
    command += ["--target", str(library(kind)), str(ROOT)]
    subprocess.run(command, env=os.environ | {"SMCMC_SANITIZE": kind}, check=True)


def environment(kind: str) -> dict[str, str]:
    """Environment of a process on a build: its libraries come before all others."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "gcc").split()
    libraries = []
    for name in LIBRARIES[kind]:
        asked = subprocess.run([*compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
        path = Path(asked.stdout.strip())
        if not path.is_absolute():
            raise SystemExit(f"{name}: not found by {' '.join(compiler)}; expected gcc with its sanitizers")
        libraries.append(str(path.resolve()))
    return os.environ | {
        "LD_PRELOAD": ":".join(libraries),
        "PYTHONPATH": str(library(kind)),
        # each object alone, so that its end is known
        "PYTHONMALLOC": "malloc",
        # the interpreter keeps what it has until its end; with detect_stack_use_after_return=1 every network ended with
        # a bad access where gcc 12.2 compiled for AVX-512, and none without it
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "TSAN_OPTIONS": f"halt_on_error=1:second_deadlock_stack=1:history_size=4:suppressions={SUPPRESSIONS}",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
