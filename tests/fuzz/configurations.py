"""Configurations drawn from a catalogue: most of them can be run, some hold nonsense."""

from typing import Any

from hypothesis import strategies as st

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


def _nonsense_values() -> st.SearchStrategy[str]:
    # no paths from the root or the home: what is written must be found
    text = st.text(max_size=12).map(lambda value: value.replace("/", "").replace("~", ""))
    whole = st.integers().map(str)
    known = st.sampled_from(NONSENSE)
    return st.one_of(known, known.map(lambda value: value), known.map(str), text, whole, st.floats().map(str))


@st.composite
def configurations(draw: Any, known: Any) -> list[str]:
    """Overrides of ``smcmc run``."""
    chosen = _valid(draw, known)
    many = draw(st.sampled_from([0, 0, 0, 0, 0, 1, 1, 2, 1]))
    for _ in range(many):
        key = draw(st.sampled_from([*chosen, *known.keys, *KEYS]) | st.sampled_from([*chosen]))
        how = draw(st.sampled_from(["value", "value", "value", "value", "misspelt", "text"]))
        if how == "misspelt":
            place = draw(st.integers(0, max(0, len(key) - 1)))
            chosen[key[:place] + draw(st.sampled_from(["", "x", ".", "é"])) + key[place + 1 :]] = "1"
        elif how == "text":
            chosen[draw(_nonsense_values())] = ""
        else:
            chosen[key] = draw(_nonsense_values())
    order = draw(st.sampled_from(["as drawn", "reversed"]))
    # what begins with a dash is an option, which typer rejects in its own way
    args = [f"{key}={value}".lstrip("-") for key, value in chosen.items()]
    return args if order == "as drawn" or many == 0 else args[::-1]


def _valid(draw: Any, known: Any) -> dict[str, str]:
    """Overrides by key of a configuration that can be run, as far as one can tell without running it."""
    name = draw(st.sampled_from(sorted(known.data)))
    data = known.data[name]
    model = draw(st.sampled_from(sorted(data.models)))
    serving = sorted(sampler for sampler, choice in known.samplers.items() if model in choice.models)
    sampler = draw(st.sampled_from(serving))
    chosen = dict(override.split("=", 1) for override in data.overrides) | {"model": model}

    def vary(group: str, options: dict[str, list[str]], most: int) -> dict[str, str]:
        keys = sorted(key for key, values in options.items() if len(values) > 1)
        if not keys:
            return {}
        drawn = draw(st.lists(st.sampled_from(keys), unique=True, max_size=most))
        return {f"{group}.{key}": draw(st.sampled_from(options[key])) for key in drawn}

    chosen |= vary("data", data.options, 2)
    chosen |= vary("model", known.models[model].options, 2)
    short = False
    if draw(st.integers(0, 5)) == 0:
        mix = draw(st.lists(st.sampled_from(serving), min_size=1, max_size=3, unique=True))
        weights = st.sampled_from(["1", "0.5", "1e-100", "1e100", "{weight: 2}"])
        chosen["schedule"] = "[" + ", ".join(f"{{{entry}: {draw(weights)}}}" for entry in mix) + "]"
    else:
        chosen["sampler"] = sampler
        varied = vary("sampler", known.samplers[sampler].options, 2)
        # what costs much is short, and there is one of it
        dear = [key for key, value in varied.items() if value.isdigit() and int(value) > 60 and "freeze" not in key]
        varied = {key: value for key, value in varied.items() if key not in dear[1:]}
        short = bool(dear)
        chosen |= varied
        chosen["schedule"] = draw(st.sampled_from(known.schedules))
    fixed = ":" in name
    N = draw(st.sampled_from(["null"] if fixed else ["20", "20", "20", "5", "1", "2", "60"]))
    if short:
        N = "null" if fixed else "5"
    chosen["N"] = N
    keys = [key for key in known.top if key not in ("N", "out", "progress", "iterations", "chains", "experiment")]
    drawn = draw(st.lists(st.sampled_from(sorted(keys)), unique=True, max_size=4))
    top = {key: draw(st.sampled_from(known.top[key])) for key in drawn}
    top["chains"] = draw(st.sampled_from(["1", "2", "2", "3", "7"]))
    top["iterations"] = "2" if short else draw(st.sampled_from([*known.top["iterations"], "20", "20", "7"]))
    top["progress"] = draw(st.sampled_from(known.top["progress"]))
    _agree(top, chosen, data, known.top["thin"], draw)
    return chosen | top


def _agree(top: dict[str, str], chosen: dict[str, str], data: Any, known_thin: list[str], draw: Any) -> None:
    """Let keys agree with each other, mostly: what one of them asks of another."""
    if draw(st.integers(0, 15)) == 0 and top["iterations"].isdigit() and int(top["iterations"]) <= 60:
        return  # two that disagree are rejected
    if not top["iterations"].isdigit() or int(top["iterations"]) > 60:
        top["budget"] = draw(st.sampled_from(["0.001", "0.01"]))  # what alone ends the run
        top["thin"] = max(known_thin, key=int)
        for key in ("trace.partitions", "perplexity.every"):
            top.pop(key, None)
    if "budget" in top and top["budget"] != "null":
        top.pop("timing", None)
    if top.get("init") not in (None, "null", "random"):
        top.pop("K0", None)
    if top.get("init") == "truth" and not data.truth:
        top["init"] = "one_cluster"
    if top.get("init") == "labels.txt" and (chosen["N"] != "20" or data.kind == "documents"):
        top["init"] = "prior"
    items = int(chosen["N"]) if chosen["N"].isdigit() else 3
    if top.get("K0", "null").isdigit() and int(top["K0"]) > items:
        top["K0"] = "1"
    every = top.get("perplexity.every", "0")
    if every != "0":
        limited = top["iterations"].isdigit() and int(every) > int(top["iterations"])
        if data.kind != "documents" or limited or "heldout" not in data.options:
            top["perplexity.every"] = "0"
        else:
            chosen["data.heldout"] = "0.5"
            top["perplexity.particles"] = "3"
