"""Models and samplers with their options, as ``conf`` and the ``OPTIONS`` of the classes list them."""

import itertools
import json
from dataclasses import dataclass
from functools import cache
from typing import Any

SMALL: dict[str, tuple[Any, ...]] = {
    "t": (0, 2),
    "m": (1, 3),
    "r": (2,),
    "tries": (2,),
    "bits": (2,),
    "tables": (3,),
    "cache": (4,),
    "freeze": (5,),
    "steps": (2,),
    "kmax": (30,),
    "candidates": (None, [[0.0, 1.0], [1.0, -1.0], [2.0, 0.0]]),
}
"""Values, fit for small data, of numbers and lists; the file's own value stands for those that are not here."""


@dataclass(frozen=True)
class Variant:
    """A choice of ``conf`` with values for its options."""

    name: str
    target: str
    options: tuple[tuple[str, Any], ...]
    off: int
    """How many of the options are not the first of their values."""

    def __str__(self) -> str:
        shown = ",".join(f"{key}={value}".replace(" ", "") for key, value in self.options)
        return f"{self.name}[{shown}]" if shown else self.name


def values_of(target: Any, key: str, default: Any) -> tuple[Any, ...]:
    """The values of an option to be tried, the default first."""
    if key in SMALL:
        return SMALL[key]
    if isinstance(default, bool):
        return default, not default
    from splitmerge_cli.core.options import Choice, NumbersOrGamma, PositiveOrGamma
    from splitmerge_cli.priors import PriorOption, priors

    option = {listed.name: listed for listed in getattr(target, "OPTIONS", ())}.get(key)
    if isinstance(option, PositiveOrGamma):
        return 1.0, "gamma(1,1)"
    if isinstance(option, NumbersOrGamma):
        return default, "gamma(1,1)"
    if isinstance(option, PriorOption):
        return default, *(name for name in priors() if name != default)
    if isinstance(option, Choice):
        return default, *(word for word in option.choices if word != default)
    if isinstance(default, str) and option is None:
        raise SystemExit(f"{target.__name__}: {key}: expected it among the OPTIONS of the class")
    return (default,)


def variants(group: str) -> list[Variant]:
    """Return every choice of a group with all combinations of its options' values, none twice."""
    from splitmerge_cli.config import choice, choices, locate

    variant_by_key: dict[tuple[str, str], Variant] = {}
    for name in choices(group):
        values = choice(group, name)
        target = locate(values["_target_"])
        options = {key: value for key, value in values.items() if key not in ("name", "_target_")}
        offered = {key: values_of(target, key, value) for key, value in options.items()}
        for picked in itertools.product(*offered.values()):
            chosen = dict(zip(offered, picked, strict=True))
            # mode is another sampler
            off = sum(chosen[key] != offered[key][0] for key in chosen if key != "mode")
            named = tuple((key, value) for key, value in chosen.items() if len(offered[key]) > 1)
            same = values["_target_"], json.dumps(chosen, sort_keys=True)
            variant_by_key.setdefault(same, Variant(name, json.dumps(values | chosen), named, off))
    return list(variant_by_key.values())


@cache
def models() -> list[Variant]:
    """Models with all their options."""
    return variants("model")


@cache
def samplers() -> list[Variant]:
    """Samplers with at most two options off their default, in either mode."""
    return [variant for variant in variants("sampler") if variant.off <= 2]


def build_variant(variant: Variant, build: Any) -> Any:
    """Build the object that the variant stands for, from the class and its options."""
    from splitmerge_cli.config import locate

    values = json.loads(variant.target)
    options = {key: value for key, value in values.items() if key not in ("name", "_target_")}
    return build(locate(values["_target_"]), options)
