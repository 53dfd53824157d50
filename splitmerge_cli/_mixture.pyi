import re
from typing import Any

from numpy.typing import ArrayLike

from splitmerge_cli._kernels import Model

PRIORS: tuple[str, ...]
GAMMA: re.Pattern[str]

def gamma_prior(text: str, key: str = ...) -> tuple[float, float]: ...
def quantum(widest: ArrayLike, N: int, terms: int = ...) -> Any: ...

class Mixture(Model):
    @property
    def prior(self) -> str: ...
