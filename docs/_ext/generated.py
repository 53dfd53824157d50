"""Pages and parts of pages that come from the code and from stored results.

Before a build `docs/_generated` gets the pages of reproduced papers. While a page of docs/samplers is read, what the
code and docs/samplers/verification.csv say of that sampler is put below its text; below that of the bibliography, the
works of docs/articles/references.yaml.
"""

from pathlib import Path

import bibliography
import reproduction
import sampler_pages
from sphinx.application import Sphinx


def _write_pages(app: Sphinx) -> None:
    reproduction.write(Path(app.srcdir))


def _add_parts(app: Sphinx, name: str, source: list[str]) -> None:
    folder, _, page = name.partition("/")
    if folder == "samplers":
        source[0] += sampler_pages.overview() if page == "index" else sampler_pages.part(Path(app.srcdir), page)
    elif name == "bibliography":
        source[0] += bibliography.sections(Path(app.srcdir) / "articles" / "references.yaml")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register both events."""
    app.connect("builder-inited", _write_pages)
    app.connect("source-read", _add_parts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
