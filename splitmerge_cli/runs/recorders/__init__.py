"""What a run records, one recorder for each kind of data."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from splitmerge_cli.config import RunSpecification
    from splitmerge_cli.data.base import Dataset
    from splitmerge_cli.results.read import Run
    from splitmerge_cli.runs.recorders.base import Recorder


def recorder_of(spec: "RunSpecification", dataset: "Dataset") -> "Recorder":
    """The recorder of a data set."""
    if dataset.kind == "documents":
        from splitmerge_cli.runs.recorders.topics import TopicRecorder

        return TopicRecorder(spec, dataset)
    from splitmerge_cli.runs.recorders.clusters import ClusterRecorder

    return ClusterRecorder(spec, dataset)


def say(run: "Run") -> None:
    """Print on stderr what the recorder of a finished run says at its end."""
    # a recorder of clusters says nothing: what it needs is not imported
    if run.has_topics:
        from splitmerge_cli.runs.recorders.topics import TopicRecorder

        TopicRecorder.say(run)
