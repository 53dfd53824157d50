"""Write the options of conf/model/*.yaml and conf/sampler/*.yaml, with their comments, as the classes declare them.

    python scripts/write_conf.py            write the files
    python scripts/write_conf.py --check    say which differ; exit status 1 where one does

Classes without OPTIONS are left alone.
"""

import argparse
import sys
from pathlib import Path

import yaml

from splitmerge_cli.config import choice, choices, locate
from splitmerge_cli.config.components import options_of
from splitmerge_cli.config.files import file_text

CONF = Path(__file__).resolve().parents[1] / "conf"


def differing() -> dict[Path, str]:
    """Return the expected text of the files that hold something else."""
    found = {}
    for group in ("model", "sampler"):
        for name in choices(group):
            options = options_of(locate(choice(group, name)["_target_"]))
            file = CONF / group / f"{name}.yaml"
            text = file.read_text(encoding="utf-8")
            if options and (expected := file_text(text, list(options.values()))) != text:
                found[file] = expected
    return found


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    found = differing()
    for file, text in found.items():
        print(file.relative_to(CONF.parent))
        # what a value becomes is worth a look: one that is set on purpose belongs in `FIXED`
        before, after = (yaml.safe_load(of) for of in (file.read_text(encoding="utf-8"), text))
        for key in after:
            if before.get(key) != after[key]:
                print(f"  {key}: {before.get(key, 'not there')} -> {after[key]}")
        if not check:
            file.write_text(text, encoding="utf-8")
    return int(check and bool(found))


if __name__ == "__main__":
    sys.exit(main())
