"""Which sampler supports which model, asked of the classes themselves."""

from typing import Any

from splitmerge_cli.config import ConfigError, choice, locate
from splitmerge_cli.core.model import Model
from splitmerge_cli.runs.datasets import construct, kind_of


def example(model: str, N: int = 8, **given: Any) -> Model:
    """A small instance of a model on the example of its kind of data, of N items or documents; `given`: its options.

    Raises
    ------
    ConfigError
        There is no such model, or it reads another form of its kind.
    """
    options = choice("model", model) | given
    dataset = kind_of(options).example(N)
    accepted, reason = locate(options["_target_"]).accepts(dataset)
    if not accepted:
        raise ConfigError(f"model={model}: {reason}")
    built: Model = construct("model", options, lambda cls, named: cls.from_data(dataset, **named))
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
