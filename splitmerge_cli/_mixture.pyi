import re

from splitmerge_cli._kernels import Model

PRIORS: tuple[str, ...]
GAMMA: re.Pattern[str]

def gamma_prior(text: str, key: str = ...) -> tuple[float, float]: ...
def quantum(widest: float, N: int, terms: int = ...) -> float: ...

class Mixture(Model):
    @property
    def prior(self) -> str: ...
