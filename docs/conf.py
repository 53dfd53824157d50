"""The site: `make docs` builds docs/_build/html from the pages of this folder.

Where SMCMC_DOCS_VERSION names a version of docs/versions.json, the site is one of several that stand side by side below
one address, and a menu leads to the others (RELEASING.md).
"""

import os
import sys
from importlib.metadata import metadata
from importlib.metadata import version as version_of
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "_ext"), str(Path(__file__).parents[1] / "scripts")]

project = "smcmc"
author = "the smcmc maintainers"
copyright = f"2026, {author}"
release = version = version_of("smcmc")

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinxcontrib.bibtex",
    "mathml",
    "generated",
    "front",
]
exclude_patterns = [
    "_build",
    "_ext",
    "reproduction",
    "articles",
    "_generated/articles",
    "decisions/0*",
    # of contributors, who have them in the checkout; links to them are downloads
    "draw-by-draw.md",
    "extending/kind.md",
    "extending/paper.md",
    "internals.md",
    "modules.md",
    "style.md",
]
nitpicky = True
# pages of these classes list their members, which have no entries of their own
LISTED = r"splitmerge_cli\.(core\.(model|partition|history|prior|capabilities)\.\w+|data\.dataset\.Dataset)\..*"
nitpick_ignore_regex = [("py:obj", LISTED)]
bibtex_bibfiles = ["articles/references.bib"]
bibtex_default_style = "alpha"
bibtex_reference_style = "author_year"

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # scripts/execute_notebooks.py executes notebooks, scripts/draw_pages.py the pages of data
suppress_warnings = ["misc.highlighting_failure"]  # commands of a notebook that begin with !

autodoc_typehints = "none"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
templates_path = ["_templates"]

highlight_language = "text"
html_theme = "pydata_sphinx_theme"
html_title = "smcmc"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_math_renderer = "mathml"
copybutton_exclude = ".linenos, .gp, .go"  # of a session the commands alone
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "navigation_depth": 3,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": ["licence"],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
urls = dict(line.split(", ", 1) for line in metadata("smcmc").get_all("Project-URL", []))
if "Repository" in urls:
    html_theme_options["github_url"] = urls["Repository"]
if site_version := os.environ.get("SMCMC_DOCS_VERSION"):
    html_theme_options["switcher"] = {"json_url": "/versions.json", "version_match": site_version}
    html_theme_options["navbar_end"] = ["version-switcher", "theme-switcher", "navbar-icon-links"]
    html_theme_options["check_switcher"] = False  # the file is of the address, not of this build
linkcheck_anchors = False
linkcheck_timeout = 20
