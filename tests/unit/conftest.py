"""Figures of papers that can be printed."""

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def printable(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever figure of a paper a test draws, it can be printed as it is."""
    if not request.module.__name__.rpartition(".")[2].startswith("test_figures"):
        yield
        return
    from printing import problems

    from splitmerge_cli.papers.drawing import Drawing

    found: list[str] = []
    plain = Drawing.__init__

    def inspect_drawing(self: Drawing, *args: Any, **kwargs: Any) -> None:
        plain(self, *args, **kwargs)
        # at once: the style is that of the drawing
        found.extend(problems(self.figure))

    monkeypatch.setattr(Drawing, "__init__", inspect_drawing)
    yield
    assert not found
