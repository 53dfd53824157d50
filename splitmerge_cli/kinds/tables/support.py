"""Samplers that support a model, as the classes report."""

from typing import Any

from splitmerge_cli.config import ConfigError, component
from splitmerge_cli.core.model import Model
from splitmerge_cli.runs.datasets import build_model


def example(model: str, N: int = 8, **given: Any) -> Model:
    """A small instance of a model on the example of its kind of data, of N items or documents; `given`: its options.
    A ConfigError where there is no such model, or it reads another form of its kind."""
    chosen = component("model", model, **given)
    dataset = chosen.kind.example(N)
    accepted, reason = chosen.target.accepts(dataset)
    if not accepted:
        raise ConfigError(f"model={model}: {reason}")
    return build_model(chosen, dataset)


def support(sampler: str, model: Model) -> tuple[bool, str]:
    """Whether a sampler supports a model, and why not; a ConfigError where there is no such sampler."""
    supported, reason = component("sampler", sampler).target.supports(model)
    return bool(supported), reason
