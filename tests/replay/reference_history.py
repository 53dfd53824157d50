"""The background information of chains (Herlau et al. 2014, section 2.4): two partitions and a pair of items.

Written from the paper and from docs/draw-by-draw.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from plain import Stream

Labels = list[int]
TRIES = 100


def by_first_appearance(labels: Sequence[int]) -> Labels:
    number: dict[int, int] = {}
    return [number.setdefault(int(k), len(number)) for k in labels]


class History:
    """The partitions of all chains after 0, 1, 2, ... iterations, and their present states."""

    def __init__(self, states: Sequence[Sequence[int]]) -> None:
        self.present = [by_first_appearance(labels) for labels in states]
        self.past: list[list[Labels]] = [[labels] for labels in self.present]

    def record(self) -> None:
        """Every chain has made one more iteration."""
        for past, labels in zip(self.past, self.present, strict=True):
            past.append(labels)


class AdaptiveProposal:
    """The background information phi = (z_a, z_b, i, j): two partitions, and a pair that they disagree on."""

    def __init__(self, stream: Stream, history: History, own: int, adaptation: str, freeze: int) -> None:
        self.stream, self.history, self.own, self.adaptation, self.freeze = stream, history, own, adaptation, freeze

    def phi(self) -> tuple[Labels, Labels, int, int] | None:
        """None where there is nothing to disagree on."""
        for _ in range(TRIES):
            za, zb = self.others() if self.adaptation == "population" else self.window()
            if za != zb:
                return za, zb, *self.pair(za, zb)
        return None

    def window(self) -> tuple[Labels, Labels]:
        """One state of the own chain and one of any, since half of the iterations."""
        past, S = self.history.past, len(self.history.past)
        t = len(past[0]) - 1
        if self.adaptation == "frozen":
            t = min(t, self.freeze)
        W = t - t // 2 + 1
        own = self.stream.index(W)
        other = self.stream.index(S * W)
        return past[self.own][t // 2 + own], past[other // W][t // 2 + other % W]

    def others(self) -> tuple[Labels, Labels]:
        """The present states of two chains that are not the own one."""
        S = len(self.history.present)
        a = [s for s in range(S) if s != self.own][self.stream.index(S - 1)]
        b = [s for s in range(S) if s not in (self.own, a)][self.stream.index(S - 2)]
        return self.history.present[a], self.history.present[b]

    def pair(self, za: Labels, zb: Labels) -> tuple[int, int]:
        """Uniform over the ordered pairs on which the two disagree."""
        N = len(za)
        pairs = [(g, h) for g in range(N) for h in range(N) if (za[g] == za[h]) != (zb[g] == zb[h])]
        return pairs[self.stream.index(len(pairs))]
