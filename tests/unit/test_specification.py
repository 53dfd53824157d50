"""Another run is made of a specification as of the equivalent overrides, and these as Hydra would compose them."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pprint import pformat

import numpy as np
import pytest

from splitmerge_cli.config import (
    ConfigError,
    choices,
    components,
    compose,
    hydra_adapter,
    hydra_session,
    places,
    plain,
    specify,
    specify_keys,
)
from splitmerge_cli.config.composition import for_hydra, specify_stored, unpack
from splitmerge_cli.config.groups import LEFT_OUT, compose_choices
from splitmerge_cli.config.resolution import Composed, Given
from splitmerge_cli.config.schema import Until
from splitmerge_cli.config.specification import RunSpecification, command_of, finish, name_beside, override
from splitmerge_cli.runs.sweeps.job import text_of

OF_DATA = {
    "csv": {"data.path": "x.csv"},
    "corpus": {"data.path": "x"},
    "edges": {"data.path": "x"},
    "given": {"data.sha256": "0" * 64},
}
SEARCH_PATH = tuple(places(None))


@pytest.fixture(autouse=True, scope="module")
def session() -> Iterator[None]:
    """Hydra is initialised once."""
    with hydra_session():
        yield


def by_hydra(named: dict[str, object]) -> RunSpecification:
    """The specification of a configuration that Hydra composes as a whole."""
    words = tuple(override(key, value) for key, value in named.items())
    raw = hydra_adapter.compose(for_hydra(words), SEARCH_PATH)
    values = {key: value for key, value in plain(raw, resolve=False).items() if key not in LEFT_OUT}
    return finish(Composed(values, dict(raw.hydra.runtime.choices), Given(search_path=SEARCH_PATH), words))


def require_equal(found: RunSpecification, expected: RunSpecification | dict[str, object]) -> None:
    expected = expected if isinstance(expected, RunSpecification) else by_hydra(expected)
    assert found.values == expected.values
    # 1 is no 1.0
    assert pformat(found.identity) == pformat(expected.identity)
    assert (found.model, found.samplers, found.schedule) == (expected.model, expected.samplers, expected.schedule)
    assert (found.data.name, found.folder, found.is_open) == (expected.data.name, expected.folder, expected.is_open)
    assert (found.until, found.iterations, found.automatic) == (expected.until, expected.iterations, expected.automatic)


def require_command(spec: RunSpecification) -> None:
    """The command of a configuration makes it again."""
    program, verb, *words = shlex.split(str(command_of(spec)))
    again = specify(words)
    assert (program, verb) == ("smcmc", "run") and not any(word.startswith(("workers", "progress")) for word in words)
    assert again.identity == spec.identity and again.folder == spec.folder


@pytest.mark.parametrize("start", range(4))
@pytest.mark.parametrize(
    "group", ["data", "model", "sampler", "schedule", pytest.param("experiment", marks=pytest.mark.slow)]
)
def test_layers_are_what_hydra_composes(group: str, start: int) -> None:
    for name in choices(group, SEARCH_PATH)[start::4]:
        others = {"data": "s2", "sampler": "gibbs", "model": "gaussian"}
        for more in [{}, others] if name == "arm-table4" else [{}]:
            raw = hydra_adapter.compose(
                for_hydra([f"{key}={value}" for key, value in {group: name, **more}.items()]), SEARCH_PATH
            )
            expected = {key: value for key, value in plain(raw, resolve=False).items() if key not in LEFT_OUT}
            found = compose_choices({group: name, **more}, SEARCH_PATH)
            assert found.values == expected and list(found.values) == list(expected)
            assert found.chosen.items() <= dict(raw.hydra.runtime.choices).items()


@pytest.mark.parametrize("name", [*choices("data"), "given"])
def test_other_data_bring_their_model(name: str) -> None:
    more = OF_DATA.get(name, {})
    spec = specify(["data=jain_neal", "seed=3", "N=50", "model.beta1=2", "data.components=7"])
    found = spec.with_({"data": name, **more})
    kept = {"model.beta1": 2} if found.model.name == "bernoulli" else {}
    kept |= {"data.components": 7} if name == "jain_neal" else {}
    require_equal(found, {"data": name, "seed": 3, "N": 50, **kept, **more})


@pytest.mark.parametrize("name", choices("experiment", SEARCH_PATH))
def test_settings_of_an_experiment(name: str) -> None:
    spec = specify([f"experiment={name}"])
    require_equal(spec, {"experiment": name})
    require_equal(spec.with_(N=60, seed=9), {"experiment": name, "N": 60, "seed": 9})
    if spec.data.name in ("emm", "s1", "jain_neal_example1"):
        require_equal(spec.with_(data="gaussian", seed=9), {"experiment": name, "data": "gaussian", "seed": 9})


@pytest.mark.parametrize(
    "changes",
    [
        {"N": 7},
        {"K0": 3, "init": "random"},
        {"init": "prior"},
        {"init": "some file.npy", "chains": 2},
        {"iterations": 200},
        {"budget": 3.0},
        {"iterations": None, "budget": None},
        {"until.rhat": 1.1},
        {"until": {"ess": 100}},
        {"trace": {"partitions": 0}, "tempering.levels": 2},
        {"schedule": "move_only"},
        {"schedule": "single_site", "sampler": "gibbs"},
        {"schedule.moves": 20},
        {"schedule": [{"sdds": 1}, {"rgsm": {"weight": 2, "t": 3}}]},
        {"model.prior": "mfm"},
        {"model.prior": "pitman_yor(0.3)"},
        {"model.concentration": "gamma(2,1)"},
        {"model.m0": [0.0, 1.0], "model.kappa0": 2},
        {"model": "mixed", "model.covariance": "full"},
        {"data.seed": 4, "data.dtype": "float32"},
        {"data": "mixed", "model": "mixed"},
        {"data": "csv", "data.path": "a,b (1).csv", "data.types": {"a": "real", 2: "skip"}, "data.drop": ["id", 3]},
        {"data": "csv", "data.path": "${x}", "data.truth": "1", "out": "else where"},
        {"sampler": "arm", "timing": False, "resume": False},
        {"model.power": 0.5, "thin": 3, "workers": 2, "progress": "none"},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "base",
    [
        {},
        {
            "data": "gaussian",
            "sampler": "lshsm",
            "seed": 5,
            "data.seed": 9,
            "model.covariance": "full",
            "iterations": 100,
        },
        {"data": "csv", "data.path": "x.csv", "model": "gaussian", "model.b0": "gamma(1,2)"},
    ],
    ids=str,
)
def test_changes_are_what_overrides_make(base: dict[str, object], changes: dict[str, object]) -> None:
    spec = specify_keys(base)
    named = {**base, **changes}
    if isinstance(changes.get("schedule"), list):
        named.pop("sampler", None)
    for key in ("trace", "until"):
        if isinstance(named.get(key), dict):
            named |= {f"{key}.{option}": value for option, value in named.pop(key).items()}
    implied = specify_keys(
        {k: v for k, v in named.items() if k in ("data", "model")} | OF_DATA.get(str(named.get("data")), {})
    )
    for group, before in (("data", spec.data.name), ("model", spec.model.name)):
        if getattr(implied, group).name != before:
            named = {k: v for k, v in named.items() if not k.startswith(f"{group}.") or k in changes}
    try:
        expected: RunSpecification | str = by_hydra(named)
    except ConfigError as error:
        expected = str(error)
    if isinstance(expected, str):
        with pytest.raises(ConfigError) as info:
            spec.with_(changes)
        assert str(info.value) == expected
        return
    found = spec.with_(changes)
    require_equal(found, expected)
    # a stored run does not know what was named; the rest is the same
    stored = specify_stored(json.loads(json.dumps(dict(spec.values))), "config.yaml")
    assert stored.values == spec.values
    if not changes.keys() & {"iterations", "budget", "init", "until", "until.rhat", "sampler"}:
        assert repr(stored.with_(changes).identity) == repr(found.identity)
    if found.data.name != "given":
        require_command(found)


def test_options_without_their_group() -> None:
    spec = specify_keys({"data": "gaussian", "sampler": "rgsm"})
    found = spec.with_(covariance="full", D=3, t=np.int64(2), K0=2, m0=np.array([0.0, 1.0]))
    assert found.model.options["covariance"] == "full" and found.values["data"]["D"] == 3
    assert found.samplers[0].options["t"] == 2 and found.K0 == 2 and found.values["model"]["m0"] == [0.0, 1.0]
    assert spec.with_(model={"name": "mixed", "covariance": "full"}).model.options["covariance"] == "full"
    with pytest.raises(ConfigError, match=r"concentration: expected model.concentration or data.concentration"):
        spec.with_(concentration=2)
    for changes, message in [
        ({"covarianc": "full"}, "covarianc: no such key"),
        ({"model.covarianc": "full"}, "model.covarianc: no such key. Did you mean model.covariance"),
        ({"model.covariance": "round"}, "model.covariance=round: expected one of"),
        ({"sampler": "nothing"}, "sampler=nothing: expected one of"),
        ({"K0": 3, "init": "prior"}, "K0=3: only init=random takes"),
        ({"chains": 0}, "chains=0: expected a whole number"),
    ]:
        with pytest.raises(ConfigError) as info:
            spec.with_(changes)
        assert str(info.value).startswith(message)


def test_what_stays_and_what_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = specify(["data=gaussian", "data.D=3", "K0=4", "model.covariance=full", "sampler=rgsm", "sampler.t=2", "N=9"])
    assert spec.with_(init="prior").K0 is None
    assert spec.with_(sampler="gibbs").with_(sampler="rgsm").samplers[0].options["t"] == 5
    mixed = spec.with_(schedule=[{"sdds": 1}, {"gibbs": 2}])
    assert mixed.sampler_name == "sdds+gibbs" and mixed.with_(sampler="rgsm").schedule.name == "full_scan"
    assert spec.with_(data="mixed").model.values == specify(["data=mixed"]).model.values
    assert spec.with_(data="s1").model.options["covariance"] == "full"
    assert spec.with_(model=None).model == spec.model and spec.with_(sampler=None).automatic
    # what is the same is not read again
    read, real = list[str](), components._read
    monkeypatch.setattr(components, "_read", lambda option, *given: (read.append(option.name), real(option, *given))[1])
    assert spec.with_(K0=5).model == spec.model and read == []
    assert spec.with_(a0=3).model.options["a0"] == 3.0 and read == ["a0"]


@pytest.mark.parametrize(
    "words",
    [
        ["sampler=rgsm", "sampler.t=3", "model.alpha=2", "N=20", "iterations=50", "out=müller/res"],
        ["data=csv", "data.path=dä,1.csv", "model=mixed", "model.kappa0=gamma(1,1)", "data.types={a: real}"],
        ["schedule=[{sdds: 1}, {rgsm: {weight: 2, t: 3}}]", "data=gaussian", "model=gaussian", "budget=2"],
        ["experiment=sdds-fig3", "seed=7"],
        ["data=synthetic_documents", "model=hdp", "data.heldout=0.2", "perplexity.every=10"],
    ],
)
def test_a_job_crosses_to_another_process_as_it_is(words: list[str]) -> None:
    spec = specify(words)
    found = unpack(json.loads(json.dumps(spec.pack())))
    require_equal(replace(found, automatic=spec.automatic), spec)
    assert (found.seed, found.chains, found.workers, found.out) == (spec.seed, spec.chains, spec.workers, spec.out)
    require_command(spec)


def test_a_launcher_of_hydra_is_given_a_job_as_it_is() -> None:
    spec = specify(
        ["data=csv", "data.path=a '${N}' \"b\\.csv", "model=gaussian", "model.kappa0=gamma(1,2)", "init=ä: {x}"]
    )
    word = f"+job={hydra_adapter.encode(hydra_adapter.protect(text_of(spec)))}"
    found = unpack(json.loads(hydra_adapter.compose([word], SEARCH_PATH).job))
    require_equal(replace(found.with_(workers=None), automatic=spec.automatic), spec)


def test_a_run_made_of_a_job_is_called_by_the_words_of_both() -> None:
    job = specify(["model=auto", "data=csv", "data.path=x.csv", "seed=3"], leave_to_data=True)
    made = name_beside(job.with_(model="gaussian", covariance="full"), job)
    assert list(made.words) == ["data=csv", "data.path=x.csv", "seed=3", "model=gaussian", "model.covariance=full"]


@pytest.mark.parametrize("until", [{"rhat": 1.01, "ess": 400.0}, {"rhat": None, "ess": None}])
def test_runs_that_were_stored_without_monte_carlo_errors_are_what_they_were(until: dict[str, float | None]) -> None:
    spec = specify(["data=jain_neal", *([] if until["rhat"] else ["iterations=50"])])
    stored = specify_stored({**spec.values, "until": until}, "config.yaml")
    assert stored.identity["until"] == until and stored.until == Until(until["rhat"], until["ess"])
    assert stored.is_open == spec.is_open
    # where nobody names a length the program of today does
    words = "" if until["rhat"] else " iterations=50"
    assert command_of(stored) == f"smcmc run data=jain_neal{words}"
    limited = command_of(stored, {"iterations": 70})
    assert limited == "smcmc run data=jain_neal iterations=70" + " until.rhat=1.01 until.ess=400" * stored.is_open


def test_options_of_a_model_that_is_left_to_the_data_are_not_lost() -> None:
    words = ["model=auto", "data=csv", "data.path=x.csv"]
    for prior in ("mfm(components=bnb(1,4,3))", "esc(r=gamma(1,1),p=beta(2,2))"):
        job = specify([*words, f"model.prior={prior}"], leave_to_data=True)
        assert job.with_(model="gaussian").values["model"]["prior"] == prior
    with pytest.raises(ConfigError, match=r"^model\.prior=crp\(: cannot be read"):
        specify([*words, "model.prior=crp("], leave_to_data=True)
    job = specify(["model=auto", "data=csv", "+data.path=x.csv", "model.prior=crp"], leave_to_data=True)
    assert job.with_(model="gaussian").values["model"]["prior"] == "crp"


def test_what_is_changed_takes_the_place_of_what_was() -> None:
    spec = compose(["data=jain_neal", "sampler=rgsm", "sampler.t=3", "schedule.moves=4", "iterations=50"])
    assert command_of(spec, {"sampler": "auto"}) == "smcmc run data=jain_neal iterations=50"
    assert command_of(spec, {"iterations": 100}) == (
        "smcmc run data=jain_neal sampler=rgsm iterations=100 sampler.t=3 schedule.moves=4"
    )
    mixed = compose(["data=jain_neal", "schedule=[{sdds: 1}, {gibbs: 1}]"])
    assert command_of(mixed, {"schedule": "full_scan"}) == "smcmc run data=jain_neal"
    # of a length that nobody named: it still ends when it is long enough
    assert str(command_of(mixed, {"iterations": 9000, "sampler": "sams"})).endswith(
        " sampler=sams iterations=9000 until.rhat=1.05 until.ess=100 until.mcse=0.02"
    )
    assert command_of(spec, {"iterations": None, "sampler": "auto"}) == "smcmc run data=jain_neal"
    # of another model, options of this one are left out
    mixed = compose(["data=mixed", "model=mixed", "model.kappa0=2", "sampler=sams", "seed=3"])
    assert command_of(mixed, {"model": "gaussian", "sampler": "auto"}) == ("smcmc run data=mixed model=gaussian seed=3")
    assert command_of(mixed, {"seed": (1, 2), "model.kappa0": (0.5, "gamma(1,1)")}).endswith(
        "seed=1,2 'model.kappa0=0.5,gamma(1,1)'"
    )
    held = compose(["data=given", f"data.sha256={'0' * 64}", "model=gaussian"])
    assert command_of(held) is None
