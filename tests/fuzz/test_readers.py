"""Every file that is read becomes a data set whose invariants hold, or one message that names it; nothing else."""

from child import Child, Ended
from files_drawn import Case
from files_drawn import cases as drawn

FEW = 75
"""A case takes some milliseconds."""


def test_readers(child: Child, fuzz, cases: int) -> None:
    readers = child("readers.names")
    published = {
        name: {file: child("readers.content", name, file) for file in files} for name, files in readers.items()
    }
    published = {name: files for name, files in published.items() if files}

    def check(case: Case) -> tuple[str, str]:
        try:
            return child("readers.read", case.reader, case.options, case.files, case.expected)
        except Ended as error:
            return "traceback", str(error)

    tally = fuzz(drawn(published), check)
    assert tally["accepted"] >= cases / 4 and tally["rejected"] >= cases / 10
