"""Coverage of `make sanitize`; the run itself is no part of the tests."""

import json
from unittest.mock import Mock

import pytest
import sanitize
from sanitizers.cases import STARTS
from sanitizers.combination import Rejected, run
from sanitizers.datasets import data
from sanitizers.processes import explain_end
from sanitizers.variants import samplers, values_of, variants

from splitmerge_cli.config import choice, choices, locate
from splitmerge_cli.runs.shards import items


def test_every_sampler_meets_every_model_and_all_data() -> None:
    cases = [case for group in sanitize.groups() for case in group.cases(1)]
    assert len({str(case) for case in cases}) == len(cases)
    met = {(case.model.name, case.sampler.name, case.data) for case in cases}
    offered = {variant.name for variant in samplers()}
    # a choice that another one's options amount to, such as sm, is not there twice
    targets = {choice("sampler", name)["_target_"] for name in offered}
    assert targets == {choice("sampler", name)["_target_"] for name in choices("sampler")}
    for model in choices("model"):
        kind = locate(choice("model", model)["_target_"]).kind
        ordinary = next(iter(data()[kind]))
        assert {(model, sampler, ordinary) for sampler in offered} <= met
        assert {on for name, _, on in met if name == model} == set(data()[kind])


def test_threads_meet_every_sampler_and_every_start() -> None:
    cases = [case for group in sanitize.groups(threaded=True) for case in group.cases(8)]
    assert {case.sampler.name for case in cases} == {variant.name for variant in samplers()}
    assert {case.start for case in cases if case.sampler.name == "subcluster"} == set(STARTS)
    for name, model in (("subcluster", "mixed["), ("partially_collapsed", "hdp[")):
        case = next(case for case in cases if case.sampler.name == name and str(case).startswith(model))
        assert case.threaded and run(case)[0]["iteration"][0] == 0


@pytest.mark.parametrize("model", ["gaussian", "bernoulli", "mixed"])
def test_items_in_shards_are_met(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    divided = Mock(wraps=items.sharded_subcluster)
    monkeypatch.setattr(items, "sharded_subcluster", divided)
    group = next(group for group in sanitize.groups() if str(group).startswith(f"{model}["))
    run(next(case for case in group.cases(16) if case.sampler.name == "subcluster"))
    assert [call.args[3] for call in divided.call_args_list] == [[24], [12, 0, 12]]


def test_every_value_of_an_option_is_tried() -> None:
    tried = {
        (variant.target, key, str(value))
        for group in ("model", "sampler")
        for variant in variants(group)
        for key, value in variant.options
    }
    values = {(json.loads(target)["_target_"].rpartition(".")[2], key, value) for target, key, value in tried}
    for expected in (
        ("LSHSM", "reading", "union"),
        ("LSHSM", "likelihood", "lss"),
        ("Triadic", "form", "ordered"),
        ("SMAG", "form", "box"),
        ("SDDS", "kernel", "smds"),
        ("ARM", "adaptation", "population"),
        ("Dyadic", "allocation", "gibbs"),
        ("Gaussian", "covariance", "full"),
        ("EMM", "label_prior", "as_printed"),
        ("Lines", "noise", "nig"),
        ("IRM", "concentration", "gamma(1,1)"),
        ("HDP", "alpha0", "gamma(1,1)"),
    ):
        assert expected in values


def test_an_option_that_is_not_listed_is_said() -> None:
    class Vague:
        """No OPTIONS."""

    with pytest.raises(SystemExit, match="how: expected it among the OPTIONS"):
        values_of(Vague, "how", "somehow")


@pytest.mark.slow  # `make sanitize` runs all of them
def test_a_combination_of_every_sampler_runs() -> None:
    left = {json.loads(variant.target)["_target_"] for variant in samplers()}
    for group in sanitize.groups():
        for case in group.cases(12):
            if (target := json.loads(case.sampler.target)["_target_"]) in left:
                try:
                    assert run(case)[0]["iteration"][0] == 0
                except Rejected:
                    continue
                left.remove(target)
    assert not left


def test_what_a_sanitizer_says_is_told_in_a_line() -> None:
    report = (
        "=\n==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60\nREAD of size 8\n"
        "    #0 0x7f1 in rise splitmerge_cli/_blocks.h:52\n    #1 0x7f2 in edges_added splitmerge_cli/_blocks.h:108\n"
    )
    told = explain_end(report, 1)
    assert "heap-buffer-overflow" in told
    assert told.endswith("< rise (splitmerge_cli/_blocks.h:52) < edges_added (splitmerge_cli/_blocks.h:108)")
    race = "WARNING: ThreadSanitizer: data race (pid=7)\n    #0 f build/c/splitmerge_cli/core/a.c:5 (a.so+0x1)\n"
    assert explain_end(race, 66).endswith("data race (pid=7) < f (splitmerge_cli/core/a.c:5)")
    assert explain_end("", -11) == "ended with status -11"
