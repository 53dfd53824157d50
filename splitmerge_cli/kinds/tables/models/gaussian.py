"""The mixture of normal distributions that users name: which class reads which points is decided here, and only here.

covariance   dense                 with missing cells    sparse
diag         DiagonalGaussian      DiagonalGaussian      SparseGaussian
  select     SelectedColumns       SelectedColumns       --
iso          IsotropicGaussian     --                    SparseGaussian
full         FullGaussian          FullGaussian          --

With ``noise`` a `Background` holds one of these: DiagonalGaussian, IsotropicGaussian, or FullGaussian without missing
cells.
"""

from typing import Any, ClassVar

import numpy as np

from splitmerge_cli.core.capabilities import Noise
from splitmerge_cli.core.checks import Columns, Rows
from splitmerge_cli.data.values import is_sparse
from splitmerge_cli.kinds.tables.models import normal, real_columns, sparse_gaussian
from splitmerge_cli.kinds.tables.models.background import add_to_points
from splitmerge_cli.kinds.tables.models.dense_gaussian import DenseGaussian
from splitmerge_cli.kinds.tables.models.gaussian_full import FullGaussian
from splitmerge_cli.kinds.tables.models.gaussian_independent import (
    DenseParameters,
    DensePlugIn,
    DenseShards,
    DiagonalGaussian,
    IsotropicGaussian,
)
from splitmerge_cli.kinds.tables.models.mixed_cells import with_moments
from splitmerge_cli.kinds.tables.models.selected_columns import SelectedColumns
from splitmerge_cli.kinds.tables.simulated import simulate_with_noise

DENSE = {cls.SHAPE: cls for cls in (DiagonalGaussian, IsotropicGaussian, FullGaussian)}
# for the calibration: a prior that does not depend on the data, columns that are not recorded to a resolution
_FIXED: dict[str, Any] = {"concentration": "gamma(2,2)", "m0": 0, "b0": 1, "resolution": 0}


_COVARIANCE = next(option for option in DenseGaussian.OPTIONS if option.name == "covariance")


def _covariance(options: dict[str, Any]) -> Any:
    covariance = options.get("covariance", _COVARIANCE.default)
    return covariance if covariance in tuple(DENSE) else _COVARIANCE.read(covariance, "model")


class GaussianShards(DenseShards):
    """Rows in shards."""

    @classmethod
    def build_shard(cls, values: Any, columns: Columns, **params: Any) -> Any:
        # nobody asks a shard for the prior
        options = {key: value for key, value in params.items() if key == "covariance"}
        return Gaussian(Rows(values, len(values), columns), **options)

    @classmethod
    def build_whole(cls, columns: Columns, packed: bytes, **params: Any) -> Any:
        D, total, covariance = len(columns.low), columns.rows, _covariance(params)
        if covariance == "diag":
            # columns may lack cells
            whole = with_moments(columns.with_types(["real"] * D), bytes(packed)).with_types(())
            return Gaussian(Rows(np.empty((0, D)), total, whole), **params)
        units = real_columns.units_of(real_columns.moments_of_columns(columns)[4], total, covariance)
        words = np.frombuffer(bytes(packed), dtype=np.int64).tolist()
        n_squares = 1 if covariance == "iso" else D * (D + 1) // 2
        squares = [
            (high << 64) + (low & 0xFFFFFFFFFFFFFFFF)
            for low, high in zip(words[: 2 * n_squares : 2], words[1 : 2 * n_squares : 2], strict=True)
        ]
        sums = words[2 * n_squares : 2 * n_squares + D]
        # whole numbers until the division, so that it does not depend on what the shards are
        if covariance == "iso":
            scatter = D * [(total * squares[0] - sum(v * v for v in sums)) / (D * total**2)]
        else:
            own = [squares[d * (d + 1) // 2 + d] for d in range(D)]
            scatter = [(total * square - v * v) / total**2 for square, v in zip(own, sums, strict=True)]
        mean = np.array([v / total for v in sums]) * units
        whole = columns.with_moments(mean, np.array(scatter) * units**2)
        return Gaussian(Rows(np.empty((0, D)), total, whole), **params)


class Gaussian(normal.Normal):
    """Mixture of normal distributions: of points and a covariance, the class that reads them. `x`: array or sparse
    array, float of shape (N, D); float32 and float64 arrays are kept as they are. `known`: points that are data; those
    behind them are new: only ``log_predictive`` asks for them, however far they are. By default b0 is such that with a0
    = 2 and kappa0 = 0.1 the prior spreads over the data; a column without spread counts as one of variance 1 (iso: of
    their mean).

    Cost: a point against K clusters O(D K), full O(D^2 K), in blocks of eight clusters; a change of a cluster O(D),
    full O(D^3). Memory: 12 bytes a point; a cluster 40 D + 150, full 12 D^2; shared by the models of the same data, the
    data and 8 D + 40 bytes a point; b0 or kappa0 resampled: 32 bytes a point more. Sums are exact
    (docs/decisions/0006). A resampled scale stays between 1e-10 and 1e10 of the variance of its column (full: the lower
    end higher for many points, 5e-11 of the largest scatter). Points of which cells are missing, NaN: ``from_data``.
    """

    READS_MISSING = True
    OPTIONS = DenseGaussian.OPTIONS
    CAPABILITIES = (DenseParameters, GaussianShards, DensePlugIn, Noise)
    simulate = staticmethod(simulate_with_noise)
    CALIBRATION: ClassVar[dict[str, Any]] = {
        "diag": {"options": _FIXED | {"covariance": "diag"}},
        "iso": {"options": _FIXED | {"covariance": "iso"}},
        "full": {"options": _FIXED | {"covariance": "full"}},
        "diag, mfm": {"options": _FIXED | {"concentration": 1, "prior": "mfm"}},
        "diag, dynamic_mfm": {"options": _FIXED | {"prior": "dynamic_mfm"}, "thin": 4},
        "diag, kappa0": {"options": _FIXED | {"kappa0": "gamma(2,10)"}},
        "diag, b0": {"options": _FIXED | {"b0": "gamma(4,4)"}},
        "diag, resolution": {"options": _FIXED | {"resolution": 0.5}},
        "full, gaps": {"options": _FIXED | {"covariance": "full"}, "gaps": 0.15},
        "full, tails": {"options": _FIXED | {"covariance": "full", "tails": "t"}},
        "diag, noise": {"options": _FIXED | {"covariance": "diag", "noise": 0.3, "box": [-6, 6, -6, 6]}},
        "diag, sparse": {"options": _FIXED | {"covariance": "diag", "resolution": "none"}, "is_sparse": True},
    }

    def __new__(cls, x: Any, known: int | None = None, **options: Any) -> Any:
        if "noise" in options:
            return add_to_points(cls, x, known, options)
        selects = options.pop("select", False)
        if is_sparse(x):
            if selects:
                raise ValueError("model.select=true: the points are sparse; expected false, or dense points")
            return sparse_gaussian.SparseGaussian(x, **options)
        cls = DENSE[_covariance(options)]
        if not selects:
            return cls(x, known, **options)
        if cls is not DiagonalGaussian:
            raise ValueError(f"model.select=true: expected model.covariance=diag, got {options['covariance']}")
        if options.get("tails") == "t":
            raise ValueError("model.select=true: expected model.tails=normal, got t")
        options.pop("tails", None)
        D = np.shape(x.values if isinstance(x, Rows) else x)[-1]
        return SelectedColumns(x, ("real",) * D, known, **options)

    @classmethod
    def from_data(cls, data: Any, **params: Any) -> Any:
        """The model of a Dataset."""
        accepted, reason = cls.accepts(data)
        if not accepted:
            raise ValueError(reason)
        if is_sparse(data.values):
            return super().from_data(data, **params)
        params = real_columns.settle_resolution(data, params)
        covariance = _covariance(params) if data.missing else "full"
        if data.missing and params.get("tails") == "t" and covariance != "diag":
            expected = "model.covariance=diag, model.tails=normal, or a table without missing cells"
            raise ValueError(f"model.tails=t, model.covariance={covariance}: {data.first_missing}; expected {expected}")
        if data.missing and params.get("noise") and covariance == "full":
            expected = "model.covariance=diag, model.noise=0, or a table without missing cells"
            given = f"model.noise={params['noise']:g}, model.covariance=full"
            raise ValueError(f"{given}: {data.first_missing}; expected {expected}")
        if covariance == "iso":
            expected = "a table without missing cells, or model.covariance=diag or full, which read such tables"
            raise ValueError(f"model.covariance={covariance}: {data.first_missing}; expected {expected}")
        return super().from_data(data, **params)

    @classmethod
    def with_new(cls, data: Any, whole: Any, **params: Any) -> Any:
        if is_sparse(whole.values) or params.get("select"):
            return super().with_new(data, whole, **params)
        if whole.missing and params.get("covariance") == "iso":
            return cls.from_data(whole, **params)  # which says where the cell is
        return super().from_data(whole, known=data.N, **real_columns.settle_resolution(data, params))
