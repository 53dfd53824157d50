"""Recorders of a run, one for each kind of data."""

from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from splitmerge_cli.config import RunSpecification
    from splitmerge_cli.data.dataset import Dataset
    from splitmerge_cli.runs.recorders.base import Recorder


def recorder_of(spec: "RunSpecification", dataset: "Dataset") -> "Recorder":
    """The recorder of a data set."""
    recorder: Recorder = resolve_name(dataset.kind.recorder)(spec, dataset)
    return recorder
