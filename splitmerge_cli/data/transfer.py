"""How far a download is, on stderr: a bar in a terminal, a line every ten megabytes elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from splitmerge_cli.data.published.download import Report
from splitmerge_cli.terminal import console

LINE_EVERY = 10_000_000
"""Bytes between two lines."""


@contextmanager
def show_progress() -> Iterator[Report]:
    """Yield a report for `splitmerge_cli.data.published.sets.fetch`, which shows its progress."""
    if not sys.stderr.isatty():
        yield _line()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def redraw(name: str, here: int, size: int | None) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=size)
            progress.update(tasks[name], completed=here)

        yield redraw


def _line() -> Report:
    printed: dict[str, int] = {}

    def tell(name: str, here: int, size: int | None) -> None:
        if here // LINE_EVERY > printed.get(name, 0) or here == size:
            printed[name] = here // LINE_EVERY
            whole = "" if size is None else f" of {size:,}"
            print(f"{name}: {here:,}{whole} bytes", file=sys.stderr)

    return tell
