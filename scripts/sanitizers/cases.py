"""Combinations of a model, a data set, an initial state and a sampler."""

from collections.abc import Iterator
from dataclasses import dataclass

from sanitizers.datasets import data
from sanitizers.variants import Variant, build_variant, models, samplers

STARTS = ("one_cluster", "singletons", "random", "sequential")
THREADED = ("subcluster", "partially_collapsed")
"""Samplers whose step takes several threads."""


@dataclass(frozen=True)
class Case:
    """One combination."""

    model: Variant
    kind: str
    data: str
    start: str
    sampler: Variant
    iterations: int
    threaded: bool = False
    """Whether chains run at the same time, as ThreadSanitizer wants them."""

    def __str__(self) -> str:
        return f"{self.model} {self.data} {self.start} {self.sampler}"


@dataclass(frozen=True)
class Group:
    """Combinations on one model and data set."""

    model: int
    kind: str
    data: str
    threaded: bool = False

    def __str__(self) -> str:
        return f"{models()[self.model]} {self.data}"

    def cases(self, iterations: int) -> Iterator[Case]:
        """Ordinary data: every sampler, the default model from every start, others from one of them in turn. Other
        data: each sampler on one of the models with at most one option off its default, in turn; not all tried on all
        data keeps the run within the hour. In threads: the default samplers on the default model, and those whose steps
        take threads, with all their options, on models with at most one option off its default."""
        model = models()[self.model]
        if self.threaded:
            for t, sampler in enumerate(samplers()):
                if sampler.name in THREADED or model.off + sampler.off == 0:
                    start = STARTS[(t + self.model) % len(STARTS)]
                    yield Case(model, self.kind, self.data, start, sampler, iterations // 4, True)
            return
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


def groups(threaded: bool = False) -> list[Group]:
    """All there are; `threaded`: those on ordinary data, of threads alone."""
    found = []
    for number, model in enumerate(models()):
        kind = build_variant(model, lambda cls, options: cls.kind)
        for t, name in enumerate(data()[kind]):
            if (model.off <= 1 and not (threaded and t)) or (t == 0 and not threaded):
                found.append(Group(number, kind, name, threaded))
    return found
