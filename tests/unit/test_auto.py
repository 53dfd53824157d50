"""``sampler=auto``: what stands for it, where it is the default, and how it is chosen."""

import numpy as np
import pandas as pd
import pytest

import smcmc
from splitmerge_cli.config import choices, compose, resolution, specify
from splitmerge_cli.papers.comparisons import figures


def test_it_is_the_default_and_stands_for_what_it_takes() -> None:
    found, _ = resolution.choice_for("irm")
    default = compose(["data=networkx", "iterations=10"])
    asked = compose(["data=networkx", "sampler=auto", "iterations=10"])
    named = compose(["data=networkx", f"sampler={found.sampler}", f"schedule.moves={found.moves}", "iterations=10"])
    assert default.identity == asked.identity == named.identity
    assert resolution.AUTO not in choices("sampler")


def test_a_schedule_of_the_users_own_stays() -> None:
    found, _ = resolution.choice_for("gaussian")
    alone = compose(["data=gaussian", "schedule=move_only", "iterations=10"])
    assert (alone.sampler_name, alone.schedule.name) == (found.single, "move_only")
    several = compose(["data=gaussian", "schedule.moves=3", "iterations=10"])
    assert (several.sampler_name, several.schedule.moves) == (found.single, 3)
    mixed = compose(["data=gaussian", "schedule=[{sams: 1}, {gibbs: 2}]", "iterations=10"])
    assert [sampler.name for sampler in mixed.samplers] == ["sams", "gibbs"]


@pytest.mark.parametrize("data", ["gaussian", "jain_neal", "lines", "mixed", "network", "docs200"])
def test_it_says_what_it_took(data: str) -> None:
    spec = specify([f"data={data}"])
    assert spec.automatic is not None and spec.automatic.startswith(f"sampler=auto: {spec.sampler_name}")
    assert spec.automatic.endswith("best of 7 over 210 data sets") and len(spec.automatic) <= 67
    assert specify([f"data={data}", "sampler=gibbs"]).automatic is None
    assert specify([f"data={data}", "schedule=[{gibbs: 1}]"]).automatic is None


def test_the_entity_mention_model_takes_what_crosses_between_its_modes() -> None:
    spec = specify(["data=emm"])
    assert (spec.sampler_name, spec.schedule.moves) == ("independence", 5)
    assert spec.automatic is not None and spec.automatic.endswith("its proposals cross between modes of model=emm)")
    assert specify(["data=emm", "schedule=move_only"]).sampler_name == "independence"


def test_python_says_it_where_it_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    rows = np.random.default_rng(0).normal(size=(12, 2))
    own = {"iterations": 5, "chains": 2, "progress": "none"}
    default = smcmc.sample("gaussian", rows, **own)
    assert not capsys.readouterr().out
    asked = smcmc.sample("gaussian", rows, "auto", **own)
    assert capsys.readouterr().out.startswith("sampler=auto: ")
    assert asked.labels.tolist() == default.labels.tolist()


def test_a_model_of_no_race_takes_what_was_best_over_all() -> None:
    found, _ = resolution.choice_for("my_own")
    assert found.model == resolution.ANY and found.sampler in choices("sampler")
    assert "was in no race" in resolution.explain({"name": "my_own"}, {"name": "full_scan", "moves": 1})


def chains(times: dict[str, list[float]], model: str = "gaussian") -> pd.DataFrame:
    """A table as of `figures.table`: seconds of each schedule on data sets 0, 1, ..., from one start."""
    rows = [
        {"model": model, "items": 100, "data": f"seed={k}", "schedule": name, "start": "one", "seconds": t, "end": 10.0}
        for name, seconds in times.items()
        for k, t in enumerate(seconds)
    ]
    return pd.DataFrame(rows)


def test_the_choice_is_that_of_the_smallest_mean_loss_and_is_judged_on_data_left_out() -> None:
    table = chains({"sams": [1, 1, 1, 8], "5 sams": [2, 2, 2, 1], "lshsm": [0.5, 4, 4, 4], "gibbs": [3, 3, 3, np.inf]})
    behind = figures.losses(table)
    assert np.exp(behind["sams"]).round(6).tolist() == [2, 1, 1, 8]
    assert np.exp(behind["gibbs"]).round(6).tolist() == [6, 3, 3, 10]
    # five moves lose 4, 2, 2, 1 and sams 2, 1, 1, 8: equal sums of logarithms are broken by the last data set
    assert np.exp(figures.heldout_losses(behind)).round(6).tolist() == [4, 2, 2, 8]
    row = figures.rule(table).set_index("model").loc["gaussian"]
    assert (row["sampler"], row["single"], row["sets"]) == ("sams", "sams", 4)


def test_a_sampler_that_did_not_run_everywhere_is_not_chosen() -> None:
    table = pd.concat([chains({"sams": [4, 4], "sdds": [1, 1]}), chains({"sams": [4, 4], "sdds": [1]}, "emm")])
    found = figures.rule(table).set_index("model")["sampler"]
    assert found.to_dict() == {"gaussian": "sdds", "emm": "sams", resolution.ANY: "sams"}


def test_a_model_departs_from_the_usual_choice_where_its_own_is_clearly_better() -> None:
    usual = chains({"sams": [1] * 8, "sdds": [4] * 8}, "gaussian")
    close = chains({"sams": [1, 9, 2, 3], "sdds": [2, 2, 2, 2]}, "emm")
    clear = chains({"sams": [8, 9, 7, 8], "sdds": [2, 2, 2, 2]}, "lines")
    found = figures.rule(pd.concat([usual, close, clear])).set_index("model")["sampler"]
    assert found.to_dict() == {"gaussian": "sams", "emm": "sams", "lines": "sdds", resolution.ANY: "sams"}
