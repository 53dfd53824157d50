"""The pages of finished runs and of a certificate. A run has its clusters, their number and certainty, whether the
model fits, chains, how to repeat it.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from splitmerge_cli import overrides, received
from splitmerge_cli.analysis import comparison
from splitmerge_cli.analysis.certificate import Certificate
from splitmerge_cli.analysis.comparison import answers, commands
from splitmerge_cli.analysis.pages import html
from splitmerge_cli.analysis.pages.html import Markup, element, heading, join, paragraph, sections_of_fit, table
from splitmerge_cli.analysis.plots import races, style
from splitmerge_cli.analysis.plots.run import all_pictures, pictures
from splitmerge_cli.config import ConfigError, specification, usable_choices
from splitmerge_cli.diagnostics.cluster_table import count_of, network_columns, number, plural_of, share_text
from splitmerge_cli.runs import advice, checks, initial, starts, summaries
from splitmerge_cli.runs.answers import answers_of, kind_of
from splitmerge_cli.runs.grouping import count_listed, describe_groups, has_units, nouns, total_size
from splitmerge_cli.runs.judgement import judgement_of
from splitmerge_cli.runs.store.files import write_text
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.store.schema import UNIT

if TYPE_CHECKING:
    import pandas as pd

MOST_CLUSTERS = 40
"""Clusters that are listed."""
OUTWARD = "outward: share of the pairs with other nodes"
MOST_ITEMS = 12
"""Items of least certainty that are listed."""
CERTAIN = 0.995
"""Certainty from which on an item is not listed as one of the least certain: it is 1.00 in two digits."""
SURE = 0.9
"""Certainty from which on items are counted as certain."""
Rows = list[dict[str, str]]


def write_report(runs: Sequence[Run]) -> Path:
    """Write the page of one run to its folder, of several to the folder ``reports`` of the results."""
    if len(runs) == 1:
        path = runs[0].path / "report.html"
    else:
        ids = json.dumps([run.path.name for run in runs])
        folder = runs[0].path.parents[1] / "reports"
        folder.mkdir(exist_ok=True)
        path = folder / f"{hashlib.sha256(ids.encode()).hexdigest()[:12]}.html"
    write_text(path, page_of(runs))
    return path


def write_certificate(certificate: Certificate) -> Path:
    """Write the page of a certificate, how far chains are from the posterior, and posterior means, to its folder."""
    config, path = certificate.config, certificate.path / "report.html"
    names = [str(config[key]["name"]) for key in ("sampler", "model", "data") if key in config]
    title = f"Certificate: {', '.join(names) or certificate.path.name}"
    body = [element("h1", title), *(paragraph(line) for line in certificate.lines())]
    if rows := certificate.shown_estimates():
        body.append(heading(2, "Posterior means", "means"))
        body.append(table(["posterior mean of", "estimate", "95 % interval"], rows, "No burn-in is needed.", [1, 2]))
    write_text(path, html.page(title, body))
    return path


def page_of(runs: Sequence[Run]) -> str:
    """The page in HTML; a `ConfigError` names a run that is not finished."""
    for run in runs:
        if not run.is_done:
            raise ConfigError(f"{run.path}: expected a finished run, got one that is {run.missing}")
    if len(runs) == 1:
        title = f"{_subject(runs[0])}: report"
        return html.page(title, [element("h1", _subject(runs[0])), *_sections(runs[0], runs, "", 2)])
    body: list[Markup] = [element("h1", f"{len(runs)} runs compared"), *_comparison(runs)]
    for k, run in enumerate(runs, 1):
        body += [heading(2, f"Run {k}: {_subject(run)}", f"run-{k}"), *_sections(run, runs, f"run-{k}-", 3)]
    return html.page(f"{len(runs)} runs: report", body)


def _subject(run: Run) -> str:
    return f"{plural_of(nouns(run.summary)[1]).capitalize()} of {races.data_name(run)}".replace("\\$", "$")


def _sections(run: Run, at_hand: Sequence[Run], prefix: str, level: int) -> Iterator[Markup]:
    """The sections of one run, under headings of a level."""
    unit = plural_of(nouns(run.summary)[1]).capitalize()
    rows, columns, trouble = _tables(run)
    rows, outliers = summaries.set_apart(rows, total_size(run.summary))

    def draw_parts(section: str) -> Iterator[Markup]:
        return _pictures(run, section, level + 1, prefix)

    sections = [
        ("Result", "result", lambda: _result(run)),
        (unit, "clusters", lambda: chain(_clusters(run, rows, outliers, columns, trouble), draw_parts("clusters"))),
        (f"Number of {unit.lower()}", "number", lambda: chain(_number(run), draw_parts("number"))),
        ("Certainty", "certainty", lambda: chain(_certainty(run), draw_parts("certainty"))),
        ("Does the model fit?", "fit", lambda: sections_of_fit(run)),
        ("How the answer moves", "moves", lambda: _moves(run, at_hand)),
        ("What to do next", "next", lambda: _next(run, columns is not None)),
        ("Chains", "chains", lambda: chain(_chains(run), draw_parts("chains"))),
        ("Repeat it", "repeat", lambda: _repeat(run)),
    ]
    links = join([element("a", name, href=f"#{prefix}{anchor}") for name, anchor, _ in sections], " · ")
    yield element("nav", links, "soft")
    for name, anchor, make in sections:
        yield heading(level, name, prefix + anchor)
        yield from make()


# -- several runs
def _comparison(runs: Sequence[Run]) -> Iterator[Markup]:
    frame = comparison.compare(runs)
    truth = bool(frame["ari"].notna().any())
    heads = ["run", "differs in", *(comparison.HEAD if truth else comparison.HEAD[:-1])]
    rows = [
        [element("a", k, href=f"#run-{k}"), row.job or "–", *comparison.cells(row, truth)]
        for k, row in enumerate(frame.itertuples(index=False), 1)
    ]
    right = [j for j, head in enumerate(heads) if head in comparison.HEAD and head != "converged"]
    yield table(heads, rows, "Finished runs; a link leads to each.", right, "wide")
    if len(runs) > comparison.MOST_RUNS:
        return
    distances, apart = comparison.measure_distances(runs)
    if distances["vi"].notna().any():
        numbers = range(1, len(runs) + 1)
        yield table(
            ["run", *numbers],
            [[k, *cells] for k, cells in zip(numbers, comparison.distance_rows(distances, len(runs)), strict=True)],
            "Between the estimates: variation of information in nats below the diagonal (0: the same partition), "
            "adjusted Rand index above it (1: the same).",
            numbers=numbers,
            css="auto",
        )
    if apart:
        yield paragraph("No distance, because the items differ:")
        yield html.items(apart)


# -- one run
def _tables(run: Run) -> tuple[Rows, Rows | None, str]:
    """Return the clusters and columns of `summaries.tables`, and why they are missing; documents have neither."""
    answers = answers_of(kind_of(run))
    if answers.why_no_clusters(run) or answers.lines(run) is not None:
        return [], None, ""
    if "labels" not in run.summary["point_estimate"]:
        return [], None, "Clusters of so many rows are not listed."
    try:
        return *summaries.tables(run), ""
    except (ConfigError, received.DataError) as error:
        return [], None, f"The data could not be loaded again: {error}"


def _result(run: Run) -> Iterator[Markup]:
    summary = run.summary
    first = answers_of(kind_of(run)).headline(run) or summaries.headline(run)
    yield paragraph(_sentence(first), f"verdict {_verdict(judgement_of(run).converged, 'open')}")
    number = [*summaries.joined_lines(summary), *summaries.interval_lines(run)]
    lines = [*number, _count_certain(run), summaries.score_line(run)]
    for line in (checks.name_misfit(summary), *lines, *checks.describe_misfit(summary), *advice.warnings(run)):
        if line:
            yield paragraph(_sentence(line))


def _number(run: Run) -> Iterator[Markup]:
    if judgement_of(run).converged is False:
        yield paragraph("The chains differ, so the number has no interval.")
    if groups := describe_groups(run.summary):
        yield paragraph(_sentence(groups))


def _chains(run: Run) -> Iterator[Markup]:
    others = {*checks.describe_misfit(run.summary), describe_groups(run.summary)}
    css = f"strong {_verdict(judgement_of(run).converged, 'open')}"
    for line in advice.verdict(run):
        if not _is_next(line) and line not in others:
            yield paragraph(_sentence(line), css)
            css = ""


def _is_next(line: str) -> bool:
    """Whether a line of the verdict is what to do next, or introduces it."""
    return line.startswith("next:") or line.endswith(":")


def _verdict(converged: bool | None, unknown: str) -> str:
    return unknown if converged is None else "yes" if converged else "no"


def _sentence(line: str) -> str:
    """A line as a sentence; a first word that names a file, key or sampler stays as it is typed."""
    first = line.partition(" ")[0].rstrip(":,;")
    begin = line[:1].upper() if first.isalpha() and first not in usable_choices("sampler") else line[:1]
    return begin + line[1:] + ("" if line.endswith((".", "!", "?", ":")) else ".")


def _clusters(run: Run, rows: Rows, outliers: Rows, columns: Rows | None, trouble: str) -> Iterator[Markup]:
    answers = answers_of(kind_of(run))
    if (section := answers.section(run)) is not None:
        yield section
        return
    if trouble:
        yield paragraph(trouble)
        return
    if (lines := answers.lines(run)) is not None:
        for line in islice(lines, 1, None):  # the first is the result
            if not line.startswith(" ") and not line.endswith(":"):
                yield paragraph(_sentence(line))
        return
    shown, items = rows[:MOST_CLUSTERS], plural_of(nouns(run.summary)[0])
    network = bool(shown) and "density" in shown[0]
    cells: dict[str, list[object]] = {
        "cluster": [row["cluster"] for row in shown],
        "size": [f"{int(row['size']):,}" for row in shown],
    }
    if not network:  # a narrow screen has no room for it
        cells["share"] = [share_text(float(row["share"])) for row in shown]
    if any(row.get("certainty") for row in shown):
        certainties = (row.get("certainty") for row in shown)
        cells["certainty"] = ["–" if each in (None, "") else f"{float(each):.2f}" for each in certainties]
        cells["most typical"] = [row.get("prototype") or "–" for row in shown]
        caption = f"Certainty: mean probability that two {items} of the cluster are together. "
    else:
        caption = ""
    if network:
        cells |= {title: list(texts) for title, texts in network_columns(shown)}
        outward = "out and in: shares of the pairs to and from other nodes" if "out" in cells else OUTWARD
        value = "; value: mean, or commonest level, of the edges within" if "value" in cells else ""
        caption += (
            f"Ties: share of the pairs of its nodes that are tied; {outward}{value}. "
            "Nodes of most ties are listed, with their number."
        )
    elif columns:
        caption += (
            "[a to b]: 95 % interval of a mean or share, given the clusters. (others): the same for all other rows. "
            "±: standard deviation."
        )
    telling = [join(element("div", each) for each in _telling(row, columns or ())) for row in shown]
    cells["nodes" if network else "differs most in"] = list(telling)
    numbers = [j for j, head in enumerate(cells) if head not in ("most typical", "differs most in", "nodes", "kind")]
    yield table(list(cells), list(zip(*cells.values(), strict=True)), caption, numbers, "wide last")
    if len(rows) > MOST_CLUSTERS:
        yield paragraph(f"{len(rows) - MOST_CLUSTERS:,} smaller clusters are not shown; smcmc summary lists all.")
    labels = run.summary["point_estimate"]["labels"]
    for line in (*summaries.outlier_lines(run, labels, outliers), *answers_of(kind_of(run)).far_lines(run)):
        yield paragraph(_sentence(line))


def _telling(row: Mapping[str, str], columns: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """The columns in which a cluster differs most from the others, a mean or share with its interval."""
    parts = [part for part in (row.get("telling") or "").split("; ") if part]
    of_cluster = sorted(
        (each for each in columns if each["cluster"] == row["cluster"]), key=lambda each: -len(each["column"])
    )
    for part in parts or ["–"]:
        # how a description begins that the interval of a column in ``column_summary.csv`` belongs to
        begins = (
            f"{each['column']}={each['level']}: " if each["level"] else f"{each['column']} = " for each in of_cluster
        )
        row_found = next((each for each, text in zip(of_cluster, begins, strict=True) if part.startswith(text)), None)
        if row_found is None or row_found["low"] in ("", None):
            yield part
            continue
        value, _, others = part.partition(" (others")
        ends = float(row_found["low"]), float(row_found["high"])
        low, high = (f"{end:.0%}" if row_found["level"] else number(end, ends[1] - ends[0]) for end in ends)
        yield f"{value} [{low} to {high}]" + (f" (others{others}" if others else "")


def _count_certain(run: Run) -> str | None:
    """Say how many items are certain; None where certainties are not known."""
    if "labels" not in run.summary["point_estimate"] or (certainty := _items(run)["certainty"]).isna().any():
        return None
    sure = int((certainty >= SURE).sum())
    items = plural_of(nouns(run.summary)[0])
    return (
        f"{sure:,} of {len(certainty):,} {items} ({sure / len(certainty):.0%}) have a certainty of {SURE} or more; "
        f"the mean certainty is {certainty.mean():.2f}"
    )


def _items(run: Run) -> "pd.DataFrame":
    """``clusters.csv``, one row for each unit where rows have units."""
    frame = run.clusters()
    return frame.drop_duplicates(UNIT).assign(name=lambda rows: rows[UNIT]) if UNIT in frame else frame


def _certainty(run: Run) -> Iterator[Markup]:
    ball, summary = run.summary.get("credible_ball"), run.summary
    item, cluster = nouns(summary)
    items = plural_of(item)
    if not ball:
        apart = judgement_of(run).converged is False
        why = "the chains have not converged" if apart else "no partitions of it were averaged"
        yield paragraph(f"{items.capitalize()} have no probabilities: {why}.")
        return
    if ball["radius"] == 0:
        yield paragraph(f"The estimate itself has probability {ball['share']:.2f}.")
    else:
        ends = [count_listed(ball[key]["labels"], summary, cluster) for key in ("vertical_upper", "vertical_lower")]
        yield paragraph(
            f"Partitions at most {ball['radius']:.3g} nats from the estimate (variation of information) have a total "
            f"probability of {ball['share']:.2f}. They have from {' to '.join(ends)}. Two partitions of "
            f"these {items} can differ by at most {math.log(summary['N']):.3g} nats."
        )
    if _count_certain(run) is None:
        return
    frame = _items(run)
    least = frame[frame["certainty"] < CERTAIN].sort_values("certainty", kind="stable").head(MOST_ITEMS)
    if least.empty:
        yield paragraph(f"Every {item} has a certainty of {CERTAIN} or more.")
        return
    named = "name" in frame
    rows = [
        [
            row.name if named else row.row,
            row.cluster,
            f"{row.certainty:.2f}",
            "–" if str(row.second) in ("None", "nan", "<NA>") else row.second,
            "–" if row.second_probability != row.second_probability else f"{row.second_probability:.2f}",
        ]
        for row in least.itertuples(index=False)
    ]
    of_row = UNIT if UNIT in frame else item if named else "row"
    yield table(
        [of_row, cluster, "certainty", f"other {cluster}", "there instead"],
        rows,
        f"The least certain {items}. Certainty: the probability of sharing the {cluster} of a random other {item} of "
        f"the same {cluster}. There instead: the probability of being with a random {item} of the other {cluster} and "
        "not with one of its own. The two add up to at most 1.",
        numbers=[1, 2, 3, 4],
        css="wide first" if named else "",
    )


def _in_own_words(run: Run, text: str) -> str:
    """A text about items and clusters in the data's own words."""
    words = dict(zip(("item", "cluster"), nouns(run.summary), strict=True))
    words |= {f"{word}s": plural_of(own) for word, own in words.items()}
    return re.sub(r"\b(item|cluster)s?\b", lambda found: words[found[0]], text)


def _pictures(run: Run, section: str, level: int, prefix: str) -> Iterator[Markup]:
    with style.use_style():
        for name, picture in ((name, one) for name, one in all_pictures().items() if one.section == section):
            try:
                for _, figure in pictures(run, [name]):
                    note = " ".join(figure.get_supxlabel().split())
                    answers, shows = (_in_own_words(run, text) for text in (picture.answers, picture.shows))
                    shows = f"{shows[:1].upper()}{shows[1:]}."
                    yield heading(level, answers, f"{prefix}picture-{name}")
                    yield html.picture(figure, f"{answers} {shows} {note}", shows)
            except (ConfigError, received.DataError) as error:
                yield paragraph(f"{name}: not drawn, because the data could not be loaded again: {error}")
    if (boxes := style.absent_letters()) is not None:
        yield paragraph(f"{boxes[0].upper()}{boxes[1:]}.")


def _moves(run: Run, at_hand: Sequence[Run]) -> Iterator[Markup]:
    other_answers, items = answers(run, at_hand), plural_of(nouns(run.summary)[0])
    if other_answers:
        rows = []
        for each in other_answers:
            found = [*comparison.clusters_of(each.row), _verdict(each.row["converged"], "unknown")]
            rows.append([f"{each.aspect}: {each.difference}", *found, f"{each.ari:.3f}", f"{each.vi:.3f}"])
        yield table(
            ["what differs", "K", "95 %", "converged", "ARI", "VI (nats)"],
            rows,
            f"Other runs of these {items} found here: adjusted Rand index and variation of information between "
            "their estimate and this one.",
            numbers=[1, 2, 4, 5],
            css="wide first",
        )
    else:
        yield paragraph(f"No other run of these {items} was found here.")
    known = {each.aspect for each in other_answers}
    for aspect, line in commands(run):
        if aspect not in known:
            yield paragraph(f"To see how far the answer depends on the {aspect}:")
            yield html.command(line)


def _next(run: Run, has_columns: bool) -> Iterator[Markup]:
    lines = [line.removeprefix("next: ") for line in advice.verdict(run) if _is_next(line)]
    for line in lines:
        yield html.command(line) if line.startswith("smcmc ") else paragraph(_sentence(line))
    if not lines:
        yield paragraph("R-hat shows no reason not to use the clusters.")
    path = overrides.shell_word(str(run.path))
    more = [
        f"`smcmc diagnose {path}` shows R-hat and effective sample size of every quantity.",
        f"`smcmc plot {path}` draws the pictures, also for print.",
    ]
    if has_columns:
        more.append(f"`smcmc summary --columns {path}` lists all columns of all clusters.")
    yield html.items(map(html.with_code, more))


def _repeat(run: Run) -> Iterator[Markup]:
    try:
        spec = initial.specification_of(run)
        line = specification.command_of(spec, starts.start_of(spec).keep(run.summary["N"]), run.config_dir)
    except ConfigError:
        line = None
    if line is None:
        yield paragraph(
            "A program made the run, or its settings do not fit a command; config.yaml in its folder has all of them."
        )
    else:
        yield html.command(line)
    provenance, summary, row = run.provenance, run.summary, comparison.row_of(run)
    length = " to ".join(dict.fromkeys(f"{end(summary['iterations']):,}" for end in (min, max)))
    chains = f"{summary['chains']} of {length} iterations, seed {summary['seed']}, "
    size = f"({count_of(summary['N'], 'row' if has_units(summary) else nouns(summary)[0])})"
    rows: list[tuple[object, object]] = [
        ("data", f"{races.data_name(run)} {size}".replace("\\$", "$")),
        ("model", summary["model"]),
        ("sampler", f"{summary['sampler']}, schedule {summary['schedule']}"),
        ("chains", f"{chains}started from {run.config['init']}"),
        ("seconds of sampling", comparison.number(row["seconds"])),
        ("folder", element("code", run.path)),
    ]
    rows += [
        (f"SHA-256 of {key.removesuffix('_sha256')}", element("code", value))
        for key, value in provenance.items()
        if key.endswith("_sha256") and isinstance(value, str)
    ]
    if (digest := run.config["data"].get("sha256")) is not None:
        rows.append(("SHA-256 of the data", element("code", digest)))
    rows.append(("SHA-256 of the manifest", element("code", run.manifest.digest)))
    versions: Mapping[str, str] = provenance.get("versions", {})
    rows.append(("versions", ", ".join(f"{name} {version}" for name, version in versions.items()) or "–"))
    if provenance.get("commit"):
        rows.append(("commit", element("code", provenance["commit"])))
    yield html.facts(rows, "The run, and where it comes from")
    if notes := summary.get("notes"):
        yield paragraph("How the data were read:")
        yield html.items(notes)
    yield paragraph(
        "The same command, data and versions give the same content, whatever the number of workers.", "soft"
    )
