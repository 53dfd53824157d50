"""Run every sampler on every model it supports with AddressSanitizer and UndefinedBehaviorSanitizer.

The compiled modules are built with both into ``build/sanitize``, beside the ordinary build, which stays as it is. A
combination is a model with its options, a data set, a start, and a sampler with its options. What there is to combine
comes from ``conf`` and from the ``OPTIONS`` of the classes that it names, and ``Sampler.supports`` says what goes
together, so a new sampler or model is covered by itself. Each combination makes moves alone, then a chain with Gibbs
updates and refreshes, half of it restored from a stored state; samplers that adapt to the chain history, three chains
on one thread and on two; topics are held against held-out tokens by every method. Afterwards the unit tests of the
compiled modules run on the same build.

A finding ends the process of the combination that made it; the others go on. Exit status 1 when there is a finding.
Needs gcc with libasan and libubsan. One combination again: ``python scripts/sanitize.py --no-build --only NAME``.
"""

import argparse
import itertools
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "sanitize"
LIBRARY = FOLDER / "lib"
REPORTS = FOLDER / "reports"

PATIENCE = 600
"""Seconds without an answer after which a combination counts as hung."""
ENOUGH = 10
"""Findings after which the rest of a model and data set is left out: they are likely one, and each costs a process."""

# ---------------------------------------------------------------------------------------------------- what to combine

SMALL: dict[str, tuple[Any, ...]] = {
    "t": (0, 2),
    "m": (1, 3),
    "r": (2,),
    "tries": (2,),
    "bits": (2,),
    "tables": (3,),
    "cache": (4,),
    "freeze": (5,),
    "steps": (2,),
    "kmax": (30,),
    "candidates": (None, [[0.0, 1.0], [1.0, -1.0], [2.0, 0.0]]),
}
"""Values, fit for small data, of numbers and lists; the file's own value stands for those that are not here."""

STARTS = ("one_cluster", "singletons", "random")
N = 24
"""Items of an ordinary data set: more than two blocks of eight clusters from singletons."""


@dataclass(frozen=True)
class Variant:
    """A choice of ``conf`` with values for its options."""

    name: str
    target: str
    options: tuple[tuple[str, Any], ...]
    off: int
    """How many of the options are not the first of their values."""

    def __str__(self) -> str:
        shown = ",".join(f"{key}={value}".replace(" ", "") for key, value in self.options)
        return f"{self.name}[{shown}]" if shown else self.name


def values_of(target: Any, key: str, default: Any) -> tuple[Any, ...]:
    """The values of an option to be tried, the default first."""
    if key in SMALL:
        return SMALL[key]
    if isinstance(default, bool):
        return default, not default
    from splitmerge_cli.core.options import Choice, PositiveOrGamma
    from splitmerge_cli.priors import PriorOption, priors

    option = {listed.name: listed for listed in getattr(target, "OPTIONS", ())}.get(key)
    if isinstance(option, PositiveOrGamma):
        return 1.0, "gamma(1,1)"
    if isinstance(option, PriorOption):
        return default, *(name for name in priors() if name != default)
    if isinstance(option, Choice):
        return default, *(word for word in option.choices if word != default)
    if isinstance(default, str) and option is None:
        raise SystemExit(f"{target.__name__}: {key}: expected it among the OPTIONS of the class")
    return (default,)


def variants(group: str) -> list[Variant]:
    """Every choice of a group with every combination of values of its options, none twice."""
    from splitmerge_cli.config import choice, choices, locate

    found: dict[tuple[str, str], Variant] = {}
    for name in choices(group):
        given = choice(group, name)
        target = locate(given["_target_"])
        options = {key: value for key, value in given.items() if key not in ("name", "_target_")}
        offered = {key: values_of(target, key, value) for key, value in options.items()}
        for picked in itertools.product(*offered.values()):
            chosen = dict(zip(offered, picked, strict=True))
            # mode is another sampler
            off = sum(chosen[key] != offered[key][0] for key in chosen if key != "mode")
            told = tuple((key, value) for key, value in chosen.items() if len(offered[key]) > 1)
            same = given["_target_"], json.dumps(chosen, sort_keys=True)
            found.setdefault(same, Variant(name, json.dumps(given | chosen), told, off))
    return list(found.values())


@cache
def models() -> list[Variant]:
    """Models with all their options."""
    return variants("model")


@cache
def samplers() -> list[Variant]:
    """Samplers with at most two options off their default, in either mode."""
    return [variant for variant in variants("sampler") if variant.off <= 2]


def made(variant: Variant, build: Any) -> Any:
    """What the variant stands for, by the class and its options."""
    from splitmerge_cli.config import locate

    given = json.loads(variant.target)
    options = {key: value for key, value in given.items() if key not in ("name", "_target_")}
    return build(locate(given["_target_"]), options)


# ----------------------------------------------------------------------------------------------------------- the data


def _graph(edges: np.ndarray) -> csr_array:
    both = np.triu(np.asarray(edges, dtype=bool), 1)
    return csr_array((both | both.T).astype(np.uint8))


def _corpus(*documents: Sequence[int], V: int) -> Any:
    from splitmerge_cli.data.corpora.corpus import Corpus, Tokens, starts_of

    words = np.array([word for document in documents for word in document], dtype=np.int32)
    return Corpus(Tokens(words, starts_of(np.array([len(document) for document in documents]))), V)


@cache
def data() -> dict[str, dict[str, Any]]:
    """Values of data sets by kind and name; the first of a kind is the ordinary one."""
    rng = np.random.default_rng(1)
    binary = (rng.random((N, 6)) < np.where(np.arange(N) % 2, 0.8, 0.2)[:, None]).astype(np.uint8)
    points = rng.normal(size=(N, 2)) + 3.0 * (np.arange(N) % 3)[:, None]
    holes = np.where(rng.random((N, 5)) < 0.4, rng.normal(size=(N, 5)), 0.0)
    holes[3] = 0.0
    at_home = np.arange(N)[:, None] % 2 == np.arange(N) % 2
    documents = [rng.integers(4 * (j % 2), 4 * (j % 2) + 4, size=6).tolist() for j in range(4)]
    words = _corpus(*documents, V=8)
    return {
        "tokens": {
            "ordinary": rng.integers(5, size=N).astype(np.int32),
            "one_item": np.zeros(1, dtype=np.int32),
            "two_items": np.arange(2, dtype=np.int32),
            "alike": np.zeros(9, dtype=np.int32),
            "distinct": np.arange(9, dtype=np.int32),
        },
        "binary": {
            "ordinary": binary,
            "one_item": binary[:1],
            "two_items": binary[:2],
            "alike": np.ones((9, 3), dtype=np.uint8),
            "one_column": binary[:12, :1],
            "constant_column": np.column_stack([binary[:12], np.zeros(12, dtype=np.uint8)]),
            "many_columns": rng.integers(2, size=(12, 150)).astype(np.uint8),
        },
        "points": {
            "ordinary": points,
            "one_item": points[:1],
            "two_items": points[:2],
            "alike": np.ones((9, 2)),
            "constant_column": points[:12] * [1.0, 0.0],
            "pairs": np.repeat(points[:6], 2, axis=0),
            "far": points[:12] + np.array([1e6, 0.0]),
            "float32": points[:12].astype(np.float32),
            "one_column": points[:12, :1],
            "many_columns": rng.normal(size=(12, 19)),
            "sparse": csr_array(holes),
            "sparse_one_item": csr_array(holes[:1]),
            "sparse_empty": csr_array((7, 3)),
            "sparse_wide": csr_array(np.where(rng.random((9, 400)) < 0.1, 1.0, 0.0)),
        },
        "graph": {
            "ordinary": _graph(rng.random((N, N)) < np.where(at_home, 0.7, 0.1)),
            "one_item": _graph(np.zeros((1, 1))),
            "two_items": _graph(np.ones((2, 2))),
            "two_apart": _graph(np.zeros((2, 2))),
            "complete": _graph(np.ones((9, 9))),
            "empty": _graph(np.zeros((9, 9))),
            "star": _graph(np.arange(9)[:, None] == np.zeros(9)),
            "cliques": _graph(at_home[:12, :12]),
            "bipartite": _graph(~at_home[:12, :12]),
            # past the end of the tables of log factorials
            "large": csr_array(diags_array([np.ones(2899)] * 2, offsets=[-1, 1]), dtype=np.uint8),
        },
        "documents": {
            "ordinary": words,
            "one_item": _corpus([0], V=1),
            "two_items": _corpus([0, 1], V=2),
            "one_word": _corpus([0, 0, 0], [0, 0, 0, 0], V=1),
            "one_token_each": _corpus(*([j % 3] for j in range(9)), V=4),
            "empty_documents": _corpus([], documents[0], [], documents[1], [], V=8),
            "one_document": _corpus([*documents[0], *documents[1]], V=8),
        },
    }


def dataset(kind: str, name: str) -> Any:
    """The Dataset of this name."""
    from splitmerge_cli.data.base import Dataset

    values = data()[kind][name]
    vocabulary = None
    if kind == "tokens":
        vocabulary = [str(t) for t in range(int(values.max()) + 1)]
    elif kind == "documents":
        vocabulary = [str(t) for t in range(values.V)]
    return Dataset(name, kind, values, vocabulary=vocabulary)


@dataclass(frozen=True)
class Case:
    """One combination."""

    model: Variant
    kind: str
    data: str
    start: str
    sampler: Variant
    iterations: int

    def __str__(self) -> str:
        return f"{self.model} {self.data} {self.start} {self.sampler}"


@dataclass(frozen=True)
class Group:
    """Combinations on one model and data set."""

    model: int
    kind: str
    data: str

    def __str__(self) -> str:
        return f"{models()[self.model]} {self.data}"

    def cases(self, iterations: int) -> Iterator[Case]:
        """Ordinary data: every sampler, the default model from every start, others from one of them in turn. Other
        data: each sampler on one of the models with at most one option off its default, in turn; not all tried on all
        data keeps the run within the hour."""
        model = models()[self.model]
        ordinary = self.data == next(iter(data()[self.kind]))
        siblings = [t for t, other in enumerate(models()) if other.name == model.name and other.off <= 1]
        turn = list(data()[self.kind]).index(self.data)
        if not ordinary:
            iterations = 12 if self.data == "large" else iterations // 2
        for t, sampler in enumerate(samplers()):
            if not ordinary and (t + turn) % len(siblings) != siblings.index(self.model):
                continue
            starts = STARTS if ordinary and model.off == 0 else (STARTS[(t + turn + self.model) % len(STARTS)],)
            for start in starts:
                # so many clusters take too much memory
                start = "random" if self.data == "large" else start
                yield Case(model, self.kind, self.data, start, sampler, iterations)


def groups() -> list[Group]:
    """All there are."""
    found = []
    for number, model in enumerate(models()):
        kind = made(model, lambda cls, options: cls.kind)
        for t, name in enumerate(data()[kind]):
            if t == 0 or model.off <= 1:
                found.append(Group(number, kind, name))
    return found


# --------------------------------------------------------------------------------------------------- one combination


class Rejected(Exception):
    """The model or the sampler does not take these data or options."""


def _built(case: Case) -> Any:
    try:
        return made(case.model, lambda cls, options: cls.from_data(dataset(case.kind, case.data), **options))
    except ValueError as error:
        raise Rejected(str(error)) from error


def _chain(case: Case, number: int, seed: int = 3) -> Any:
    """A chain of the sampler, an update of one item and, where there is anything to refresh, a refresh."""
    from splitmerge_cli.config import choice, locate
    from splitmerge_cli.core.chain import Chain
    from splitmerge_cli.core.rng import Rng
    from splitmerge_cli.runs.initial import initial_labels

    model, rng = _built(case), Rng(seed, number)
    if not made(case.sampler, lambda cls, options: cls.supports(model)[0]):
        raise Rejected("the sampler does not support the model")

    def other(name: str, **options: Any) -> Any:
        return locate(choice("sampler", name)["_target_"])(model, rng, **options)

    try:
        mover = made(case.sampler, lambda cls, options: cls(model, rng, **options))
    except ValueError as error:
        raise Rejected(str(error)) from error
    generator = np.random.Generator(rng.bit_generator)
    labels, K = initial_labels(model, dataset(case.kind, case.data), case.start, None, generator)
    model.set_labels(labels, K if model.allows_empty else None)
    model.start_parameters(rng)
    site = other("gibbs" if model.conjugate else "neal8", scan="site")
    steps = [mover, site, *([other("refresh")] if model.refreshes else [])]
    truth = np.arange(model.N) % 3
    return Chain(model, rng, steps, thin=7, partitions=11, truth=truth, timing=False, warmup=(site, 3), sizes=True)


def _chains(case: Case) -> list[Any]:
    """One chain, or three that share a history where the sampler learns from it."""
    first = _chain(case, 0)
    mover = first.samplers[0]
    if not hasattr(mover, "adapt_to"):
        return [first]
    chains = [first, *(_chain(case, number) for number in (1, 2))]
    history = mover.adaptive.new_history(len(chains))
    for number, chain in enumerate(chains):
        chain.adapt_to(history, number)
    return chains


def run(case: Case) -> list[dict[str, np.ndarray]]:
    """Make all that is to be made of a combination; what the chains recorded."""
    from splitmerge_cli.core.chain import advance_together

    def advance(chains: list[Any], iterations: int, workers: int) -> list[dict[str, np.ndarray]]:
        if len(chains) == 1:
            return [chains[0].advance(iterations)]
        return list(advance_together(chains, iterations, workers=workers))

    chains = _chains(case)
    iterations = case.iterations // len(chains)
    mover, model = chains[0].samplers[0], chains[0].model
    if len(chains) == 1:
        for _ in range(iterations // 4):
            mover.step()
        if model.N <= 3:
            _walk_script(chains[0], mover)
    rows = advance(chains, iterations // 4, 1)
    again = _chains(case)
    for old, new in zip(chains, again, strict=True):
        new.state = old.state
    # threads that meet after every round wait for the processor, where others want it too
    rounds = min(iterations // 2, 100)
    rows += advance(again, rounds, 2)
    rows += advance(again, iterations // 2 - rounds, 1)
    for chain in again:
        if not np.isfinite(chain.log_joint):
            raise ArithmeticError(f"the log joint density is {chain.log_joint}")
        _ask(chain)
    return rows


def _walk_script(chain: Any, mover: Any) -> None:
    """Some paths of the tree of all choices."""
    from splitmerge_cli.core.rng import ContinuousDraw

    model, rng = chain.model, chain.rng
    labels, K, parameters = model.labels, model.K if model.allows_empty else None, model.parameters
    rng.script_start()
    try:
        for _ in range(100):
            model.set_labels(labels, K)
            if parameters is not None:
                model.set_parameters(parameters)
            rng.script_begin()
            mover.step()
            if not rng.script_next():
                break
    except ContinuousDraw:
        pass
    finally:
        rng.script_stop()


def _ask(chain: Any) -> None:
    """What may be asked of a chain beside what it records."""
    model, mover = chain.model, chain.samplers[0]
    for report in ("statistics", "fitted", "word_topics"):
        getattr(model, report, lambda: None)()
    if hasattr(mover, "report"):
        mover.report()
        for opposite, reading in itertools.product((False, True), ("table", "union")):
            mover.tables.probability(0, model.N - 1, opposite, reading)
    if model.kind == "documents":
        _predict(model)


def _predict(model: Any) -> None:
    """Held-out tokens, by every method."""
    from splitmerge_cli.data.corpora.corpus import Heldout, Tokens, starts_of
    from splitmerge_cli.models.heldout import METHODS, log_likelihoods

    lengths = np.full(model.J, 3)
    words = np.arange(3 * model.J, dtype=np.int32) % model.V
    tokens = Tokens(words, starts_of(lengths))
    corpora = data()["documents"].values()
    own = next(x.tokens for x in corpora if (x.shape[0], x.V, x.tokens.J) == (model.N, model.V, model.J))
    for by, method in itertools.product(("word", "document"), METHODS):
        observed = np.arange(len(words)) % 2 == 0 if by == "document" else np.zeros(len(words), dtype=bool)
        held = Heldout(by, tokens, observed)
        told = model.word_topics(), model.weights, model.alpha0, model.eta
        log_likelihoods(*told, own, held, model.labels, method, 5, 1)


def work() -> None:
    """A process on the sanitized build: reads groups from the standard input, says what becomes of each case."""
    import splitmerge_cli._kernels as kernels

    file = Path(kernels.__file__)
    if LIBRARY not in file.parents or b"__asan_" not in file.read_bytes():
        raise SystemExit(f"{file}: expected a sanitized module in {LIBRARY}")
    # what the samplers print is nobody's answer
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        asked = json.loads(line)
        group = Group(**asked["group"])
        skip = set(asked["skip"])
        for case in group.cases(asked["iterations"]):
            name = str(case)
            if name in skip or not all(word in name for word in asked["only"]):
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


# ------------------------------------------------------------------------------------------------------- all of them


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


FINDING = re.compile(r"(ERROR: AddressSanitizer.*|.*runtime error:.*|.*Assertion.*|Fatal Python error.*)")
PLACE = re.compile(r"^\s+#\d+ 0x[0-9a-f]+ in (\S+) .*?(splitmerge_cli/\S+)", re.MULTILINE)


def explained(report: str, status: int | None) -> str:
    """A line on what ended a process, from what it wrote."""
    found, places = FINDING.search(report), PLACE.findall(report)
    what = found[1].strip() if found else f"ended with status {status}"
    return what + "".join(f" < {name} ({where})" for name, where in places[:3])


@dataclass
class Tally:
    """What came out, shared by the threads."""

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

    def note(self, name: str, left: int) -> None:
        """Say how far the run is."""
        with self.lock:
            seconds = time.monotonic() - self.began
            said = f"{self.counts['clean']} clean, {len(self.findings)} findings, {left} groups left: {name}"
            print(f"{seconds:6.0f} s  {said}", flush=True)


class Worker:
    """A process that runs groups, started anew after a finding."""

    def __init__(self, settings: argparse.Namespace, env: Mapping[str, str], tally: Tally) -> None:
        self.settings, self.env, self.tally = settings, env, tally
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> subprocess.Popen[str]:
        """The process, alive."""
        if self.process is None:
            number, path = tempfile.mkstemp(".txt", dir=REPORTS)
            self.report = Path(path)
            command = [sys.executable, __file__, "--worker"]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": number}
            self.process = subprocess.Popen(command, env=self.env, cwd=FOLDER, text=True, bufsize=1, **pipes)
            os.close(number)
        return self.process

    def ended(self, name: str) -> None:
        """Book what ended the process."""
        assert self.process is not None
        status = self.process.wait()
        report = self.report.read_text(encoding="utf-8", errors="replace")
        self.tally.add("finding", name, f"{explained(report, status)} ({self.report.name})")
        self.process = None

    def group(self, group: Group) -> None:
        """All cases of a group."""
        done: list[str] = []
        for _ in range(ENOUGH):
            process = self.start()
            assert process.stdin is not None and process.stdout is not None
            asked = {"group": group.__dict__, "skip": done, "only": self.settings.only}
            process.stdin.write(json.dumps(asked | {"iterations": self.settings.iterations}) + "\n")
            name = ""
            while True:
                watch = threading.Timer(PATIENCE, process.kill)
                watch.start()
                line = process.stdout.readline()
                watch.cancel()
                outcome, _, said = line.strip().partition(" ")
                if outcome == "end":
                    return
                if outcome == "run":
                    name = said
                    done.append(name)
                elif outcome == "failed":
                    self.tally.add("finding", name, said)
                elif outcome:
                    self.tally.add(outcome, name)
                else:
                    self.ended(name or f"{group} (before the first)")
                    break
        self.tally.add("finding", f"{group} (the rest)", f"left out after {ENOUGH} findings")

    def close(self) -> None:
        """End the process."""
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
            self.process.wait()
            self.report.unlink()


def unit_tests() -> list[Path]:
    """Files of unit tests of the compiled modules."""
    compiled = {p.stem for p in (ROOT / "splitmerge_cli").rglob("*.pyx")}
    names = re.compile(r"from splitmerge_cli\.(?:models|samplers)?\.?(\w+) import")
    return [p for p in sorted((ROOT / "tests" / "unit").glob("*.py")) if compiled & set(names.findall(p.read_text()))]


def test(file: Path, env: Mapping[str, str], tally: Tally) -> None:
    """Run a file of tests on the sanitized build."""
    name = file.relative_to(ROOT).as_posix()
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", str(file)]
    try:
        done = subprocess.run(command, env=env, cwd=FOLDER, capture_output=True, text=True, timeout=6 * PATIENCE)
    except subprocess.TimeoutExpired:
        tally.add("finding", name, f"no end after {6 * PATIENCE} s")
        return
    if done.returncode == 0:
        tally.add("tests", name)
    elif done.returncode == 1:
        failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        tally.add("finding", name, "; ".join(failures))
    else:
        tally.add("finding", name, explained(done.stderr + done.stdout, done.returncode))


def run_all(settings: argparse.Namespace) -> int:
    """Build, run, report; the exit status."""
    if not settings.no_build:
        build()
    env = environment()
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    tally = Tally(Counter(), [], threading.Lock(), time.monotonic())
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    tasks: list[Group | Path] = [*groups(), *unit_tests()]
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
        print(f"whole reports in {REPORTS}:")
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
        help="of each combination, those of all its chains; half of them on the edge cases",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at the same time")
    parser.add_argument("--no-build", action="store_true", help="use the sanitized build that is there")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    settings = parser.parse_args()
    if settings.worker:
        work()
        return 0
    return run_all(settings)


if __name__ == "__main__":
    sys.exit(main())
