"""Which sampler supports which model, asked of the classes themselves."""

from splitmerge_cli.config import choice, choices, compose, locate, plain
from splitmerge_cli.core.model import Model
from splitmerge_cli.runs.datasets import construct, kind_of, loaded

_EXAMPLES = {"tokens": "emm", "binary": "jain_neal", "points": "gaussian", "graph": "network", "documents": "docs200"}
"""A generated data set of each kind."""


def example(model: str) -> Model:
    """A small instance of a model.

    Raises
    ------
    ConfigError
        There is no such model.
    """
    kind = kind_of(choice("model", model))
    # a model may read a form of its kind alone, as lines do; the data set of its name has that
    data = model if model in choices("data") else _EXAMPLES[kind]
    cfg = compose([f"model={model}", f"data={data}", "N=8"])
    dataset = loaded(plain(cfg.data), kind, {})
    built: Model = construct("model", cfg.model, lambda cls, options: cls.from_data(dataset, **options))
    return built


def support(sampler: str, model: Model) -> tuple[bool, str]:
    """Whether a sampler supports a model, and why not.

    Raises
    ------
    ConfigError
        There is no such sampler.
    """
    supported, reason = locate(choice("sampler", sampler)["_target_"]).supports(model)
    return bool(supported), reason
