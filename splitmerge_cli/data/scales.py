"""Scales of real columns: a column that models read as its logarithm, its square root, or a power, and the way back."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.values import FINITE, MAGNITUDE, place_of
from splitmerge_cli.received import DataError

LOG, SQRT, YEO_JOHNSON = "log", "sqrt", "yeo-johnson"
LEAST_POWER, MOST_POWER = -5.0, 5.0
"""Powers of Yeo and Johnson that are taken: others leave no digits to tell values apart."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """A scale of a column, increasing in its values.

    Attributes
    ----------
    name : {"log", "sqrt", "yeo-johnson"}
        ``log`` and ``sqrt`` take positive numbers, ``yeo-johnson`` any.
    power : float
        Of ``yeo-johnson`` (Yeo and Johnson 2000): 1 leaves a column as it is; lower powers draw in large
        values.

    Examples
    --------
    >>> log = Scale("log")
    >>> y = log.read(np.array([1.0, 10.0]))
    >>> log.undo(y).round(6).tolist(), log.log_jacobian(y).round(3).tolist()
    ([1.0, 10.0], [-0.0, -2.303])
    """

    name: str
    power: float = 1.0

    def __str__(self) -> str:
        return f"{self.name}({self.power:g})" if self.name == YEO_JOHNSON else self.name

    @property
    def option(self) -> str | float:
        """The scale as ``data.scale`` names it."""
        return self.power if self.name == YEO_JOHNSON else self.name

    def read(self, x: Numbers) -> Numbers:
        """Values on this scale; NaN of missing cells, and of values that the scale does not take."""
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.name == LOG:
                return np.log(np.where(x > 0, x, np.nan))
            if self.name == SQRT:
                return np.sqrt(np.where(x > 0, x, np.nan))
        from scipy.special import boxcox1p

        own_power, other = self.power, 2.0 - self.power
        return np.asarray(np.sign(x) * np.where(x >= 0, boxcox1p(np.abs(x), own_power), boxcox1p(np.abs(x), other)))

    def undo(self, y: Numbers) -> Numbers:
        """Values in the units of the data; infinite beyond the ends of the scale."""
        y = np.asarray(y, dtype=np.float64)
        with np.errstate(over="ignore"):
            if self.name == LOG:
                return np.exp(y)
            if self.name == SQRT:
                return np.maximum(y, 0.0) ** 2
        from scipy.special import inv_boxcox1p

        power, size = np.where(y >= 0, self.power, 2.0 - self.power), np.abs(y)
        inside = ~(power * size <= -1.0)
        return np.asarray(np.sign(y) * np.where(inside, inv_boxcox1p(np.where(inside, size, 0.0), power), np.inf))

    def log_jacobian(self, y: Numbers) -> Numbers:
        """Log derivative of the scale by the values in the units of the data, at values on the scale: what is added to
        a log density on the scale to make one in the units of the data."""
        if self.name == LOG:
            return np.asarray(-y)
        if self.name == SQRT:
            return np.asarray(-np.log(2.0 * y))
        x = self.undo(y)
        return np.asarray((self.power - 1.0) * np.sign(x) * np.log1p(np.abs(x)))


def titles(columns: Sequence[str], scales: "Scales | None") -> list[str]:
    """Names of columns for pictures, with their scales.

    Examples
    --------
    >>> titles(["x", "y"], (Scale("log"), None))
    ['x (log scale)', 'y']
    """
    pairs = zip(columns, scales or [None] * len(columns), strict=True)
    return [name if scale is None else f"{name} ({scale} scale)" for name, scale in pairs]


Scales = tuple[Scale | None, ...]
"""The scale of each column; None of a column that is read as it is."""


def on_scales(
    x: Numbers, scales: Scales, columns: Sequence[str] | None = None, positions: Sequence[int] | None = None
) -> Numbers:
    """Rows ``[N, D]`` on the scales of their columns; raises a `DataError` for a value that a scale does not take."""
    scaled = np.array(x, dtype=np.float64)
    for j, scale in enumerate(scales):
        if scale is None:
            continue
        scaled[:, j] = scale.read(x[:, j])
        bad = np.isnan(scaled[:, j]) & ~np.isnan(x[:, j])
        if bad.any():
            i = int(bad.argmax())
            place = place_of(i, j, columns, positions)
            instead = "; data.scale={NAME:0} (yeo-johnson) takes any number" if scale.name in (LOG, SQRT) else ""
            raise DataError(f"{place}: {x[i, j]:g}; expected a positive number, which a {scale} scale takes{instead}")
        large = np.abs(scaled[:, j]) > MAGNITUDE
        if large.any():
            i = int(large.argmax())
            place = place_of(i, j, columns, positions)
            found = f"{x[i, j]:g} is {scaled[i, j]:g} on the {scale} scale"
            raise DataError(f"{place}: {found}; expected {FINITE} (data.scale=none reads the columns as they are)")
    return scaled


def in_units(y: Numbers, scales: Scales) -> Numbers:
    """Rows ``[N, D]`` in the units of the data."""
    return np.column_stack([y[:, j] if scale is None else scale.undo(y[:, j]) for j, scale in enumerate(scales)])


def log_jacobian(y: Numbers, scales: Scales) -> Numbers:
    """Sum over the columns of `Scale.log_jacobian` for each row, ``[N]``; a missing cell adds nothing."""
    parts = [np.nan_to_num(scale.log_jacobian(y[:, j])) for j, scale in enumerate(scales) if scale is not None]
    return np.asarray(np.sum(parts, axis=0)) if parts else np.zeros(len(y))
