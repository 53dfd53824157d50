"""Recorders of a run, one for each kind of data."""

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from splitmerge_cli.kinds import get_kind

if TYPE_CHECKING:
    from splitmerge_cli.config import RunSpecification
    from splitmerge_cli.data.dataset import Dataset
    from splitmerge_cli.results.read import Run
    from splitmerge_cli.runs.recorders.base import Recorder


def recorder_of(spec: "RunSpecification", dataset: "Dataset") -> "Recorder":
    """The recorder of a data set."""
    # for a run that is finished nothing of its data is imported

    recorder: Recorder = resolve_name(dataset.kind.recorder)(spec, dataset)
    return recorder


def say(run: "Run") -> None:
    """Print on stderr what the recorder of a finished run says at its end."""
    # a recorder of clusters says nothing: what it needs is not imported
    if run.has_topics:
        from splitmerge_cli.runs.recorders.topics import TopicRecorder

        TopicRecorder.say(run)
