"""The plain C of ``baseline.c``: compiled with the system's compiler, loaded with ctypes, given a model's state."""

import ctypes
import math
import os
import platform
import shlex
import subprocess
import sysconfig
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from splitmerge_cli._kernels import Rng
from splitmerge_cli.data.base import Dataset

HERE = Path(__file__).parent
I64 = ctypes.c_int64
POINTERS = ("index", "beta", "alloc", "power", "rise", "rise_all", "prior_size", "prior_K", "truth", "nlogn")
COLUMNS = 12  # of a row of the trace that emm_run writes


class Given(ctypes.Structure):
    """The part of C's state that the caller fills in; the order is that of ``baseline.c``."""

    _fields_: ClassVar[Any] = [
        *((name, I64) for name in ("N", "D", "R", "K", "cap")),
        *((name, ctypes.c_void_p) for name in POINTERS),
        *(("T", I64), ("z", ctypes.c_void_p), ("rng", ctypes.c_uint64 * 4)),
    ]


def compiler() -> list[str]:
    """The system's C compiler, as Python was built with, or ``$CC``."""
    return shlex.split(os.environ.get("CC") or (sysconfig.get_config_var("CC") or "cc").split()[0])


def build() -> ctypes.CDLL:
    """Compile ``baseline.c`` if it changed, and load it.

    Raises
    ------
    OSError
        There is no compiler.
    subprocess.CalledProcessError
        It failed.
    """
    target = HERE / "build" / "baseline.so"
    source = HERE / "baseline.c"
    march = ["-march=native"] if platform.machine().lower() in ("x86_64", "amd64", "i686") else []
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        target.parent.mkdir(exist_ok=True)
        command = [*compiler(), "-O3", *march, "-fPIC", "-shared", "-o", str(target), str(source), "-lm"]
        subprocess.run(command, check=True)
    library = ctypes.CDLL(str(target))
    library.state_bytes.restype = library.weights.restype = I64
    return library


class Baseline:
    """A chain in plain C, in the same state as a model and at the same point of the random stream.

    Parameters
    ----------
    library : ctypes.CDLL
        From :func:`build`.
    data : Dataset
    model : Model
        An ``EMM`` or a ``Bernoulli``; its parameters and labels are taken over, its memory is not.
    rng : Rng
    """

    def __init__(self, library: ctypes.CDLL, data: Dataset, model: Any, rng: Rng) -> None:
        self.library = library
        N, n = model.N, np.arange(model.N + 2)
        emm = model.allows_empty
        if emm:
            D, R, cap = 1, model.L, model.kmax + 4
            index = data.values
            betas = [model.alpha, model.alpha]
            total = R * model.alpha
            alloc, prior_size = np.ones(N + 2), np.zeros(N + 2)
            prior_K = np.concatenate([np.full(1, -np.inf), log_prior_K(model), np.full(4, -np.inf)])
        else:
            D, R, cap = model.D, 2 * model.D, 256
            index = 2 * np.arange(D) + data.values
            betas = [model.beta0, model.beta1]
            total = sum(betas)
            alloc = np.concatenate([[model.concentration], n[1:]])
            prior_size = np.concatenate([[0.0], gammaln(n[1:])])
            prior_K = np.arange(cap) * math.log(model.concentration)
        if R > 256:
            raise ValueError(f"the baseline's counts are numbered in 8 bits, {R} are too many")
        self.arrays: dict[str, NDArray[Any]] = {
            "index": index.astype(np.uint8),
            "beta": np.resize(betas, R),
            "alloc": alloc.astype(float),
            "power": (n + total) ** -float(D),
            "rise": np.stack([gammaln(n + b) - gammaln(b) for b in betas]),
            "rise_all": D * (gammaln(n + total) - gammaln(total)),
            "prior_size": prior_size,
            "prior_K": prior_K,
            "truth": np.unique(np.asarray(data.truth), return_inverse=True)[1].astype(np.int32),
            "nlogn": n * np.log(np.maximum(n, 1)),
            "z": model.labels,
        }
        self.arrays = {name: np.ascontiguousarray(a) for name, a in self.arrays.items()}
        self.memory = ctypes.create_string_buffer(library.state_bytes() + 64)
        start = -ctypes.addressof(self.memory) % 64
        self.given = Given.from_buffer(self.memory, start)
        self.state = ctypes.byref(self.memory, start)
        self.given.N, self.given.D, self.given.R, self.given.K, self.given.cap = N, D, R, model.K, cap
        self.given.T = int(self.arrays["truth"].max()) + 1
        for name, array in self.arrays.items():
            setattr(self.given, name, array.ctypes.data)
        stream = rng.state["state"]
        for t, value in enumerate((stream["state"], stream["inc"])):
            self.given.rng[2 * t], self.given.rng[2 * t + 1] = value >> 64, value & (2**64 - 1)
        library.prepare(self.state)

    def call(self, name: str, *args: Any) -> None:
        """Call one of C's functions on this state; numbers are passed as 64-bit integers, arrays by address."""
        passed = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else I64(a) for a in args]
        getattr(self.library, name)(self.state, *passed)

    @property
    def labels(self) -> NDArray[np.int32]:
        """ndarray of int32, shape (N,): cluster of each item."""
        return self.arrays["z"]

    def conditional(self, i: int) -> NDArray[np.float64]:
        """Gibbs probabilities of item i: shape (options,)."""
        w = np.zeros(self.given.cap)
        m = self.library.weights(self.state, I64(i), ctypes.c_void_p(w.ctypes.data))
        return w[:m] / w[:m].sum()


def log_prior_K(model: Any) -> NDArray[np.float64]:
    """log P(K) - N log K and the label law of an EMM, K = 1 .. kmax."""
    K = np.arange(1, model.kmax + 1)
    log_p = -np.log(K) - (np.log(K) - model.mu) ** 2 / (2 * model.sigma**2)
    law = np.zeros(model.kmax)
    if model.label_law != "labelled":
        law -= gammaln(K + 1)
    if model.label_law == "literal":
        law += K * math.log(2)
    return log_p - np.logaddexp.reduce(log_p) - model.N * np.log(K) + law


def compiler_version() -> str:
    """First line of what the compiler says of itself."""
    return subprocess.run([*compiler(), "--version"], capture_output=True, text=True, check=False).stdout.split("\n")[0]
