"""Sweeps of tomotopy's hierarchical Dirichlet process compared with ours, if it is installed (``pip install
tomotopy``).

Its state is the Chinese restaurant franchise: a token draws a table of its document or opens one, a table draws its
topic, and every token is weighed against all topics. The posterior of the topics is the same as in our model.
"""

import importlib
from time import process_time
from typing import Any

import numpy as np

from splitmerge_cli.kinds.documents.corpus import Tokens


def module() -> Any:
    """The package, or None."""
    try:
        return importlib.import_module("tomotopy")
    except ImportError:
        return None


class Peer:
    """A chain of its own over the same tokens, one thread, hyper-parameters fixed.

    Parameters
    ----------
    tokens : Tokens
    V : int
        Size of the vocabulary.
    K0 : int
        Topics to begin with.
    gamma, alpha0, eta : float
        As of ``HDP``.
    """

    def __init__(self, tokens: Tokens, V: int, K0: int, gamma: float, alpha0: float, eta: float) -> None:
        tp = module()
        self.model = tp.HDPModel(
            tw=tp.TermWeight.ONE, min_cf=0, initial_k=K0, alpha=alpha0, eta=eta, gamma=gamma, seed=1
        )
        names = np.arange(V).astype(str).tolist()
        for begin, end in zip(tokens.starts[:-1], tokens.starts[1:], strict=True):
            if end > begin:
                self.model.add_doc([names[w] for w in tokens.words[begin:end]])
        self.model.optim_interval = 0

    def seconds(self, sweeps: int = 1) -> float:
        """CPU time of so many sweeps."""
        began = process_time()
        self.model.train(sweeps, workers=1)
        return process_time() - began

    @property
    def K(self) -> int:
        """Topics that have tables."""
        return int(self.model.live_k)
