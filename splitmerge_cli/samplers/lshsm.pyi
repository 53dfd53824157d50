from splitmerge_cli._dyadic import PairMoves
from splitmerge_cli._hashing import Collisions, HashSums, HashTables
from splitmerge_cli._kernels import MOST_COUNT as MOST_COUNT
from splitmerge_cli._kernels import Model, Rng

PROPOSALS: tuple[str, ...]
LIKELIHOODS: tuple[str, ...]

class LSHSM(PairMoves):
    def __init__(
        self,
        model: Model,
        rng: Rng,
        proposal: str = ...,
        reading: str = ...,
        bits: int = ...,
        tables: int = ...,
        centre: bool = ...,
        tables_seed: int = ...,
        mode: str = ...,
        likelihood: str = ...,
        cache: int = ...,
    ) -> None: ...
    def report(self) -> dict[str, dict[str, float]]: ...
    @property
    def proposal(self) -> str: ...
    @property
    def likelihood(self) -> str: ...
    @property
    def tables(self) -> HashTables: ...
    @property
    def sums(self) -> HashSums: ...
    @property
    def chances(self) -> Collisions | None: ...
