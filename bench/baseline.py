"""The plain C of ``*.c``: compiled with the system's compiler, loaded with ctypes, given a model's state."""

import ctypes
import math
import os
import platform
import shlex
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.tables.models.gamma_poisson import GammaPoisson, find_rates
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tables.models.mixed_cells import cuts_of
from splitmerge_cli.kinds.tables.models.ordered_levels import tables_of_levels
from splitmerge_cli.kinds.tables.models.overdispersed_multinomial import OverdispersedMultinomial
from splitmerge_cli.kinds.tables.models.selected_columns import SelectedColumns
from splitmerge_cli.kinds.tokens.emm import EMM

HERE = Path(__file__).parent
NUMPY = Path(np.__file__).parent
I64 = ctypes.c_int64
COLUMNS = 12  # of a row of the trace that emm_run writes


def compiler() -> list[str]:
    """The system's C compiler, as Python was built with, or ``$CC``."""
    return shlex.split(os.environ.get("CC") or (sysconfig.get_config_var("CC") or "cc").split()[0])


def build(source: str) -> ctypes.CDLL:
    """Compile one of the C files if it changed, and load it.

    Raises
    ------
    OSError
        There is no compiler.
    subprocess.CalledProcessError
        It failed.
    """
    target = HERE / "build" / f"{source}.so"
    files = [HERE / f"{source}.c", *HERE.glob("*.h")]
    march = ["-march=native"] if platform.machine().lower() in ("x86_64", "amd64", "i686") else []
    if not target.exists() or target.stat().st_mtime < max(f.stat().st_mtime for f in files):
        target.parent.mkdir(exist_ok=True)
        command = [*compiler(), "-O3", *march, "-fno-math-errno", "-fPIC", "-shared", f"-I{np.get_include()}"]
        command += ["-o", str(target), str(files[0]), f"-L{NUMPY / 'random' / 'lib'}", "-lnpyrandom", "-lm"]
        subprocess.run(command, check=True)
    library = ctypes.CDLL(str(target))
    library.state_bytes.restype = library.weights.restype = I64
    return library


class Baseline:
    """A chain in plain C, in the same state as a model and at the same point of the random stream.

    A subclass names the C file and says what C's state begins with.

    Parameters
    ----------
    data : Dataset
    model : Model
        Its parameters and labels are taken over, its memory is not.
    rng : Rng
    """

    source = ""

    def __init__(self, data: Dataset, model: Any, rng: Rng) -> None:
        self.library = build(self.source)
        arrays = self.initial_state(data, model)
        self.room = int(arrays["cap"])
        stream = rng.state["state"]
        halves = [half for value in (stream["state"], stream["inc"]) for half in (value >> 64, value & (2**64 - 1))]
        arrays["rng"] = np.array(halves, dtype=np.uint64)
        self.kept = {name: np.ascontiguousarray(v) for name, v in arrays.items() if isinstance(v, np.ndarray)}
        self.memory = ctypes.create_string_buffer(self.library.state_bytes() + 64)
        start = -ctypes.addressof(self.memory) % 64
        self.state = ctypes.byref(self.memory, start)
        fields = [(name, self.field(name, value)) for name, value in arrays.items()]
        layout = type("Given", (ctypes.Structure,), {"_fields_": fields})
        begin = layout.from_buffer(self.memory, start)
        for name, value in arrays.items():
            if name == "rng":
                begin.rng[:] = halves
            else:
                setattr(begin, name, self.kept[name].ctypes.data if name in self.kept else value)
        self.library.prepare(self.state)

    @staticmethod
    def field(name: str, value: Any) -> Any:
        """The C type of what is given under this name."""
        if name == "rng":
            return ctypes.c_uint64 * 4
        if value is None or isinstance(value, np.ndarray):
            return ctypes.c_void_p
        return ctypes.c_double if isinstance(value, float) else I64

    def initial_state(self, data: Dataset, model: Any) -> dict[str, Any]:
        """The part of C's state that the caller fills in, in the order of the C file, ``rng`` left out: int, float,
        array or None (no array)."""
        raise NotImplementedError

    def call(self, name: str, *args: Any) -> None:
        """Call one of C's functions on this state; numbers are passed as 64-bit integers, arrays by address."""
        passed = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else I64(a) for a in args]
        getattr(self.library, name)(self.state, *passed)

    @property
    def labels(self) -> NDArray[np.int32]:
        """ndarray of int32, shape (N,): cluster of each item."""
        return self.kept["z"]

    def conditional(self, i: int) -> NDArray[np.float64]:
        """Gibbs probabilities of item i: shape (options,)."""
        w = np.zeros(self.room)
        m = self.library.weights(self.state, I64(i), ctypes.c_void_p(w.ctypes.data))
        return w[:m] / w[:m].sum()


class Counts(Baseline):
    """Plain C for ``EMM`` or a ``Bernoulli``."""

    source = "counts"

    def initial_state(self, data: Dataset, model: Any) -> dict[str, Any]:
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
            alloc = np.concatenate([[model.prior.concentration], n[1:]])
            prior_size = np.concatenate([[0.0], gammaln(n[1:])])
            prior_K = np.arange(cap) * math.log(model.prior.concentration)
        if R > 256:
            raise ValueError(f"the baseline's counts are numbered in 8 bits, {R} are too many")
        truth = np.unique(np.asarray(data.truth), return_inverse=True)[1].astype(np.int32)
        return {
            **{"N": N, "D": D, "R": R, "K": model.K, "cap": cap},
            "index": index.astype(np.uint8),
            "beta": np.resize(betas, R),
            "alloc": alloc.astype(float),
            "power": (n + total) ** -float(D),
            "rise": np.stack([gammaln(n + b) - gammaln(b) for b in betas]),
            "rise_all": D * (gammaln(n + total) - gammaln(total)),
            "prior_size": prior_size,
            "prior_K": prior_K,
            "truth": truth,
            "nlogn": n * np.log(np.maximum(n, 1)),
            "T": int(truth.max()) + 1,
            "z": model.labels,
        }


class OfLines(Baseline):
    """Plain C for ``Lines`` with known noise."""

    source = "lines"

    def initial_state(self, data: Dataset, model: Any) -> dict[str, Any]:
        cap = model.N + 16
        theta = None
        if not model.conjugate:
            theta = np.zeros((cap, 2))
            theta[: model.K] = model.parameters
        return {
            **{"N": model.N, "K": model.K, "cap": cap, "concentration": float(model.prior.concentration)},
            **{"sigma0": float(model.sigma0), "sigma1": float(model.sigma1), "beta": 0.1},
            "xy": np.asarray(data.values, dtype=float),
            "log_gamma": log_gamma(model.N),
            "theta": theta,
            "z": model.labels,
        }


def jointly_normal(values: NDArray[Any], model: Any) -> dict[str, Any]:
    """Cells and constants of jointly normal columns, for ``full.h``; missing cells as the model has them at present."""
    x = np.array(values, dtype=float)
    N, D = x.shape
    absent = np.isnan(x)
    m0, b0 = np.nanmean(x, axis=0), 0.1 * np.nanvar(x, axis=0)
    if absent.any():
        middle = np.nanmin(x, axis=0) / 2 + np.nanmax(x, axis=0) / 2
        x[absent] = model.parameters[:, 0] + middle[np.nonzero(absent)[1]]
    kappa, a = model.kappa0 + np.arange(N + 2), model.a0 + 0.5 * np.arange(N + 2)
    log_c = -0.5 * D * np.log(np.pi) + 0.5 * D * np.log(kappa / (kappa + 1)) + gammaln(a + 0.5 * D) - gammaln(a)
    gap = np.append(0, np.cumsum(absent.sum(axis=1)))
    return {
        **{"x": x, "m0": m0, "b0": b0, "log_c": log_c},
        **{"gap": gap.astype(np.int64), "column": np.append(np.nonzero(absent)[1], 0).astype(np.int32)},
    }


class OfGaussian(Baseline):
    """Plain C for ``Gaussian`` with covariance diag, or full, with missing cells, weights of rows or neither;
    of selected columns those that are in."""

    source = "gaussian"

    def initial_state(self, data: Dataset, model: Any) -> dict[str, Any]:
        x = np.asarray(data.values, dtype=float)
        if isinstance(model, SelectedColumns):
            x = np.ascontiguousarray(x[:, model.parameters[:, 0] == 1.0])
            usual = {option.name: option.default for option in Gaussian.OPTIONS}
            full, weights, kappa0, a0 = False, np.ones(len(x)), float(usual["kappa0"]), float(usual["a0"])
        else:
            full, weights = model.covariance == "full", model.row_weights
            kappa0, a0 = float(model.kappa0), float(model.a0)
        N, D = x.shape
        kappa = kappa0 + np.arange(N + 2)
        a = a0 + 0.5 * np.arange(N + 2)
        log_c = D * (gammaln(a + 0.5) - gammaln(a) + 0.5 * (np.log(kappa / (kappa + 1)) - np.log(2 * np.pi)))
        of_points = {"x": x, "m0": x.mean(axis=0), "b0": 0.1 * x.var(axis=0), "log_c": log_c, "weight": None}
        of_points |= jointly_normal(x, model) if full else {"gap": None, "column": None}
        if (weights != 1.0).any():
            # the points' own take this place
            shrunk = 0.5 * D * np.log(kappa / (kappa + 1))
            of_points |= {"log_c": of_points["log_c"] - shrunk, "weight": weights}
        return {
            **{"N": N, "D": D, "K": model.K, "cap": 256, "full": int(full)},
            **{"concentration": float(model.prior.concentration), "kappa0": kappa0, "a0": a0},
            **of_points,
            "z": model.labels,
        }


class OfBundles(Baseline):
    """Plain C for `Bundles` of ``Gaussian`` with covariance diag, whose prior counts rows."""

    source = "bundles"

    def initial_state(self, data: Dataset, model: Any) -> dict[str, Any]:
        assert data.bundles is not None
        bundles, x = data.bundles, np.asarray(data.with_repeats.values, dtype=float)
        (_M, D), n = x.shape, np.arange(len(x) + 2)
        off, b0 = x - x.mean(axis=0), 0.1 * x.var(axis=0)
        sums = np.zeros((bundles.n_items, 2 * D))
        np.add.at(sums, np.repeat(bundles.items, bundles.counts), np.hstack([off, off**2]))
        kappa0, a0 = float(model.rows.kappa0), float(model.rows.a0)
        log_n = gammaln(a0 + 0.5 * n) - gammaln(a0) - 0.5 * np.log1p(n / kappa0) - 0.5 * n * np.log(2.0 * np.pi)
        log_n = D * log_n + a0 * np.log(b0).sum() + gammaln(np.maximum(n, 1))
        return {
            **{"N": bundles.n_items, "D": D, "K": model.K, "cap": 256},
            **{"concentration": float(model.prior.concentration), "kappa0": kappa0, "a0": a0},
            **{"item": sums, "b0": b0, "log_n": log_n, "mass": bundles.mass, "z": model.labels},
        }


OUTCOME = (12, 10, 11, 7)
"""Outcome and effects of a table with these: columns from 1."""


class OfMixed(Baseline):
    """Plain C for ``Mixed`` with the default rates, m0 and b0; weights of rows with independent real columns; `OUTCOME`
    where it has an outcome."""

    source = "mixed"

    def initial_state(self, data: Dataset, model: Any) -> dict[str, Any]:
        assert data.types is not None
        x, kinds = np.asarray(data.values, dtype=float), [column.type for column in data.types]
        N, missing, outcome = len(x), np.isnan(x), {"regressed": 0}
        outcome |= dict.fromkeys(("design", "design_m0", "design_b0", "outcome_log_c"))
        if model.regression is not None:
            cells = model.regression.data
            shapes = model.a0 + 0.5 * np.arange(N + 2)
            outcome["regressed"], outcome["design"] = cells.D, np.array(cells.x).reshape(N, cells.D)
            outcome["design_m0"], outcome["design_b0"] = cells.m0, 0.5 * cells.ridge
            outcome["outcome_log_c"] = gammaln(shapes + 0.5) - gammaln(shapes) - 0.5 * np.log(2 * np.pi)
            kinds = ["regressed" if j + 1 in OUTCOME else kind for j, kind in enumerate(kinds)]
        discrete = [j for j, kind in enumerate(kinds) if kind in ("binary", "categorical")]
        ordinal = [j for j, kind in enumerate(kinds) if kind == "ordinal"]
        discrete += ordinal
        cuts = cuts_of(x, kinds, [len(column.levels) for column in data.types], None)
        grid = tables_of_levels(cuts, 1.0) if ordinal else {}
        counts = [j for j, kind in enumerate(kinds) if kind == "count"]
        reals = sorted((j for j, kind in enumerate(kinds) if kind == "real"), key=lambda j: bool(missing[:, j].any()))
        together = sorted(reals) if model.covariance == "full" else []
        reals = [] if together else reals
        joint = jointly_normal(x[:, together], model) if together else {}
        pseudo = [
            [model.beta0, model.beta1] if kinds[j] == "binary" else [model.alpha] * len(data.types[j].levels)
            for j in discrete
        ]
        first = np.cumsum([0, *map(len, pseudo)])
        a = model.a0 + 0.5 * np.arange(N + 2)
        kappa, has_weights = model.kappa0 + np.arange(N + 2), bool((model.row_weights != 1.0).any())
        shrunk = np.ones(N + 2) if has_weights else kappa / (kappa + 1)
        largest = int(np.nansum(x[:, counts], axis=0).max(initial=0.0) + np.nanmax(x[:, counts], initial=0.0))
        code = np.where(missing[:, discrete], -1, np.nan_to_num(x[:, discrete]) + first[:-1])
        return {
            **{"N": N, "K": model.K, "cap": 256, "C": len(discrete), "P": len(counts), "R": len(reals)},
            **{"complete": 0 if has_weights else int((~missing[:, reals].any(axis=0)).sum())},
            "levels": int(first[-1]),
            **{"joint": len(together), "ordinal": len(ordinal), "points": len(grid.get("log_prior", ()))},
            **{"concentration": float(model.prior.concentration), "shape": float(model.shape)},
            **{"kappa0": float(model.kappa0), "a0": float(model.a0)},
            "code": code.astype(np.int32),
            "tally": np.where(missing[:, counts], -1, np.nan_to_num(x[:, counts])).astype(np.int32),
            "x": x[:, reals],
            "first": first.astype(np.int32),
            "pseudo": np.concatenate([*pseudo, np.zeros(1)]),
            "total": np.array([sum(levels) for levels in pseudo] + [0.0]),
            "rate": model.shape / np.nanmean(x[:, counts], axis=0),
            "m0": np.nanmean(x[:, reals], axis=0),
            "b0": 0.1 * np.nanvar(x[:, reals], axis=0),
            "weight": model.row_weights if has_weights else None,
            **{key: grid.get(key) for key in ("log_prior", "log_q", "q")},
            "inverse": 1.0 / grid["q"] if ordinal else None,
            "log_gamma": gammaln(model.shape + np.arange(largest + 1)),
            "log_c": gammaln(a + 0.5) - gammaln(a) - 0.5 * np.log(2 * np.pi) + 0.5 * np.log(shrunk),
            **{f"joint_{key}": joint.get(key) for key in ("x", "m0", "b0", "log_c")},
            **{key: joint.get(key) for key in ("gap", "column")},
            **outcome,
            "z": model.labels,
        }


class OfCountVectors(Baseline):
    """Plain C for ``Multinomial``, ``OverdispersedMultinomial`` or ``GammaPoisson`` with the default rates."""

    source = "count_vectors"

    def initial_state(self, data: Dataset, model: Any) -> dict[str, Any]:
        x, poisson = np.asarray(data.values), isinstance(model, GammaPoisson)
        N, D = x.shape
        row, column = np.nonzero(x)
        pseudo_count = model.shape if poisson else model.alpha
        rise_all = growth = step = exposure = None
        values, precision = x[row, column], {"precision_shape": 0.0, "precision_rate": 0.0}
        if isinstance(model, OverdispersedMultinomial):
            # tables in the place of counts
            state, precision = model.parameters[:, 0], {"precision_shape": model.shape, "precision_rate": model.rate}
            exposure, values = state[:N], state[2 * N :].astype(np.int64)
        if poisson:
            rates = np.array(find_rates(x, model.shape, None)) + np.arange(N + 2)[:, None]
            growth, step = np.log(rates), np.log1p(1.0 / rates)
        else:
            rise_all = log_rises(D * pseudo_count, values.sum())
            rise_all -= 0.0 if exposure is None else log_rises(model.shape, values.sum())
        return {
            **{"N": N, "K": model.K, "cap": 256, "D": D, "poisson": int(poisson)},
            **{"concentration": float(model.prior.concentration), "shape": float(pseudo_count)},
            **precision,
            "start": np.searchsorted(row, np.arange(N + 1)).astype(np.int64),
            "column": column.astype(np.int32),
            "value": values.astype(np.int32),
            "rise": log_rises(pseudo_count, x.sum(axis=0).max()),
            **{"rise_all": rise_all, "exposure": exposure},
            "growth": growth,
            "step": step,
            "z": model.labels,
        }


class OfIRM(Baseline):
    """Plain C for ``IRM``."""

    source = "irm"

    def initial_state(self, data: Dataset, model: Any) -> dict[str, Any]:
        m = np.arange(model.N * (model.N + 1) // 2 + model.N + 2)
        beta1, beta0 = model.beta1, model.beta0
        rise = {"edge": beta1, "gap": beta0, "pair": beta1 + beta0}
        return {
            **{"N": model.N, "K": model.K, "cap": 256, "concentration": float(model.prior.concentration)},
            "start": data.values.indptr.astype(np.int32),
            "neighbour": data.values.indices.astype(np.int32),
            **{name: gammaln(m + b) - gammaln(b) for name, b in rise.items()},
            "z": model.labels,
        }


class OfRelations(Baseline):
    """Plain C for directed counts of ``IRM``."""

    source = "relations"

    def initial_state(self, data: Dataset, model: Any) -> dict[str, Any]:
        assert data.relations is not None
        (layer,), N = data.relations.layers, model.N
        assert layer.value is not None
        node = np.concatenate([layer.ends[:, 0], layer.ends[:, 1]])
        order = np.argsort(node, kind="stable")
        s = np.arange(int(layer.value.sum()) + 2)
        return {
            **{"N": N, "K": model.K, "cap": 256, "concentration": float(model.prior.concentration)},
            **{"shape": 1.0, "rate": N * (N - 1) / float(layer.value.sum())},
            "start": np.concatenate([[0], np.cumsum(np.bincount(node, minlength=N))]).astype(np.int64),
            "neighbour": np.concatenate([layer.ends[:, 1], layer.ends[:, 0]])[order],
            "into": np.repeat([0, 1], len(layer.ends)).astype(np.int32)[order],
            "count": np.tile(layer.value.astype(np.int64), 2)[order],
            "gammas": gammaln(s + 1.0),
            "z": model.labels,
        }


class OfRecords(Baseline):
    """Plain C for ``Records``."""

    source = "records"

    def initial_state(self, data: Dataset, model: Any) -> dict[str, Any]:
        tables, F = model.data, model.F
        widths, near_widths = np.diff(tables.begin), np.diff(tables.near_begin)
        of_fields = model.recorded_parameters[:, 0]
        theta, slips = (np.repeat(values, widths) for values in np.split(of_fields, 2))
        phi, norm = tables.share, tables.norm
        far = np.where(norm > 0.0, 1.0 - slips, 1.0)
        same = (1.0 - theta) / (theta * phi) + far
        # a lone value: its true value is itself, one near it, or any other
        x, y = np.repeat(np.arange(len(phi)), near_widths), tables.near[: tables.near_begin[-1]]
        of_near = phi[y] * (slips[x] * tables.alike[: len(y)] * norm[y] / phi[x] + far[x])
        left = 1.0 - phi - np.bincount(x, phi[y], len(phi))
        total = phi * same + np.bincount(x, of_near, len(phi)) + left * far
        return {
            **{"N": model.N, "K": model.K, "cap": 2 * model.N, "F": F},
            "concentration": float(model.prior.concentration),
            "value": tables.value.reshape(model.N, F),
            **{"phi": phi, "norm": norm, "near_begin": tables.near_begin, "near": tables.near, "alike": tables.alike},
            "log_base": np.log(theta * phi),
            **{"same": same, "alone": np.log(theta * phi * total), "far": far[tables.begin[:-1]]},
            "lam": of_fields[F:],
            "z": model.labels,
        }


class OfTopics(Baseline):
    """Plain C for ``HDP``, whose topics and weights stay as they are."""

    source = "topics"

    def initial_state(self, data: Dataset, model: Any) -> dict[str, Any]:
        tokens, K = data.values.tokens, model.K
        cap = -(-K // 8) * 8
        return {
            **{"N": model.N, "J": model.J, "V": model.V, "K": K, "cap": cap},
            **{"eta": float(model.eta), "mass": float(model.V * model.eta)},
            "word": tokens.words,
            "first": tokens.starts,
            "prior": np.concatenate([model.alpha0 * model.weights[:K], np.zeros(cap - K)]),
            "z": model.labels,
        }

    def release(self) -> None:
        """Free its counts."""
        self.library.release(self.state)


def log_rises(a: float, n: int) -> NDArray[np.float64]:
    """log of the rising factorials of a, of 0 to n factors."""
    return np.concatenate([[0.0], np.cumsum(np.log(a + np.arange(n)))])


def log_gamma(N: int) -> NDArray[np.float64]:
    """log Gamma(n), n = 0 .. N + 1; 0 at 0."""
    return np.concatenate([[0.0], gammaln(np.arange(1, N + 2))])


def log_prior_K(model: Any) -> NDArray[np.float64]:
    """log P(K) - N log K and how the as_printed target counts labels, K = 1 .. kmax, of an EMM with default options."""
    default = {option.name: option.default for option in EMM.OPTIONS}
    K = np.arange(1, model.kmax + 1)
    log_p = -np.log(K) - (np.log(K) - default["mu"]) ** 2 / (2 * default["sigma"] ** 2)
    distribution = K * math.log(2) - gammaln(K + 1)
    return log_p - np.logaddexp.reduce(log_p) - model.N * np.log(K) + distribution


def compiler_version() -> str:
    """First line of what the compiler says of itself."""
    return subprocess.run([*compiler(), "--version"], capture_output=True, text=True, check=False).stdout.split("\n")[0]
