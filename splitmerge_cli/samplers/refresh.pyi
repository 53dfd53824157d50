from splitmerge_cli._kernels import Model, Rng, Sampler

class Refresh(Sampler):
    def __init__(self, model: Model, rng: Rng, mode: str = ...) -> None: ...
