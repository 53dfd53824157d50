"""Pages and parts of pages that come from the code and from stored results.

Before a build `docs/_generated` gets the pages of reproduced papers. While a page of docs/samplers or docs/models is
read, what the code and docs/samplers/verification.csv say of that sampler or model is put into it; the references of
commands and keys likewise get their tables. Links to decisions and to pages of contributors, which `exclude_patterns`
of conf.py names, become downloads.
"""

import re
from pathlib import Path

import command_pages
import key_pages
import model_pages
import reproduction
import sampler_pages
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

PAGES = r"draw-by-draw|internals|kind|modules|paper|style|reproduction/README"
FILE = re.compile(rf"\[([^\]]+)\]\(((?:[\w./]*/)?(?:\d{{4}}-[\w-]+|{PAGES})\.md)(?:#[\w-]+)?\)")
"""A link to a decision or a page of contributors, which the site has as files to download."""
REFERENCES = {"commands": command_pages, "keys": key_pages}


def _write_pages(app: Sphinx) -> None:
    reproduction.write(Path(app.srcdir))


def _add_parts(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = FILE.sub(lambda link: f"{{download}}`{link[1].replace('`', '')} <{link[2]}>`", source[0])
    folder, _, page = name.partition("/")
    if folder == "samplers":
        source[0] += sampler_pages.overview() if page == "index" else sampler_pages.part(Path(app.srcdir), page)
    elif folder == "models":
        source[0] = source[0] + model_pages.overview() if page == "index" else model_pages.complete(source[0], page)
    elif name in REFERENCES:
        source[0] += REFERENCES[name].part()


def _list_pages(app: Sphinx, env: BuildEnvironment, *_: set[str]) -> list[str]:
    """Pages that are read in every build, since the code that they come from may have changed."""
    return [name for name in env.found_docs if name in REFERENCES or name.startswith(("samplers/", "models/"))]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all."""
    app.connect("env-get-outdated", _list_pages)
    app.connect("builder-inited", _write_pages)
    app.connect("source-read", _add_parts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
