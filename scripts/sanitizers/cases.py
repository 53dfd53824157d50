"""Combinations of a model, a data set, an initial state and a sampler."""

from collections.abc import Iterator
from dataclasses import dataclass

from sanitizers.datasets import data
from sanitizers.variants import Variant, made, models, samplers

STARTS = ("one_cluster", "singletons", "random")


@dataclass(frozen=True)
class Case:
    """One combination."""

    model: Variant
    kind: str
    data: str
    start: str
    sampler: Variant
    iterations: int

    def __str__(self) -> str:
        return f"{self.model} {self.data} {self.start} {self.sampler}"


@dataclass(frozen=True)
class Group:
    """Combinations on one model and data set."""

    model: int
    kind: str
    data: str

    def __str__(self) -> str:
        return f"{models()[self.model]} {self.data}"

    def cases(self, iterations: int) -> Iterator[Case]:
        """Ordinary data: every sampler, the default model from every start, others from one of them in turn. Other
        data: each sampler on one of the models with at most one option off its default, in turn; not all tried on all
        data keeps the run within the hour."""
        model = models()[self.model]
        ordinary = self.data == next(iter(data()[self.kind]))
        siblings = [t for t, other in enumerate(models()) if other.name == model.name and other.off <= 1]
        turn = list(data()[self.kind]).index(self.data)
        if not ordinary:
            iterations = 12 if self.data == "large" else iterations // 2
        for t, sampler in enumerate(samplers()):
            if not ordinary and (t + turn) % len(siblings) != siblings.index(self.model):
                continue
            starts = STARTS if ordinary and model.off == 0 else (STARTS[(t + turn + self.model) % len(STARTS)],)
            for start in starts:
                # so many clusters take too much memory
                start = "random" if self.data == "large" else start
                yield Case(model, self.kind, self.data, start, sampler, iterations)


def groups() -> list[Group]:
    """All there are."""
    found = []
    for number, model in enumerate(models()):
        kind = made(model, lambda cls, options: cls.kind)
        for t, name in enumerate(data()[kind]):
            if t == 0 or model.off <= 1:
                found.append(Group(number, kind, name))
    return found
