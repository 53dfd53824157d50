"""Fixtures of the small cases, and the share that each group of tests has in a run's time."""

import gc
import importlib
import os
import pickle
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from contextlib import nullcontext, suppress
from importlib import resources
from io import BytesIO
from pathlib import Path, PurePosixPath

import pytest
import typer
from _pytest.assertion import rewrite
from omegaconf import OmegaConf
from quick_run import COSTLY, MADE_OF_OTHERS, RUNS_OF_FIGURES, THINNED
from small_cases import MODELS

from splitmerge_cli.core.capabilities import Coupled
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tokens.emm import EMM
from splitmerge_cli.runs import checks

pytest_plugins = ("command_line", "served")
# whoever started the tests may ignore signals (nohup, a shell's background): the programs that they start would, too
for _number in (signal.SIGHUP, signal.SIGINT):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


@pytest.fixture
def emm() -> EMM:
    return MODELS["emm"]()


@pytest.fixture
def bernoulli() -> Bernoulli:
    return MODELS["bernoulli"]()


@pytest.fixture(params=MODELS)
def build(request):
    """Makes one of the models, the same each time."""
    return MODELS[request.param]


@pytest.fixture
def model(build):
    return build()


@pytest.fixture(params=[name for name, build in MODELS.items() if not isinstance(build(), Coupled)])
def independent(request):
    """One of the models in which the likelihood of a cluster does not depend on the others."""
    return MODELS[request.param]()


@pytest.fixture(scope="session", autouse=True)
def subsets_of_fonts():
    """Figures in .pdf hold the few letters of a font that they use: two thirds of the time that they take. One process
    of the tests draws hundreds, of the same letters."""
    from matplotlib.backends import _backend_pdf_ps as fonts

    made, make = {}, fonts.get_glyphs_subset

    def get_subset(path, glyphs):
        key = str(path), getattr(path, "face_index", 0), frozenset(glyphs)
        if key not in made:
            made[key] = make(path, glyphs).__enter__()
        return nullcontext(made[key])

    fonts.get_glyphs_subset = get_subset
    yield
    fonts.get_glyphs_subset = make


@pytest.fixture(scope="session", autouse=True)
def leave_to_system():
    """Files are left to the system to write to the disk: no test cuts the power."""
    synchronise, os.fsync = os.fsync, lambda file: None
    yield
    os.fsync = synchronise


@pytest.fixture(scope="session", autouse=True)
def few_replications():
    """At the end of a run in the process of the tests the model is checked by a quarter of the replications: they are
    a fifth of the time of tests of commands. Tests of these checks use `all_replications`."""
    draws, checks.DRAWS = checks.DRAWS, checks.DRAWS // 4
    yield
    checks.DRAWS = draws


@pytest.fixture
def coarse_pictures(monkeypatch):
    """Pictures that this process saves have one dot, and as PDF none: saving them takes longer than the rest of many
    commands. `test_figures` and `test_kept` save them as they are; `test_pictures` draws those of runs."""
    from matplotlib.figure import Figure
    from PIL import Image

    Image.new("RGB", (1, 1), "white").save(dot := BytesIO(), "png")

    def save_coarsely(figure, file, *, format, **options):
        content = b"%PDF-1.4\n" if format == "pdf" else dot.getvalue()
        if isinstance(file, BytesIO):
            file.write(content)
        else:
            Path(file).write_bytes(content)

    monkeypatch.setattr(Figure, "savefig", save_coarsely)


@pytest.fixture
def all_replications(monkeypatch):
    monkeypatch.setattr(checks, "DRAWS", checks.check_fit.__defaults__[1])


@pytest.fixture(scope="session", autouse=True)
def parse_once():
    """Files of the package's own configuration, and of Hydra's, are parsed once by each process: a third of the time
    that Hydra takes."""
    parsed, load = {}, OmegaConf.load
    own = tuple(str(resources.files(package)) for package in ("splitmerge_cli.conf", "hydra"))

    def load_parsed(file):
        name = str(getattr(file, "name", file))
        if not name.startswith(own):
            return load(file)
        if name not in parsed:
            parsed[name] = pickle.dumps(load(file))
        return pickle.loads(parsed[name])

    OmegaConf.load = staticmethod(load_parsed)
    yield
    OmegaConf.load = staticmethod(load)


@pytest.fixture(scope="session", autouse=True)
def build_commands_once():
    """The commands are built of their functions once for those that are imported: typer does it twice for each call,
    which is a tenth of the time of tests that call commands."""
    built, build = {}, typer.main.get_group

    def get_group(app):
        key = id(app), len(app.registered_commands), len(app.registered_groups)
        if key not in built:
            # the application is kept, so that no other one gets its number
            built[key] = app, build(app)
        return built[key][1]

    typer.main.get_group = get_group
    yield
    typer.main.get_group = build


# ---- Workers share what a fresh clone has to compile

LIBRARIES = (
    *("scipy.stats", "sklearn.mixture", "nbformat"),
    *("pandas", "networkx", "distributed"),
    *("matplotlib.pyplot", "polars", "arviz_base"),
)
"""Libraries that each worker imports while it collects the tests, and whose bytecode pip has not written."""


def pytest_sessionstart(session):
    """Each worker begins at another place in the lists of libraries and test modules, so that it finds most of their
    bytecode written by the others: all of it would take each worker 20 seconds."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode:
        return
    share = int(worker["workerid"].removeprefix("gw")) / worker["workercount"]
    for library in begin_at(share, LIBRARIES):
        with suppress(ImportError):
            importlib.import_module(library)
    for source in begin_at(share, sorted(Path(__file__).parent.rglob("test_*.py"))):
        compile_test(source, session.config)


def begin_at(share, values):
    first = int(share * len(values))
    return [*values[first:], *values[:first]]


def compile_test(source, config):
    """Write the bytecode of a test module, where pytest looks for it, if it is not there."""
    folder = rewrite.get_cache_dir(source)
    compiled = folder / (source.stem + rewrite.PYC_TAIL)
    if rewrite._read_pyc(source, compiled) is None and rewrite.try_makedirs(folder):
        stat, code = rewrite._rewrite_test(source, config)
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, stat, compiled)


# ---- Which tests run in one worker, one after another

CASES_TOGETHER = 8
"""So many quick cases of a test go to a worker at once: xdist takes longer to hand out a case than many take."""


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook, pytest the markers
def pytest_collection_modifyitems(items):
    """With ``--dist loadgroup``: a group for the tests of a module that use fixtures of the module, of which one may be
    made of another, so that each is made once; and groups of the cases of a test. Of a test with many cases in a file
    of `THINNED`, all but some are slow."""
    cases, thinned = Counter(), {}
    for item in items:
        test, _, case = item.nodeid.partition("[")
        if test not in thinned:
            thinned[test] = next((thin for start, thin in THINNED.items() if test.startswith(start)), (0, 0))
        few, every = thinned[test]
        if every and hasattr(item, "callspec"):
            if cases[test] >= few and cases[test] % every:
                item.add_marker(pytest.mark.slow)
            cases[test] += 1
        if item.nodeid.startswith("tests/exact/") and any(name in case for name in MADE_OF_OTHERS):
            item.add_marker(pytest.mark.slow)
        if RUNS_OF_FIGURES.get(item.nodeid.partition(".py")[0], set()) & set(item.fixturenames):
            item.add_marker(pytest.mark.slow)
        if item.nodeid.removeprefix("tests/").startswith(COSTLY):
            item.add_marker(pytest.mark.slow)
    cases.clear()
    for item in items:
        if any(item.iter_markers("xdist_group")):
            continue
        shared = any(
            found[-1].scope in ("module", "session") and found[-1].baseid.startswith("tests/")
            for found in item._fixtureinfo.name2fixturedefs.values()
        )
        if shared:
            item.add_marker(pytest.mark.xdist_group(item.module.__name__))
        elif hasattr(item, "callspec") and not any(item.iter_markers("slow")):
            test = f"{item.module.__name__}.{item.originalname}"
            item.add_marker(pytest.mark.xdist_group(f"{test}-{cases[test] // CASES_TOGETHER}"))
            cases[test] += 1


def pytest_collection_finish():
    """Fourteen thousand cases stay to the end: the garbage collector need not look at them again and again."""
    gc.collect()
    gc.freeze()


# ---- What each group of tests costs

STARTED = pytest.StashKey[float]()
SPENT: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
"""By folder: tests, processor seconds, seconds on the clock."""


def processor_seconds() -> float:
    """Processor seconds of this process and the ones that it waited for."""
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item):
    item.stash[STARTED] = processor_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With every phase its processor time: attributes of a report come along from the worker."""
    report = yield
    now = processor_seconds()
    report.processor_seconds = now - item.stash.get(STARTED, now)
    item.stash[STARTED] = now
    return report


def pytest_runtest_logreport(report):
    spent = SPENT["/".join(PurePosixPath(report.nodeid.split("::")[0]).parts[:2])]
    spent[0] += report.when == "call"
    spent[1] += getattr(report, "processor_seconds", 0.0)
    spent[2] += report.duration


def pytest_terminal_summary(terminalreporter):
    total = sum(seconds for _, seconds, _ in SPENT.values())
    if total < 1.0:
        return
    terminalreporter.write_sep("-", "processor time by group of tests")
    terminalreporter.write_line(f"{'group':<20}{'tests':>7}{'processor s':>13}{'share':>8}{'clock s':>10}")
    for group, (tests, seconds, clock) in sorted(SPENT.items(), key=lambda entry: -entry[1][1]):
        terminalreporter.write_line(f"{group:<20}{tests:>7.0f}{seconds:>13.1f}{seconds / total:>8.0%}{clock:>10.1f}")
