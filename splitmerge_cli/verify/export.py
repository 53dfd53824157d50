"""Posteriors written as data of their own, which any program can be tested against: `smcmc posteriors export`.

The posteriors of `small_posteriors` have the probability of every state, the ones of `large_posteriors` have means that
were made before. ``exported/README.md`` describes the files, and is one of them.
"""

from importlib import import_module, resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from splitmerge_cli.config import ConfigError
from splitmerge_cli.priors import priors, specification
from splitmerge_cli.runs.store.manifest import sha256_of
from splitmerge_cli.runs.store.tables import SealedFolder
from splitmerge_cli.verify import large_posteriors, small_posteriors
from splitmerge_cli.verify.large_posteriors import LARGEST, LargePosterior
from splitmerge_cli.verify.small_posteriors import Posterior
from splitmerge_cli.version import __version__

COMMAND = "smcmc posteriors export"
INDEX, MODELS = "index.json", "MODELS.md"
FORMAT = 1
TEXTS = "README.md", "reader.py"
"""Files that are copied."""
IMPLIED = {"power": 1.0, "resolution": 0.0}
"""Hyper-parameters that may be absent, and what they are then."""


def export(folder: Path) -> list[dict[str, Any]]:
    """Write all posteriors to a folder, and return a line for each: id, kind, model, prior, N.

    A `ConfigError` says that this version of NumPy generates other data than those that the stored means are of.
    """
    entries = []
    with SealedFolder(folder) as files:
        for name in ("data", "posteriors", "reference"):
            (folder / name).mkdir(exist_ok=True)
        for case in small_posteriors.cases():
            reference, summary = _states(case)
            entries.append(_add(files, case, "enumerated", reference, summary, {"by": "enumeration"}))
        means, runs = large_posteriors.read_means()
        for large in large_posteriors.large_posteriors():
            run = runs.loc[large.id].to_dict()
            if run.pop("data_sha256") != large.digest:
                raise ConfigError(
                    f"{large.id}: NumPy {np.__version__} generates other data than those that the stored means are "
                    "of; expected the version of smcmc's requirements"
                )
            of_case = means.loc[means["id"] == large.id].drop(columns="id").reset_index(drop=True)
            provenance = {"by": "coupled pairs of chains", "script": "scripts/certify_posteriors.py", **run}
            entries.append(_add(files, large, "certified", of_case, {}, provenance))
        for name in TEXTS:
            files.add_text(name, _text(name))
        files.add_text(MODELS, _models())
        files.add_json(INDEX, {"format": FORMAT, "version": __version__, "command": COMMAND, "posteriors": entries})
    return entries


def _add(
    files: SealedFolder,
    case: Posterior | LargePosterior,
    kind: str,
    reference: pd.DataFrame,
    summary: dict[str, Any],
    provenance: dict[str, Any],
) -> dict[str, Any]:
    """Write the files of one posterior; return its line of the index."""
    data = files.add_json(f"data/{case.id}.json", case.data)
    files.add_csv(f"reference/{case.id}", reference)
    hyper = {key: value for key, value in case.hyperparameters.items() if IMPLIED.get(key) != value}
    prior = hyper.pop("prior", None)
    line = {"id": case.id, "kind": kind, "model": case.model, "prior": prior and specification(prior).name}
    line["N"] = case.n_items
    if prior:
        hyper |= {key: value if isinstance(value, float) else str(value) for key, value in specification(prior).options}
    made = {"program": "smcmc", "version": __version__, "command": COMMAND}
    parts = {"data": data, "reference": files.path / f"reference/{case.id}.csv"}
    files.add_json(
        f"posteriors/{case.id}.json",
        {
            **line,
            "hyperparameters": {key: _hyperparameter(value) for key, value in hyper.items()},
            **{
                name: {"file": path.relative_to(files.path).as_posix(), "sha256": sha256_of(path)}
                for name, path in parts.items()
            },
            "summary": summary,
            "provenance": made | provenance,
        },
    )
    return line


def _hyperparameter(value: Any) -> Any:
    """A hyper-parameter for JSON; a pair (shape, rate) with its names."""
    if isinstance(value, tuple):
        return {"distribution": "gamma", "shape": value[0], "rate": value[1]}
    return value


def _states(case: Posterior) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Every state with its probability, and what follows from them."""
    table = case.table()
    z, p = np.stack(table["labels"].to_list()), table["probability"].to_numpy()
    sizes = np.sort((z[:, :, None] == np.arange(case.n_items)).sum(axis=1), axis=1)[:, ::-1][:, :LARGEST]
    together = np.array([[p @ (z[:, i] == z[:, j]) for j in range(case.n_items)] for i in range(case.n_items)])
    summary = {
        "states": len(table),
        "mean_K": float(p @ table["K"]),
        "mean_clusters": float(p @ (z.max(axis=1) + 1)),
        "largest": (p @ sizes / case.n_items).tolist(),
        "co_clustering": together.tolist(),
    }
    # numbers of clusters are digits, since no case has more than ten items; the last digits depend on the machine
    labels = ["".join(map(str, row)) for row in z.tolist()]
    rounded = {"labels": labels, "K": table["K"], "probability": [f"{value:.12g}" for value in p]}
    return pd.DataFrame(rounded), small_posteriors.round_all(summary)


def _text(name: str) -> str:
    return (resources.files("splitmerge_cli.verify.exported") / name).read_text(encoding="utf-8")


def _models() -> str:
    """The description of models and priors; a prior that it has not, with the text of its own module."""
    text = _text(MODELS)
    for name, prior in priors().items():
        if f"\n## Prior {name}\n" not in text:
            text += f"\n## Prior {name}\n\n{(import_module(prior.__module__).__doc__ or '').strip()}\n"
    return text
