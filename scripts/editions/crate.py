"""The description of an archive: RO-Crate 1.1, JSON-LD written by hand, and the environment that it was made in."""

import platform
from collections.abc import Mapping
from datetime import date
from importlib.metadata import distributions
from typing import Any

from splitmerge_cli.version import __version__, commit, machine

METADATA = "ro-crate-metadata.json"
PROFILE = "https://w3id.org/ro/crate/1.1"
CONTEXT = "https://w3id.org/ro/crate/1.1/context"
LICENSE = "https://spdx.org/licenses/BSD-3-Clause"
SOFTWARE = "#smcmc"


def environment() -> dict[str, Any]:
    """Return what runs here: every distribution with its version, Python, system, processor, commit of the code.

    The commit ends in ``+changes`` where the code was edited; it is null outside a checkout.
    """
    here = machine()
    version_by_name = {d.metadata["Name"]: d.version for d in distributions() if d.metadata["Name"]}
    return {
        "smcmc": __version__,
        "commit": commit(),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "machine": {key: here[key] for key in ("processor", "processors", "system")},
        "distributions": dict(sorted(version_by_name.items(), key=lambda item: item[0].lower())),
    }


def crate(
    figures: Mapping[str, Mapping[str, Any]], runs: Mapping[str, str], files: Mapping[str, str]
) -> dict[str, Any]:
    """The metadata of an archive: flattened JSON-LD as RO-Crate 1.1 wants it.

    Figures have `title`, `paper`, `scale`, `command` and `files` (paths in the archive), by id; `runs` says what each
    folder of a run holds, by its path, which ends in a slash, `files` what every other file is.
    """
    told: list[dict[str, Any]] = []
    for name, figure in figures.items():
        for path in figure["files"]:
            told.append(_file(path, f"{figure['paper']}, {figure['title']} ({name}, {figure['scale']} scale)"))
        told.append(
            {
                "@id": f"#make-{name}",
                "@type": "CreateAction",
                "name": figure["command"],
                "instrument": {"@id": SOFTWARE},
                "result": [{"@id": path} for path in figure["files"]],
            }
        )
    told += [{"@id": path, "@type": "Dataset", "name": title} for path, title in runs.items()]
    told += [_file(path, title) for path, title in files.items()]
    parts = [{"@id": entity["@id"]} for entity in told if entity["@type"] in ("File", "Dataset")]
    actions = [{"@id": entity["@id"]} for entity in told if entity["@type"] == "CreateAction"]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Split-merge MCMC: {', '.join(figures)}",
        "description": "Runs, figures and judged claims of published papers, made by smcmc",
        "datePublished": date.today().isoformat(),
        "license": {"@id": LICENSE},
        "hasPart": parts,
        "mentions": actions,
    }
    descriptor = {
        "@id": METADATA,
        "@type": "CreativeWork",
        "conformsTo": {"@id": PROFILE},
        "about": {"@id": "./"},
    }
    version = __version__ if (code := commit()) is None else f"{__version__} (commit {code})"
    software = {"@id": SOFTWARE, "@type": "SoftwareApplication", "name": "smcmc", "softwareVersion": version}
    licence = {"@id": LICENSE, "@type": "CreativeWork", "name": "BSD 3-Clause License"}
    return {"@context": CONTEXT, "@graph": [descriptor, root, software, licence, *told]}


def _file(path: str, name: str) -> dict[str, Any]:
    kinds = {".png": "image/png", ".pdf": "application/pdf", ".csv": "text/csv", ".json": "application/json"}
    ending = next((kind for end, kind in kinds.items() if path.endswith(end)), "text/plain")
    return {"@id": path, "@type": "File", "name": name, "encodingFormat": ending}
