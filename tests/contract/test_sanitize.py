"""What `make sanitize` covers; the run itself is no part of the tests."""

import json

import pytest
import sanitize
from sanitizers.combination import Rejected, run
from sanitizers.datasets import data
from sanitizers.processes import explained
from sanitizers.variants import samplers, values_of, variants

from splitmerge_cli.config import choice, choices, locate


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
    told = explained(report, 1)
    assert "heap-buffer-overflow" in told
    assert told.endswith("< rise (splitmerge_cli/_blocks.h:52) < edges_added (splitmerge_cli/_blocks.h:108)")
    assert explained("", -11) == "ended with status -11"
