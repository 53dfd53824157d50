"""Every configuration is run, or rejected with one message that names the key; nothing else happens."""

import pytest
from child import Child, Ended
from configurations import configurations

from splitmerge_cli.config import choice, choices

pytestmark = pytest.mark.slow  # the catalogue, of every value that an option takes, costs more than its few cases


def test_configurations(child: Child, fuzz, cases: int) -> None:
    known = child("commands.get_catalogue")
    number = 0

    def check(args: list[str]) -> tuple[str, str]:
        nonlocal number
        number += 1
        try:
            return child("commands.configuration", args, number % 8 == 0, number % 100 == 0)
        except Ended as error:
            return "traceback", str(error)

    tally = fuzz(configurations(known), check)
    # of the few, whose seed is fixed, five
    assert tally["accepted"] >= cases / 3


@pytest.mark.parametrize(("group", "named"), [("data", "data"), ("model", "models"), ("sampler", "samplers")])
def test_every_choice_and_option_is_drawn(child: Child, group: str, named: str) -> None:
    drawn = getattr(child("commands.get_catalogue"), named)
    # files of the user's own are named READER:FILE
    assert {name.partition(":")[0] for name in drawn} == set(choices(group))
    for name, found in drawn.items():
        assert all(found.options.values()), name
        if ":" not in name:
            follows_N = {key for key, value in choice(group, name).items() if value == "${N}"}
            assert {*found.options, *follows_N, "name", "_target_"} == {*choice(group, name), "name", "_target_"}
