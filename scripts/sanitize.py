"""Run every sampler on every model it supports with AddressSanitizer and UndefinedBehaviorSanitizer; with
``--thread`` what runs in threads, with ThreadSanitizer.

The compiled modules are built with them into ``build/sanitize``, next to the ordinary build, which stays as it is. A
combination is a model with its options, a data set, a start, and a sampler with its options. What there is to combine
comes from ``conf`` and from the ``OPTIONS`` of the classes that it names, and ``Sampler.supports`` says what goes
together, so a new sampler or model is covered automatically. Each combination makes moves alone, then a chain with
Gibbs updates and refreshes, half of it restored from a stored state, its steps in two threads for a while; samplers
that adapt to the chain history, three chains on one thread and on two; pairs of coupled chains, of every coupling;
`subcluster`, its items in shards, too; topics are held against held-out tokens by every method. Afterwards the unit
tests of the compiled modules run on the same build.

In threads, a combination makes two chains of one data set at the same time, their steps in two threads each, breaks one
of them off, and makes pairs of coupled chains at the same time. Python itself is not compiled for ThreadSanitizer; what
it says of what is no fault stands in ``sanitizers/thread.supp``, with the reason.

A finding ends the process of the combination that made it; the others go on. Exit status 1 when there is a finding.
Needs gcc with libasan and libubsan, or libtsan. One combination again: ``python scripts/sanitize.py --no-build --only
NAME``. The package ``sanitizers`` next to this file has the combinations, the builds and the processes.
"""

import argparse
import os
import queue
import shutil
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from sanitizers.build import LIBRARIES, ROOT, build, environment, reports
from sanitizers.cases import Group, groups
from sanitizers.processes import Tally, Worker, test, unit_tests, work


def run_all(settings: argparse.Namespace) -> int:
    """Build, run, report; the exit status."""
    if not settings.no_build:
        build(settings.kind)
    env = environment(settings.kind)
    folder = reports(settings.kind)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tally = Tally(Counter(), [], threading.Lock(), time.monotonic())
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threaded = settings.kind == "thread"
    tasks: list[Group | Path] = [*groups(threaded), *([] if threaded else unit_tests())]
    for task in tasks:
        names = map(str, task.cases(1)) if isinstance(task, Group) else [task.relative_to(ROOT).as_posix()]
        if any(all(word in name for word in settings.only) for name in names):
            waiting.put(task)

    def support() -> None:
        worker = Worker(settings, env, tally)
        while True:
            try:
                task = waiting.get_nowait()
            except queue.Empty:
                break
            if isinstance(task, Path):
                test(task, env, tally)
                tally.note(task.name, waiting.qsize())
            else:
                worker.group(task)
                tally.note(str(task), waiting.qsize())
        worker.close()

    threads = [threading.Thread(target=support) for _ in range(settings.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = tally.counts
    ran = counts["clean"] + sum(not name.startswith("tests/") for name, _ in tally.findings)
    print(
        f"{ran} combinations, {counts['tests']} files of tests, {len(tally.findings)} findings; "
        f"{counts['rejected']} combinations that a model or sampler rejects; {time.monotonic() - tally.began:.0f} s"
    )
    if tally.findings:
        print(f"whole reports in {folder}:")
    for name, reason in tally.findings:
        print(f"  {name}: {reason}")
    return 1 if tally.findings else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Every sampler on every model, with sanitizers (see CONTRIBUTING).")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="combinations whose name has TEXT")
    parser.add_argument(
        "--iterations",
        type=int,
        default=2000,
        help="iterations of each combination over all its chains, half of them on the edge cases",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at the same time")
    parser.add_argument("--no-build", action="store_true", help="use the sanitized build that is there")
    parser.add_argument(
        "--thread",
        dest="kind",
        action="store_const",
        const="thread",
        default=next(iter(LIBRARIES)),
        help="with ThreadSanitizer, what runs in several threads",
    )
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    settings = parser.parse_args()
    if settings.worker:
        work(settings.kind)
        return 0
    return run_all(settings)


if __name__ == "__main__":
    sys.exit(main())
