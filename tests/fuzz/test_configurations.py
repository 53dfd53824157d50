"""Every configuration is run, or refused with one message that names the key; nothing else happens."""

import pytest
from child import Child, Ended
from configurations import configurations


def test_configurations(child: Child, fuzz, cases: int) -> None:
    known = child("commands.derived")
    number = 0

    def check(args: list[str]) -> tuple[str, str]:
        nonlocal number
        number += 1
        try:
            return child("commands.configuration", args, number % 8 == 0, number % 100 == 0)
        except Ended as error:
            return "traceback", str(error)

    tally = fuzz(configurations(known), check)
    assert tally["accepted"] >= cases / 2


@pytest.mark.parametrize("group", ["data", "models", "samplers"])
def test_every_choice_is_drawn(child: Child, group: str) -> None:
    known = child("commands.derived")
    assert getattr(known, group)
