"""Set the version wherever it stands: ``python scripts/set_version.py 0.3.0 [--date 2027-01-31]``.

With a date the first heading of CHANGELOG.md and ``docs/versions.json`` say that it is released.
"""

import argparse
import datetime
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACES = {
    "pyproject.toml": r'(?m)^version = "(.*)"$',
    "CITATION.cff": r"(?m)^version: (.*)$",
    "recipe/recipe.yaml": r'(?m)^  version: "(.*)"$',
    "docs/cite.md": r"version = \{(.*)\},",
    "CHANGELOG.md": r"(?m)^## (\S+ \(unreleased\)|\S+ - \d{4}-\d\d-\d\d)$",
}
"""Files, and where the version stands in each: the first place counts."""


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("--date", type=datetime.date.fromisoformat, help="of the release")
    options = parser.parse_args()
    if not re.fullmatch(r"\d+\.\d+\.\d+", options.version):
        parser.error(f"{options.version}: expected three numbers, such as 0.3.0")
    for name, pattern in PLACES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        match = re.search(pattern, text)
        if match is None:
            sys.exit(f"{name}: no version")
        value = options.version
        if name == "CHANGELOG.md":
            value += f" - {options.date}" if options.date else " (unreleased)"
        (ROOT / name).write_text(text[: match.start(1)] + value + text[match.end(1) :], encoding="utf-8")
    if options.date:
        file = ROOT / "docs" / "versions.json"
        sites = json.loads(file.read_text(encoding="utf-8"))
        tag = f"v{options.version}"
        if tag not in [site["version"] for site in sites]:
            for site in sites:
                site.pop("preferred", None)
            sites.insert(1, {"version": tag, "name": options.version, "url": f"/{tag}/", "preferred": True})
        lines = ",\n".join(f"  {json.dumps(site)}" for site in sites)
        file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    subprocess.run([sys.executable, str(ROOT / "scripts" / "write_codemeta.py")], check=True)


if __name__ == "__main__":
    main()
