"""Data and tables that models share: prepared once, freed with the last model, never out of step with the data."""

import gc
import os
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from compiled import pieces
from scipy.sparse import csr_array
from small_cases import MODELS, TYPES, table

from splitmerge_cli.core.shared import Prepared, as_frozen, freeze, is_frozen, share
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.kinds.documents.hdp import HDP
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tables.models.mixed import Mixed
from splitmerge_cli.kinds.tokens.emm import EMM

N = 2_000
RNG = np.random.default_rng(4)
CLOUD = RNG.normal(size=(N, 5))
GRAPH = csr_array(np.triu(RNG.random((200, 200)) < 0.1, 1))
LEVELS = {"binary": 2, "categorical": 5, "count": 0, "real": 0}
TABLE = table(RNG, N, TYPES)
DATA = {
    "bernoulli": Dataset("x", "binary", RNG.integers(2, size=(N, 5)).astype(np.uint8)),
    "points": Dataset("x", "points", CLOUD),
    "lines": Dataset("x", "points", CLOUD[:, :2].copy()),
    "sparse": Dataset("x", "points", csr_array(CLOUD * (RNG.random(CLOUD.shape) < 0.5))),
    "emm": Dataset("x", "tokens", RNG.integers(4, size=N).astype(np.int32), vocabulary=list("abcd")),
    "mixed": Dataset("x", "mixed", TABLE, types=tuple(ColumnType(t, tuple("abcde")[: LEVELS[t]]) for t in TYPES)),
    "irm": Dataset("x", "graph", csr_array((GRAPH + GRAPH.T).astype(np.uint8))),
}
BUILD = {
    "bernoulli": lambda: Bernoulli.from_data(DATA["bernoulli"]),
    "bernoulli-uniform": lambda: Bernoulli.from_data(DATA["bernoulli"], prior="uniform"),
    "bernoulli-gamma": lambda: Bernoulli.from_data(DATA["bernoulli"], concentration="gamma(2,1)"),
    "gaussian-diag": lambda: Gaussian.from_data(DATA["points"]),
    "gaussian-full": lambda: Gaussian.from_data(DATA["points"], covariance="full", b0=[1.0, 2.0, 1.0, 1.0, 3.0]),
    "sparse-diag": lambda: Gaussian.from_data(DATA["sparse"]),
    "sparse-iso": lambda: Gaussian.from_data(DATA["sparse"], covariance="iso"),
    "lines": lambda: Lines.from_data(DATA["lines"]),
    "lines-nig": lambda: Lines.from_data(DATA["lines"], noise="nig"),
    "emm": lambda: EMM.from_data(DATA["emm"]),
    "mixed": lambda: Mixed.from_data(DATA["mixed"]),
    "mixed-rates": lambda: Mixed.from_data(DATA["mixed"], rate=[1.0, 0.5], shape=2.0, prior="uniform"),
    "irm": lambda: IRM.from_data(DATA["irm"]),
}


def own_bytes(model):
    """Bytes of a model's prepared arrays, which no other array of the data has."""
    return sum(part.nbytes for part in set(model.shared))


@pytest.mark.parametrize("name", BUILD)
def test_four_models_share_one_object(name):
    models = [BUILD[name]() for _ in range(4)]
    first = models[0].shared
    assert first and all(isinstance(part, Prepared) for part in first)
    assert own_bytes(models[0]) >= 8 * models[0].N
    for other in models[1:]:
        assert len(other.shared) == len(first)
        assert all(a is b for a, b in zip(first, other.shared, strict=True))
    for part in first:
        assert all(not v.flags.writeable for v in vars(part).values() if isinstance(v, np.ndarray))


@pytest.mark.parametrize("name", BUILD)
def test_models_that_share_are_of_their_own(name):
    """A change of one, of its labels or its concentration, leaves the other as it is."""
    a, b = BUILD[name](), BUILD[name]()
    labels = np.arange(a.N, dtype=np.int32) % 7
    for model in (a, b):
        model.set_labels(labels)
    before, scans = b.log_joint(), [pieces.scan(b, i) for i in range(0, b.N, 97)]
    a.set_labels(np.zeros(a.N, dtype=np.int32))
    a.set_prior_values(dict.fromkeys(a.prior_values, 17.0))
    for i in range(20):
        pieces.move(a, i, a.K)
    assert b.log_joint() == before
    for i, w in zip(range(0, b.N, 97), scans, strict=True):
        np.testing.assert_array_equal(pieces.scan(b, i), w)


@pytest.fixture(scope="module")
def little_to_collect():
    """The collector looks at what is made from here on alone: all that the tests have imported takes it a second."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("name", BUILD)
def test_the_last_model_frees_what_they_shared(name, little_to_collect):
    a, b = BUILD[name](), BUILD[name]()
    held = [weakref.ref(part) for part in a.shared]
    del a
    gc.collect()
    assert all(ref() is not None for ref in held)
    del b
    gc.collect()
    assert all(ref() is None for ref in held)


def test_a_corpus_is_shared_but_for_what_changes():
    words, starts = np.arange(60, dtype=np.int32) % 7, np.arange(0, 61, 10)
    a, b = HDP(words, starts, 7), HDP(words, starts, 7)
    assert a.shared[0] is b.shared[0]
    a.set_labels(np.arange(60) % 3)
    assert b.K == 1


def test_priors_of_the_same_options_share_their_tables():
    x = DATA["bernoulli"]
    a, b = (Bernoulli.from_data(x, concentration=c).prior for c in (1.0, 2.0))
    assert a.shared is b.shared
    assert Bernoulli.from_data(x, prior="uniform").prior.shared is not a.shared


def test_other_options_are_other_tables():
    a, b = (Gaussian.from_data(DATA["points"], kappa0=k) for k in (0.1, 0.2))
    assert not set(a.shared[1:]) & set(b.shared[1:]) - {a.prior.shared}
    a, b = (Gaussian.from_data(DATA["points"], m0=m) for m in (None, 1.0))
    assert a.shared[0] is not b.shared[0]


def test_read_only_data_are_used_as_they_are():
    for name, attribute in (("bernoulli", "x"), ("emm", "token")):
        model = BUILD[name]()
        assert getattr(model.shared[-3 if name == "bernoulli" else -2], attribute) is DATA[name].values
        assert not DATA[name].values.flags.writeable
    word = np.arange(6, dtype=np.int32) % 3
    freeze(word)
    assert HDP(word, np.array([0, 6]), 3).shared[0].word is word


def test_what_may_change_is_copied_and_read_again():
    """An array of the caller's stays writable; what it becomes afterwards is the next model's data alone."""
    x = np.zeros((20, 3), dtype=np.uint8)
    a = Bernoulli(x)
    before = a.log_joint()
    x[:, 1] = 1
    x[0, 0] = 7
    assert a.log_joint() == before
    a.set_labels(np.arange(20) % 4)
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        Bernoulli(x)
    x[0, 0] = 1
    assert Bernoulli(x).statistics()["counts"][0, :, 1].tolist() == [1.0, 20.0, 0.0]
    points = np.random.default_rng(0).normal(size=(30, 2))
    one, again = Gaussian(points), Gaussian(points)
    assert one.shared[0] is again.shared[0]
    points[3] += 1.0
    assert Gaussian(points).shared[0] is not one.shared[0]
    sparse = csr_array(points)
    one, again = (Gaussian.from_data(Dataset("x", "points", sparse)) for _ in range(2))
    sparse.data[5] += 1.0
    assert one.shared[0] is again.shared[0]
    assert Gaussian.from_data(Dataset("x", "points", sparse)).shared[1] is not one.shared[1]


def test_a_mapped_file_is_shared(tmp_path):
    path = tmp_path / "points.npy"
    np.save(path, CLOUD)
    data = Dataset("x", "points", np.load(path, mmap_mode="r"))
    a, b = Gaussian.from_data(data), Gaussian.from_data(data)
    assert a.shared[0] is b.shared[0]
    assert is_frozen(data.values)


def test_threads_that_ask_at_once_get_one_object():
    ready, made = threading.Barrier(8), []

    def make(n):
        made.append(n)
        return {"numbers": np.arange(n)}

    def ask(_):
        ready.wait()
        return share(make, 1000)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert len(set(map(id, found))) == 1
    assert made == [1000]


def test_what_fails_is_asked_again():
    def make(n):
        raise ValueError(str(n))

    for _ in range(2):
        with pytest.raises(ValueError, match="3"):
            share(make, 3)


def test_arguments_that_are_equal_but_not_the_same():
    def make(n):
        return {"n": n}

    held = [share(make, n) for n in (1, 1.0, True, [1, 2], (1, 2), None)]
    assert len({id(h) for h in held}) == 5
    assert share(make, [1, 2]) is held[3] and held[3] is held[4]
    with pytest.raises(AttributeError, match="other"):
        _ = held[0].other


def test_frozen_looks_through_views():
    x = np.arange(6)
    view = x[2:]
    view.flags.writeable = False
    assert not is_frozen(view)
    assert as_frozen(view, view.dtype) is not view
    freeze(view)
    assert is_frozen(view) and is_frozen(x)
    assert as_frozen(view, view.dtype) is view
    assert as_frozen(view, np.float32).dtype == np.float32
    for other in (np.zeros((0, 3)), np.zeros((3, 0)), np.array(1.0), np.array([object()]), np.zeros((4, 4))[:, ::2]):
        assert isinstance(share(lambda a: {"n": a.size}, other), Prepared)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_alone_holds_what_it_reads(name):
    """No other name is left of the data: the model goes on."""
    model = MODELS[name]()
    gc.collect()
    model.set_labels(np.arange(model.N) % 5)
    before = model.log_joint()
    # what had been freed would be written over
    junk = [np.full(n, 255, dtype=np.uint8) for n in range(1, 4000, 7)]
    model.set_labels(np.arange(model.N) % 5)
    assert model.log_joint() == before
    assert junk


FOUR_MODELS = """
import os
import numpy as np
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian

def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

data = Dataset("x", "points", np.random.default_rng(1).standard_normal((200_000, 25)))
start = resident()
models = [Gaussian.from_data(data)]
one = resident() - start
models += [Gaussian.from_data(data) for _ in range(3)]
print(one, resident() - start)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system tells no resident memory")
def test_four_models_take_little_more_than_one():
    """In a process of its own: what other tests have given back would hide what is taken."""
    done = subprocess.run([sys.executable, "-c", FOUR_MODELS], check=True, capture_output=True, text=True)
    one, four = map(int, done.stdout.split())
    n = 200_000
    assert one > 8 * 25 * n
    assert four - 3 * 12 * n < 1.3 * one
