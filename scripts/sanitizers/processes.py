"""Processes on the sanitized build: those that run combinations, those that run tests, and what ended them."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sanitizers.build import FOLDER, ROOT, SYMBOL, library, reports
from sanitizers.cases import Group
from sanitizers.combination import Rejected, run

COMMAND = ROOT / "scripts" / "sanitize.py"
PATIENCE = 600
"""Seconds without an answer after which a combination counts as hung."""
ENOUGH = 10
"""Findings after which the rest of a model and data set is left out: they are likely one, and each costs a process."""


def work(kind: str) -> None:
    """A process on a sanitized build: reads groups from the standard input, says what becomes of each case."""
    import splitmerge_cli._kernels as kernels

    file = Path(kernels.__file__)
    if library(kind) not in file.parents or SYMBOL[kind] not in file.read_bytes():
        raise SystemExit(f"{file}: expected a sanitized module in {library(kind)}")
    # what the samplers print is nobody's answer
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        group = Group(**request["group"])
        skip = set(request["skip"])
        for case in group.cases(request["iterations"]):
            name = str(case)
            if name in skip or not all(word in name for word in request["only"]):
                continue
            print("run", name, file=answers)
            try:
                run(case)
                print("clean", name, file=answers)
            except Rejected as reason:
                print("rejected", reason, file=answers)
            except Exception as error:
                print("failed", f"{type(error).__name__}: {' '.join(str(error).split())}", file=answers)
        print("end", file=answers)


FINDING = re.compile(
    r"(ERROR: AddressSanitizer.*|WARNING: ThreadSanitizer.*|.*runtime error:.*|.*Assertion.*|Fatal Python error.*)"
)
PLACE = re.compile(r"^\s+#\d+ (?:0x[0-9a-f]+ in )?(\S+) .*?(splitmerge_cli/\S+)", re.MULTILINE)


def explain_end(report: str, status: int | None) -> str:
    """A line on what ended a process, from what it wrote."""
    match, places = FINDING.search(report), PLACE.findall(report)
    problem = match[1].strip() if match else f"ended with status {status}"
    return problem + "".join(f" < {name} ({where})" for name, where in places[:3])


@dataclass
class Tally:
    """Results of the combinations, shared by the threads."""

    counts: Counter[str]
    findings: list[tuple[str, str]]
    lock: threading.Lock
    began: float

    def add(self, outcome: str, name: str, reason: str = "") -> None:
        """Count one, and say at once what was found."""
        with self.lock:
            self.counts[outcome] += 1
            if outcome == "finding":
                self.findings.append((name, reason))
                print(f"FINDING {name}: {reason}", flush=True)

    def note(self, name: str, groups_left: int) -> None:
        """Say how far the run is."""
        with self.lock:
            seconds = time.monotonic() - self.began
            line = f"{self.counts['clean']} clean, {len(self.findings)} findings, {groups_left} groups left: {name}"
            print(f"{seconds:6.0f} s  {line}", flush=True)


class Worker:
    """A process that runs groups, started again after a finding."""

    def __init__(self, settings: argparse.Namespace, env: Mapping[str, str], tally: Tally) -> None:
        self.settings, self.env, self.tally = settings, env, tally
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> subprocess.Popen[str]:
        """The process, alive."""
        if self.process is None:
            number, path = tempfile.mkstemp(".txt", dir=reports(self.settings.kind))
            self.report = Path(path)
            command = [sys.executable, str(COMMAND), "--worker"]
            command += ["--thread"] if self.settings.kind == "thread" else []
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": number}
            self.process = subprocess.Popen(command, env=self.env, cwd=FOLDER, text=True, bufsize=1, **pipes)
            os.close(number)
        return self.process

    def record_end(self, name: str) -> None:
        """Book what ended the process."""
        assert self.process is not None
        status = self.process.wait()
        report = self.report.read_text(encoding="utf-8", errors="replace")
        self.tally.add("finding", name, f"{explain_end(report, status)} ({self.report.name})")
        self.process = None

    def group(self, group: Group) -> None:
        """All cases of a group."""
        done: list[str] = []
        for _ in range(ENOUGH):
            process = self.start()
            assert process.stdin is not None and process.stdout is not None
            request = {"group": group.__dict__, "skip": done, "only": self.settings.only}
            process.stdin.write(json.dumps(request | {"iterations": self.settings.iterations}) + "\n")
            name = ""
            while True:
                watch = threading.Timer(PATIENCE, process.kill)
                watch.start()
                line = process.stdout.readline()
                watch.cancel()
                outcome, _, detail = line.strip().partition(" ")
                if outcome == "end":
                    return
                if outcome == "run":
                    name = detail
                    done.append(name)
                elif outcome == "failed":
                    self.tally.add("finding", name, detail)
                elif outcome:
                    self.tally.add(outcome, name)
                else:
                    self.record_end(name or f"{group} (before the first)")
                    break
        self.tally.add("finding", f"{group} (the rest)", f"left out after {ENOUGH} findings")

    def close(self) -> None:
        """End the process."""
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
            self.process.wait()
            self.report.unlink()


def unit_tests() -> list[Path]:
    """Find the unit tests of the compiled modules."""
    compiled = {p.stem for p in (ROOT / "splitmerge_cli").rglob("*.pyx")}
    names = re.compile(r"from splitmerge_cli\.(?:models|samplers)?\.?(\w+) import")
    tests = (p for folder in ("unit", "kinds") for p in sorted((ROOT / "tests" / folder).rglob("test_*.py")))
    return [p for p in tests if compiled & set(names.findall(p.read_text()))]


def test(file: Path, env: Mapping[str, str], tally: Tally) -> None:
    """Run a file of tests on the sanitized build."""
    name = file.relative_to(ROOT).as_posix()
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", str(file)]
    try:
        done = subprocess.run(command, env=env, cwd=FOLDER, capture_output=True, text=True, timeout=6 * PATIENCE)
    except subprocess.TimeoutExpired:
        tally.add("finding", name, f"no end after {6 * PATIENCE} s")
        return
    # 5: a file of slow tests alone
    if done.returncode in (0, 5):
        tally.add("tests", name)
    elif done.returncode == 1:
        failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        tally.add("finding", name, "; ".join(failures))
    else:
        tally.add("finding", name, explain_end(done.stderr + done.stdout, done.returncode))
