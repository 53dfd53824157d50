"""Write the options of conf/model/*.yaml and conf/sampler/*.yaml, with their comments, as the classes declare them.

    python scripts/write_conf.py            write the files
    python scripts/write_conf.py --check    say which differ; exit status 1 where one does

A file keeps its first comment, the choices that it builds on, its name and its target. A value that it sets on purpose,
in place of the default of its class, has a comment that begins with `FIXED`. Classes without OPTIONS are left alone.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from splitmerge_cli.config import choice, choices, locate
from splitmerge_cli.config.components import options_of
from splitmerge_cli.core.options import Choice, Option

CONF = Path(__file__).resolve().parents[1] / "conf"
FIXED = "fixed here"
"""How the comment of a value begins that is not the default of its class."""
_COLUMN = 24
"""Where comments begin, if the value leaves room."""


def comment_of(option: Option) -> str:
    """The comment of an option: its help, and the words that it takes where the help does not name them."""
    words = option.choices if isinstance(option, Choice) else ()
    if not all(re.search(rf"\b{re.escape(word)}\b", option.help) for word in words):
        return f"{option.help}: {', '.join(words[:-1])} or {words[-1]}"
    return option.help


def value_text(value: Any) -> str:
    """A default as it stands in a file."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return value if yaml.safe_load(value) == value else f"'{value}'"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_text, value))}]"
    return str(value)


def file_text(text: str, options: Sequence[Option]) -> str:
    """The text of a file with a line for every option of its class.

    Parameters
    ----------
    text : str
        As it is. Of a file that builds on another (``defaults``) the options that it has not are left to that one.
    options : sequence of Option
        The options of the class, in their order.
    """
    head = re.match(r"(?:#.*\n)*", text)
    assert head is not None
    defaults = re.search(r"^defaults:\n(?: +.*\n)+", text, re.MULTILINE)
    lines = {match[1]: match[0] for match in re.finditer(r"^(\w+):.*\n?", text, re.MULTILINE) if match[1] != "defaults"}
    out = [head[0], defaults[0] if defaults else ""]
    out += [lines[key].rstrip("\n") + "\n" for key in ("name", "_target_") if key in lines]
    for option in options:
        line = lines.get(option.name, "")
        fixed = re.match(rf"\w+: *(.*?) +# {FIXED}", line)
        if defaults and not line:
            continue
        comment = comment_of(option)
        value = fixed[1] if fixed else value_text(option.default)
        out.append(_line(f"{option.name}: {value}", f"{FIXED}; {comment}" if fixed else comment))
    return "".join(out)


def _line(setting: str, comment: str) -> str:
    return f"{setting:<{_COLUMN - 2}}  # {comment}\n" if comment else f"{setting}\n"


def differing() -> dict[Path, str]:
    """Return the expected text of the files that hold something else."""
    text_by_file = {}
    for group in ("model", "sampler"):
        for name in choices(group):
            options = options_of(locate(choice(group, name)["_target_"]))
            file = CONF / group / f"{name}.yaml"
            text = file.read_text(encoding="utf-8")
            if options and (expected := file_text(text, list(options.values()))) != text:
                text_by_file[file] = expected
    return text_by_file


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    differing_files = differing()
    for file, text in differing_files.items():
        print(file.relative_to(CONF.parent))
        # what a value becomes is worth a look: one that is set on purpose belongs in `FIXED`
        before, after = (yaml.safe_load(each) for each in (file.read_text(encoding="utf-8"), text))
        for key in after:
            if before.get(key) != after[key]:
                print(f"  {key}: {before.get(key, 'not there')} -> {after[key]}")
        if not check:
            file.write_text(text, encoding="utf-8")
    return int(check and bool(differing_files))


if __name__ == "__main__":
    sys.exit(main())
