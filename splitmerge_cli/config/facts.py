"""What must be known of packaged classes before they are imported: the defaults of two keys depend on it.

A test compares it with the classes.
"""

from typing import Any

from splitmerge_cli.config.targets import locate

_PACKAGE = "splitmerge_cli."
_OF_DOCUMENTS = {"splitmerge_cli.models.hdp.HDP"}
_ADAPTIVE = {"splitmerge_cli.samplers.arm.ARM", "splitmerge_cli.samplers.bsm.BSM"}


def of_documents(model: Any) -> bool:
    """Whether the model of this target reads documents."""
    if isinstance(model, str) and model.startswith(_PACKAGE):
        return model in _OF_DOCUMENTS
    return bool(locate(model).kind == "documents")


def is_adaptive(sampler: Any) -> bool:
    """Whether the sampler of this target learns from the history of all chains of a run."""
    if isinstance(sampler, str) and sampler.startswith(_PACKAGE):
        return sampler in _ADAPTIVE
    return hasattr(locate(sampler), "adapt_to")
