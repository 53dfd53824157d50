"""The keys of a configuration: default, type, range and help of each, written once.

Hydra is given the defaults as the first part of ``conf/config.yaml`` (`KEYS`); ``smcmc run --help`` and the page of all
keys list them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, get_type_hints

from splitmerge_cli.config.errors import ConfigError, show, unknown_key
from splitmerge_cli.core.options import Choice, Count, Flag, Number, Option, Positive, Text

GROUPS = ("data", "model", "sampler", "schedule")
"""Groups whose choices are files of ``conf/GROUP``."""

CHOOSING = (*GROUPS, "experiment")
"""Keys of the choices."""

MIX = "mix"
"""The schedule of a weighted list of samplers."""

NOT_TYPED = ("name", "_target_")
"""Keys of a choice that nobody types."""

TAKE_K0 = (None, "random", "sequential")
"""Starts that take a number of clusters."""

LEFT_TO_DATA = (
    *("model", "model.covariance", "model.tails", "model.noise", "model.power", "model.degrees", "data.scale"),
)
"""Keys that take ``auto``: the data decide, see `splitmerge_cli.api.selection`."""

RUNTIME_KEYS = ("resume", "workers", "out", "progress", "experiment")
"""Keys that change nothing that is computed, so they are no part of a run's identity."""

SHARED = {"data": {"max_bytes": int | None}}
"""Options that all choices of a group have, null by default, and their types; as the keys above, they change nothing
that is computed."""
HELP_OF_SHARED = {
    "data.max_bytes": "largest size in bytes of any file of data, unpacked in memory. null: a quarter of the memory"
}
KEYS = "keys_of_run"
"""Name under which Hydra knows `default_values`."""

_BUNDLES = ("weights", "weights_scale", "group", "labels", "must_link", "cannot_link", "prior_counts")
LATER: dict[str, Any] = {"exposure": None, "reduce": None, "repeated": "keep", "scale": None, "apart": True}
LATER |= {"other": None, "files": None, "duplicates": False, "names": None, "skip": None}
LATER |= dict.fromkeys(_BUNDLES)
"""Options of tables that runs were stored without, and their defaults, at which they do not tell runs apart."""


_OF_NETWORKS: dict[str, Any] = dict.fromkeys(("directed", "loops", "bipartite"), False)
_OF_NETWORKS |= dict.fromkeys(("values", "layer", "unknown", "columns", "types"))
_OF_NETWORKS |= {"matrix": "auto", "encoding": "utf-8"}
LATER_BY_READER = {
    ".tables.files.csv": LATER,
    ".readers.edges.edges": _OF_NETWORKS,
    ".readers.objects.network": {"values": None, "bipartite": False, "layer": None},
    ".networks.generated.generate": {
        **{"directed": False, "values": None, "degrees": 0.0, "bipartite": False, "layers": 1, "columns": False},
        **{"loops": False, "unknown": 0.0},
    },
}
"""Options that runs were stored without, by the function that reads the data."""


def later_options(data: Mapping[str, Any]) -> dict[str, Any]:
    """Options that runs were stored without, by the choice of data, and their defaults."""
    return next((later for end, later in LATER_BY_READER.items() if str(data.get("_target_")).endswith(end)), {})


NO_GAP = 0.0
"""`gap` of runs whose clusters are the components of the model."""

INITIAL = (
    *("one_cluster", "singletons", "pairs", "random", "sequential", "stages", "categories", "simpler", "best"),
    *("search", "prior", "mixture", "truth"),
)
"""Initial states that have a name; any other is a file."""

LONGER = 100
"""Factor of the largest number of iterations if `until` stops chains earlier."""
ENOUGH = {"rhat": 1.05, "ess": 100.0, "mcse": 0.02}
"""`until` of chains without a named length (decision 38)."""

DEFAULT_WARMUP = 50
"""Gibbs scans before samplers that learn from the history of the chains (Herlau et al. 2014, section 3)."""

# sizes are int32, counts of iterations exact in float64
_SIZE = 2**31 - 1
_COUNT = 2**53
_FEW = 10_000


def _key(kind: type[Option], default: Any, is_stored: bool = True, **more: Any) -> Callable[[str], Any]:
    """A key that takes what options of a kind take, and null if that is its default; called with its help. One that is
    not stored with every run has its default there."""

    def with_help(help: str) -> Any:
        metadata = {"option": kind("", default, help, **({"optional": True} if default is None else {}) | more)}
        return field(metadata=metadata) if is_stored else field(metadata=metadata, default=default)

    return with_help


@dataclass(frozen=True)
class Trace:
    """Records in addition to the trace."""

    partitions: int | None = _key(Count, None, most=_COUNT)(
        "record every n-th partition. 0: none. null: up to 500 per chain, fewer if there are many items"
    )


@dataclass(frozen=True)
class Until:
    """When chains have run long enough; without a target they run to their end."""

    rhat: float | None = _key(Number, None, least=1.0, most=1e6, inside=True)(
        "stop the chains when R-hat of every recorded quantity is at most this. Checked after 1,000 iterations, then "
        "each time after half as many again"
    )
    ess: float | None = _key(Positive, None, most=1e12)(
        "and bulk and tail ESS are at least this. iterations is the limit"
    )
    mcse: float | None = _key(Positive, None, most=1.0, is_stored=False)(
        "and the Monte Carlo standard errors of the certainties, of the expected loss and (as a share) of the "
        "number of clusters are at most this"
    )

    @property
    def is_given(self) -> bool:
        """Whether chains end when they have run long enough."""
        return any(target is not None for target in (self.rhat, self.ess, self.mcse))


@dataclass(frozen=True)
class Tempering:
    """Replicas of each chain under powers of the likelihood, which swap states with it."""

    levels: int = _key(Count, 0, most=8)(
        "number of replicas of each chain under smaller powers of the likelihood. 0: none"
    )
    least: float = _key(Number, 0.1, least=1e-3, most=0.99)(
        "smallest power. The powers above it are chosen before the chain begins"
    )


@dataclass(frozen=True)
class Perplexity:
    """How well held-out documents are predicted, and how often that is evaluated."""

    every: int = _key(Count, 0, most=_COUNT)("evaluate held-out documents after every n-th iteration. 0: never")
    method: str = _key(Choice, "completion", choices=("completion", "left_to_right", "sequential", "fold_in"))(
        "how held-out documents are evaluated"
    )
    particles: int = _key(Count, 20, least=1, most=_FEW)(
        "number of Gibbs scans of a document (completion, fold_in), or of particles"
    )


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Keys of the configuration that are no group; the metadata of each field hold its `Option`."""

    N: int | None = _key(Count, 100, optional=True, least=1, most=_SIZE)("number of items")
    seed: int = _key(Count, 0, most=2**63 - 1)("seed of the chains. The data set has its own (data.seed)")
    chains: int = _key(Count, 4, least=1, most=_FEW)("number of chains")
    iterations: int | None = _key(Count, None, least=1, most=_COUNT)(
        f"iterations per chain. null: until R-hat is at most {ENOUGH['rhat']}, ESS at least {ENOUGH['ess']:g} and "
        f"Monte Carlo errors at most {ENOUGH['mcse']}, but no more than a number that depends on the size of the data "
        "and is printed. One chain and experiments make 10,000 (documents: 1,000), with targets of until at most a "
        "hundred times as many, and with a budget as many as fit"
    )
    budget: float | None = _key(Positive, None, most=1e9)("seconds of sampling per chain. null: no limit")
    until: Until
    gap: float | None = _key(Number, NO_GAP, optional=True, least=0.0, most=100.0, is_stored=False)(
        "join the clusters of every draw between which the density falls by less than this, in nats (0.25: by less "
        "than 22 %). 0: join none. null: join them if the draws agree (set by model=auto)"
    )
    thin: int = _key(Count, 1, least=1, most=_COUNT)("record every thin-th iteration")
    K0: int | None = _key(Count, None, least=1, most=_SIZE)(
        "initial number of clusters (init=random, and init=sequential for documents). null: 5 clusters, or the largest "
        "possible number; for documents with init=sequential 100"
    )
    init: str | None = _key(Text, None, is_path=True)(
        f"initial state: {', '.join(INITIAL)}, or a file of labels. null: random, or stages for large tables, "
        "or categories for many ordinal columns, or best for covariances of many columns and for networks"
    )
    warmup: int | None = _key(Count, None, most=_COUNT)(
        f"number of iterations at the beginning that are only full Gibbs scans. null: {DEFAULT_WARMUP} for "
        "adaptive samplers, otherwise 0"
    )
    tempering: Tempering
    trace: Trace
    perplexity: Perplexity
    timing: bool = _key(Flag, True)("false: all seconds are 0, so that two runs write the same bytes")
    resume: bool = _key(Flag, True)("continue an unfinished run. false: start it again")
    workers: int | None = _key(Count, None, least=1, most=_FEW)(
        "number of threads. Chains use one each; samplers that can use the others share a step among them. "
        "null: one per processor"
    )
    out: str = _key(Text, "results", is_path=True)("folder of the results")
    progress: str = _key(Choice, "auto", choices=("auto", "bars", "lines", "none"))("how progress is shown")
    experiment: str | None = _key(Text, None)("take the settings of a figure (smcmc list figures)")


NESTED: dict[str, Any] = {name: hint for name, hint in get_type_hints(Schema).items() if is_dataclass(hint)}
"""Keys that have keys of their own."""


def all_keys() -> Iterator[tuple[str, Option]]:
    """Every key that is no group, as it is typed, with its option."""
    for each in fields(Schema):
        if each.name in NESTED:
            yield from ((f"{each.name}.{inner.name}", inner.metadata["option"]) for inner in fields(NESTED[each.name]))
        else:
            yield each.name, each.metadata["option"]


def default_values() -> dict[str, Any]:
    """The defaults of all keys, and of the options that groups share, as a configuration holds them."""
    values: dict[str, Any] = {}
    for key, option in all_keys():
        outer, _, inner = key.partition(".")
        if inner:
            values.setdefault(outer, {})[inner] = option.default
        elif key not in CHOOSING:
            values[key] = option.default
    return values | {group: dict.fromkeys(options) for group, options in SHARED.items()}


def known_keys(values: Mapping[str, Any]) -> list[str]:
    """The keys of a configuration, including the keys of its choices."""
    known = [*(each.name for each in fields(Schema)), *GROUPS]
    for name, value in values.items():
        if isinstance(value, Mapping) and name in known:
            known += [f"{name}.{inner}" for inner in value if inner not in NOT_TYPED]
    return known


def read_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Read the keys of a resolved configuration that are no group, as the fields of `Schema` have them; a `ConfigError`
    of an unknown or missing key, of a value that is not as expected, and of a group that is none."""
    known = known_keys(values)
    for group in GROUPS:
        if not isinstance(values.get(group), Mapping):
            shown = f"{group}={show(values[group])}" if group in values else group
            raise ConfigError(f"{shown}: expected {group}=NAME")
    return _read_fields(Schema, {key: value for key, value in values.items() if key not in GROUPS}, "", known)


def _read_fields(schema: Any, values: Mapping[str, Any], prefix: str, known: list[str]) -> dict[str, Any]:
    declared = {each.name: each for each in fields(schema)}
    read: dict[str, Any] = {}
    for name, each in declared.items():
        if name not in values:
            if each.default is not MISSING:
                continue
            raise ConfigError(f"{prefix}{name}: a value is needed")
        key, value = prefix + name, values[name]
        if option := each.metadata.get("option"):
            read[name] = _read(key, option, value)
        elif not isinstance(value, Mapping):
            expected = " or ".join(f"{key}.{one.name}=VALUE" for one in fields(NESTED[name]))
            raise ConfigError(f"{key}={show(value)}: expected {expected}")
        else:
            read[name] = NESTED[name](**_read_fields(NESTED[name], value, f"{key}.", known))
    for name in values:
        if name not in declared:
            raise ConfigError(unknown_key(f"{prefix}{name}", known))
    return read


def _read(key: str, option: Option, value: Any) -> Any:
    """The value that an option takes; a `ConfigError` that names `key` for any other."""
    if value is None and option.optional:
        return None
    try:
        return option.convert(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"{key}={show(value)}: expected {option.expected_or_null}") from error
