"""Every configuration makes its first iterations, or is rejected with one line that names a key; nothing else."""

import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from splitmerge_cli import config, received, runs
from splitmerge_cli.config.schema import all_keys

DATA = {
    "bernoulli": ["data=jain_neal", "N=20"],
    "emm": ["data=emm", "N=20"],
    "gaussian": ["data=gaussian", "N=20"],
    "hdp": ["data=docs200", "N=4", "data.length=6"],
    "irm": ["data=networkx", "data.graph=florentine"],
    "lines": ["data=lines", "N=20"],
    "mixed": ["data=mixed", "N=20"],
    "records": ["data=records", "N=20"],
    **{name: ["data=counts", "N=20"] for name in ("gamma_poisson", "multinomial", "overdispersed_multinomial")},
}
"""Small data by the model that reads them."""
NONSENSE = [
    *("", "null", "nan", "inf", "-inf", "-1", "0", "1e400", "-0.0", "1_000", "0x10", "1e-400", "१२", "½"),
    *("true", "yes", "word", "[]", "{}", "[1,2]", "{a:1}", "[[]]", "[null]", "{1:2}", "[nan]", "['']", "range(3)"),
    *("1,2", "a,b", "choice(1,2)", "glob(*)", "shuffle(1,2)", "interval(0,1)", "sort(1)", "int(1)", "json_str('x')"),
    *("${N}", "${nothing}", "${oc.env:HOME}", "${oc.env:NOPE}", "${", "$", "???", "'", '"', "'a\nb'", "\\", "a b"),
    *("../x", ".", "..", "'../../x'", "x" * 300, "'" + "x" * 5000 + "'", "[" * 60, "(" * 60, "é", "日本", "\u2028"),
    *("\x00", "\t", "a\tb", "'\t'", "\ud800", "💥", "'\u202e'", "=", "==", "a=b", "&x", "!!python/object:os.system"),
    *("*x", "%s", "'[/x]'", "'a[b]'", "'$a_{$'", "1" * 400, "1e308", "-1e308", "99999999999999999999"),
    *("2147483648", "9223372036854775808", "-9223372036854775809", "gamma(0,1)", "gamma(1)", "gamma(1,2,3)"),
    *("gamma(nan,1)", "gamma(inf,inf)", "gamma(1e308,1e-308)", "gamma(a,b)", "gamma(-1,1)", "gamma(", "gamma()"),
    *("gamma(1e-320,1)", "gamma( 1 , 1 )", "'gamma(1,1)'", "GAMMA(1,1)", "1.5", "2.0", "1e3", "'1'", "'null'"),
    *("'true'", "{name: x}", "[{sdds: 1}]", "[{sdds: nan}]", "[{sdds: {a: 1}}]", "[{}]", "[sdds,sdds]"),
    *("[{sdds: 1e101}]", "[{sdds: 0}]", "[[sdds]]", "[null]", "[{null: 1}]", "[{1: 1}]", "[true]"),
]
"""Values that few keys take."""
KEYS = ["", "~N", "+N", "++N", "~data", "N@x", "data@model", ".", "..", "a.b.c", "hydra", "hydra.run.dir", "+hydra.x"]
KEYS += ["model.", ".model", "model..alpha", "model.name", "data._target_", "sampler._target_", "schedule.mix", "é"]
KEYS += ["data.name", "+data.more", "~trace.partitions", "trace", "perplexity", "+trace.x", "schedule.name", "N "]
KEYS += ["reproduce"]
"""Keys that are none."""


def options_of(group: str, name: str) -> list[str]:
    """Keys of a choice."""
    return [f"{group}.{key}" for key in config.choice(group, name) if key not in ("name", "_target_")]


@st.composite
def configurations(draw: Any) -> list[str]:
    """Overrides of ``smcmc run``: what is there, of which some keys take other values, or are none."""
    model = draw(st.sampled_from(sorted(DATA)))
    sampler = draw(st.sampled_from(config.choices("sampler")))
    chosen = dict(word.split("=", 1) for word in [*DATA[model], f"model={model}", f"sampler={sampler}"])
    own = [*options_of("model", model), *options_of("sampler", sampler)]
    keys = [key for key, _ in all_keys() if key not in ("out", "experiment", "N")]
    text = st.text(max_size=12).map(lambda value: value.replace("/", "").replace("~", ""))
    number = st.sampled_from(["0", "1", "2", "7", "0.5", "1.5", "true", "false", "null", "gamma(2,1)", "[1,2]"])
    values = st.one_of(number, number, st.sampled_from(NONSENSE), text, st.integers().map(str), st.floats().map(str))
    for _ in range(draw(st.integers(0, 3))):
        key = draw(st.one_of(st.sampled_from(own), st.sampled_from(own), st.sampled_from([*keys, *chosen, *KEYS])))
        chosen[key] = draw(values)
    return [f"{key}={value}".lstrip("-") for key, value in chosen.items()]


def check(args: list[str]) -> tuple[str, str]:
    """Prepare a configuration; return `accepted`, `rejected` or `wrong`, and the message of the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            plan = runs.prepare(config.compose(args))
            if max(plan.spec.chains, plan.dataset.N) < 100 and not plan.spec.is_adaptive:
                chain = plan.chain(0)
                chain.advance(3)
                assert chain.log_joint == pytest.approx(chain.model.log_lik_total() + chain.model.log_prior_total())
    except (config.ConfigError, received.DataError) as error:
        said = str(error)
        # a key of points alone has no part
        words = {*args} | {part for arg in args for part in re.split(r"[=.,]", " ".join(arg.split())) if part}
        named = any(word in " ".join(said.split()) for word in words)
        return ("rejected", said) if named and "\n" not in said else ("wrong", said)
    return "accepted", ""


def test_every_model_is_drawn() -> None:
    assert DATA.keys() == set(config.choices("model"))


def test_configurations(fuzz, cases: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    tally = fuzz(configurations(), check)
    assert tally["accepted"] >= cases / 12 and tally["rejected"] >= cases / 8
    assert not list(tmp_path.iterdir())
