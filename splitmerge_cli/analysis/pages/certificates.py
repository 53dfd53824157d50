"""The page of a certificate: how far chains are from their posterior, and the posterior means."""

from pathlib import Path

from splitmerge_cli.analysis.certificate import Certificate
from splitmerge_cli.analysis.pages import html
from splitmerge_cli.analysis.pages.html import element, heading, paragraph, table
from splitmerge_cli.runs.store.files import write_text


def write_report(certificate: Certificate) -> Path:
    """Write the page of a certificate to its folder."""
    config, path = certificate.config, certificate.path / "report.html"
    names = [str(config[key]["name"]) for key in ("sampler", "model", "data") if key in config]
    title = f"Certificate: {', '.join(names) or certificate.path.name}"
    body = [element("h1", title), *(paragraph(line) for line in certificate.lines())]
    if rows := certificate.shown_estimates():
        body.append(heading(2, "Posterior means", "means"))
        body.append(table(["posterior mean of", "estimate", "95 % interval"], rows, "No burn-in is needed.", [1, 2]))
    write_text(path, html.page(title, body))
    return path
