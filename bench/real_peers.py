"""Finite mixtures of other programs that choose their number of components by BIC: mclust, StepMix."""

import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 9
"""Components, mclust's own default."""
WIDEST = 20
"""Columns that mclust is given: with 30 its forms of equal axes had not ended after 26 minutes."""
MCLUST = """
library(mclust)
given <- commandArgs(TRUE)
x <- as.matrix(read.csv(given[1], header=FALSE))
new <- as.matrix(read.csv(given[2], header=FALSE))
m <- Mclust(x, verbose=FALSE)
found <- dens(data=new, modelName=m$modelName, parameters=m$parameters, logarithm=TRUE)
write.table(m$classification, given[3], row.names=FALSE, col.names=FALSE)
write.table(found, given[4], row.names=FALSE, col.names=FALSE)
cat(m$modelName)
"""


def has_mclust() -> bool:
    """Whether R is here, and mclust in it."""
    if (program := shutil.which("Rscript")) is None:
        return False
    return subprocess.run([program, "-e", "library(mclust)"], capture_output=True, check=False).returncode == 0


def mclust(x: NDArray[np.float64], _: int) -> tuple[NDArray[Any], Any, str]:
    """mclust with its defaults: 1 to 9 components, 14 forms of their covariances, the best BIC."""

    def ask(new: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any], str]:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, name) for name in ("x.csv", "new.csv", "labels", "densities")]
            for path, rows in zip(paths, (x, new), strict=False):
                np.savetxt(path, rows, delimiter=",", fmt="%.17g")
            command = ["Rscript", "-e", MCLUST, *map(str, paths)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            return np.loadtxt(paths[2], dtype=int), np.loadtxt(paths[3]), done.stdout.strip()

    labels, _, form = ask(x[:2])
    return labels, lambda new: ask(new)[1], form


def has_stepmix() -> bool:
    """Whether StepMix is here."""
    return importlib.util.find_spec("stepmix") is not None


def stepmix(x: NDArray[np.float64], _: int) -> tuple[NDArray[Any], Any, str]:
    """StepMix: 1 to 9 components, full covariances or none, three starts each, the best BIC."""
    from stepmix.stepmix import StepMix

    best, least, form = None, np.inf, ""
    for kind in ("full", "diag"):
        for K in range(1, MOST + 1):
            fit = StepMix(K, measurement=f"gaussian_{kind}", n_init=3, random_state=0, progress_bar=0, verbose=0)
            try:
                fit.fit(x)
            except (ValueError, np.linalg.LinAlgError):  # a component without rows, or of too few
                continue
            if (bic := fit.bic(x)) < least:
                best, least, form = fit, bic, kind
    if best is None:
        raise RuntimeError("StepMix fits nothing")
    chosen = best
    return chosen.predict(x), lambda new: np.array([chosen.score(row[None]) for row in new]), form
