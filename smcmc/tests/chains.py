"""Digests of short chains: ``python -m smcmc.tests.chains [--all]`` prints one a line.

Two installations, or two compiled variants (`splitmerge_cli.instruction_sets`), have the same chains where they print
the same.
"""

import hashlib
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

import smcmc
from splitmerge_cli import instruction_sets
from splitmerge_cli.config import ConfigError, choices, component
from splitmerge_cli.kinds.tables.rows import example, support

FEW = {"sams", "lshsm"}
"""Samplers of a quick look."""


def digests(samplers: set[str]) -> Iterator[str]:
    """Yield a line for every model that a sampler supports: model, sampler, digest of the chains."""
    for model in choices("model"):
        data = component("model", model).kind.example(60, 3)
        small = example(model, 60)
        for sampler in sorted(samplers & set(choices("sampler"))):
            if not support(sampler, small)[0]:
                continue
            chains = 3 if hasattr(component("sampler", sampler).target, "adapt_to") else 1
            options = {"timing": False, "trace.partitions": 1}
            with warnings.catch_warnings(), suppress(ConfigError):  # a sampler that needs another one as well
                warnings.simplefilter("ignore")  # short chains are what is asked for
                posterior = smcmc.sample(
                    model, data, sampler, chains=chains, iterations=60, seed=1, options=options, progress="none"
                )
                yield f"{model} {sampler} {_digest(posterior)}"


def _digest(posterior: smcmc.Posterior) -> str:
    """Digest of all that the chains recorded."""
    digest = hashlib.sha256(np.ascontiguousarray(posterior.partitions).tobytes())
    for _, values in posterior.run.trace().select_dtypes("number").items():
        digest.update(np.ascontiguousarray(values.to_numpy()).tobytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    print(f"levels: {', '.join([*instruction_sets.built_variants(), instruction_sets.BASELINE])}", file=sys.stderr)
    for line in digests(set(choices("sampler")) if "--all" in sys.argv[1:] else FEW):
        print(line)
