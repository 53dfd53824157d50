"""Write codemeta.json from pyproject.toml and CITATION.cff.

    python scripts/write_codemeta.py            write it
    python scripts/write_codemeta.py --check    write nothing; exit status 1 where the file differs

Addresses come from `[project.urls]`; there are none until the repository is published.
"""

import argparse
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "codemeta.json"
TERMS = {"Repository": "codeRepository", "Documentation": "softwareHelp", "Issues": "issueTracker"}
"""Terms of CodeMeta, by the names of addresses in pyproject.toml."""


def publication(work: dict[str, Any]) -> dict[str, Any]:
    """A reference of CITATION.cff as a scholarly article."""
    address = {"@id": f"https://doi.org/{work['doi']}"} if "doi" in work else {}
    authors = [
        {"@type": "Person", "givenName": one["given-names"], "familyName": one["family-names"]}
        for one in work["authors"]
    ]
    about = {"name": work["title"], "author": authors, "datePublished": str(work["year"])}
    return {"@type": "ScholarlyArticle", **address, **about}


def text() -> str:
    """The contents of codemeta.json, in version 3.0 of CodeMeta."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    languages = [one.rpartition(" :: ")[2] for one in project["classifiers"] if one.startswith("Programming Language")]
    about = {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": project["name"],
        "description": cited["abstract"],
        "version": project["version"],
        "license": f"https://spdx.org/licenses/{project['license']}",
        "keywords": project["keywords"],
        "programmingLanguage": ["Python", *(name for name in languages if name in ("C", "Cython"))],
        "runtimePlatform": f"Python {project['requires-python']}",
        "author": [{"@type": "Organization", "name": one["name"]} for one in cited["authors"]],
        **{TERMS[name]: url for name, url in project.get("urls", {}).items() if name in TERMS},
        "referencePublication": [publication(work) for work in cited["references"]],
    }
    return json.dumps(about, indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the file, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        FILE.write_text(text(), encoding="utf-8")
    elif not FILE.is_file() or FILE.read_text(encoding="utf-8") != text():
        print(f"{FILE.name} differs: python scripts/write_codemeta.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
