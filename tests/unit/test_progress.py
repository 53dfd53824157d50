"""Lines of progress."""

import pytest

from splitmerge_cli.runs.progress import FAR, ChainProgress, Lines


@pytest.mark.parametrize(
    ("fraction", "left", "end"),
    [(0.5, 90.4, "-5.0  0:01:30 left"), (0.5, FAR, "-5.0"), (1.0, 0.0, "-5.0")],
)
def test_a_line_says_how_long_the_chain_will_take(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fraction: float, left: float, end: str
) -> None:
    monkeypatch.setattr("splitmerge_cli.runs.progress.LINE_EVERY", 0.0)
    Lines().update(2, ChainProgress(100, fraction, 10.0, 7, -5.0, left))
    line = capsys.readouterr().err
    assert line.startswith(f"chain 2: {fraction:4.0%}  100 iterations  10 it/s  K=7")
    assert line.endswith(f"{end}\n")
