"""One source for every option: the files, the help and the messages say what the declaration says."""

from importlib import resources

import pytest
import yaml
from omegaconf import OmegaConf

from splitmerge_cli.config import ConfigError, choice, choices, components, groups, hydra_adapter, read_component
from splitmerge_cli.config.schema import all_keys, default_values
from splitmerge_cli.core.options import Choice, Count, Gamma, Number, Positive, PositiveOrGamma

CONFIGURED = [(group, name) for group in ("model", "sampler") for name in choices(group)]


def test_hydra_composes_the_declared_defaults() -> None:
    keys = dict(all_keys())
    composed = hydra_adapter.compose([])  # its choices set no key
    for key, option in keys.items():
        assert OmegaConf.select(composed, key) == option.default, key
    assert list(default_values()) == [
        *dict.fromkeys(key.partition(".")[0] for key in keys if key != "experiment"),
        "data",
    ]


class Stand:
    """Stands in for a compiled sampler that lists its options."""

    MOVES = ("move",)
    OPTIONS = (
        Choice("allocation", "sams", "how items are allocated", choices=("sams", "random")),
        Count("t", 5, "restricted scans", least=0, most=100),
        Positive("beta", 0.5, "probability of a merge", most=1),
        PositiveOrGamma("strength", 1.0, "a number or a prior"),
        Number("shift", None, "of the data; null: none", optional=True),
    )

    @classmethod
    def supports(cls, model: object) -> tuple[bool, str]:
        return True, ""


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The class in place of that of sampler=dyadic, whose file has the same options."""
    file = {"name": "dyadic", "_target_": "stand.Stand"} | {option.name: option.default for option in Stand.OPTIONS}
    monkeypatch.setattr(groups, "choice", lambda group, name, search_path=(): dict(file))
    monkeypatch.setattr(groups, "target_of", lambda group, name, path: Stand)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"t": 101}, "sampler.t=101: expected a whole number from 0 to 100"),
        ({"t": True}, "sampler.t=true: expected a whole number from 0 to 100"),
        ({"allocation": "smas"}, "sampler.allocation=smas: expected one of sams, random"),
        ({"beta": 2}, "sampler.beta=2: expected a positive number from 1e-100 to 1"),
        ({"strength": "gamma(0,1)"}, "sampler.strength=gamma(0,1): shape of gamma: expected 0.001 to 1e6, got 0"),
        ({"shift": "far"}, "sampler.shift=far: expected a number from -1e+100 to 1e+100 or null"),
        ({"s": 1}, "sampler.s: no such key; expected one of sampler.allocation, "),
    ],
)
def test_a_class_says_what_its_options_take(stand: None, given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as info:
        read_component("sampler", "dyadic", given)
    assert str(info.value).startswith(message)


def test_options_are_read_once_and_kept_as_they_were_configured(stand: None) -> None:
    given = {"t": 3, "beta": 1, "strength": "gamma(1,2)", "shift": None}
    read = read_component("sampler", "dyadic", given)
    assert read.values == {"name": "dyadic"} | given | {"beta": 1.0}
    assert read.options == given | {"beta": 1.0, "strength": Gamma(1.0, 2.0)}
    assert type(read_component("sampler", "dyadic", {"strength": 2}).values["strength"]) is float


@pytest.mark.parametrize(("group", "name"), CONFIGURED)
def test_a_file_says_only_what_differs_from_its_class(group: str, name: str) -> None:
    text = (resources.files("splitmerge_cli.conf") / group / f"{name}.yaml").read_text(encoding="utf-8")
    own = {key: value for key, value in yaml.safe_load(text).items() if key not in ("name", "_target_", "defaults")}
    listed = components.options_of(components.class_of(group, name))
    assert all(value != listed[key].default for key, value in own.items())
    options = {key: value for key, value in choice(group, name).items() if key not in ("name", "_target_")}
    defaults = {key: list(one.default) if one.default == () else one.default for key, one in listed.items()}
    assert options == defaults | own and list(options) == list(listed)


@pytest.mark.parametrize(("group", "name"), CONFIGURED)
def test_every_option_has_a_row(group: str, name: str) -> None:
    rows = components.option_rows(group, name)
    assert [row.key for row in rows] == [
        f"{group}.{key}" for key in choice(group, name) if key not in ("name", "_target_")
    ]
    assert all(row.default and row.expected for row in rows)
