"""Print what the package, with the named extras, requires: for pip, which learns it of a source tree only by compiling
it. usage: list_requirements.py [--oldest] [EXTRA]...; --oldest: the lowest version of each that is allowed"""

import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def of_extras(extras: Sequence[str]) -> Iterator[str]:
    """Requirements of extras; one that is made of others has theirs."""
    for extra in extras:
        for requirement in PROJECT["optional-dependencies"][extra]:
            if others := re.fullmatch(rf"{PROJECT['name']}\[(.*)\]", requirement):
                yield from of_extras(others[1].split(","))
            else:
                yield requirement


if __name__ == "__main__":
    oldest = sys.argv[1:2] == ["--oldest"]
    listed = [*PROJECT["dependencies"], *of_extras(sys.argv[1 + oldest :])]
    print("\n".join(re.sub(r">=([^,]*).*", r"==\1", each) if oldest else each for each in listed))
