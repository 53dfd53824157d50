"""Findings of a paper's reproduction, in words: the most important ones, and the claims that are in doubt.

``findings.yaml`` of a paper's folder has both, each with references to the claims that it is about. Numbers stand in
the claims alone: whoever shows the words shows the kept verdicts of these claims below them.
"""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from splitmerge_cli.config import ConfigError
from splitmerge_cli.config.errors import one_line
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.declaration import Paper

FILE = "findings.yaml"
MOST_FINDINGS = 3
COMMAND = "smcmc "
"""Beginning of the command that shows a doubtful claim."""
Words = Annotated[str, Field(min_length=1)]


class _Part(BaseModel):
    """A part of the file, without other keys."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, str_strip_whitespace=True)


class ClaimReference(_Part):
    """One claim or several of a figure, by patterns as in ``readings.csv``; a key that is left out fits all.

    Attributes
    ----------
    figure : str
        The id of the figure or table.
    data, sampler, metric : str, optional
    """

    figure: Words
    data: Words | None = None
    sampler: Words | None = None
    metric: Words | None = None

    def matches(self, claim: Claim) -> bool:
        """Whether it is about a claim."""
        return claim.id == self.figure and all(
            pattern is None or fnmatchcase(value, pattern)
            for value, pattern in ((claim.data, self.data), (claim.sampler, self.sampler), (claim.metric, self.metric))
        )


class Finding(_Part):
    """Finding of a paper's reproduction.

    Attributes
    ----------
    title : str
        One sentence.
    text : str
        A paragraph, in Markdown.
    claims : tuple of ClaimReference
        What it rests on.
    """

    title: Words
    text: Words
    claims: Annotated[tuple[ClaimReference, ...], Field(min_length=1, strict=False)]


class DoubtfulClaim(Finding):
    """A claim that is in doubt, why, and what shows it.

    Attributes
    ----------
    command : str
        ``smcmc ...``
    """

    command: Annotated[str, Field(pattern=f"^{COMMAND}")]


class Findings(_Part):
    """Contents of ``findings.yaml``.

    Attributes
    ----------
    findings : tuple of Finding
        At most three, the most important first.
    doubtful : tuple of DoubtfulClaim
    """

    findings: Annotated[tuple[Finding, ...], Field(max_length=MOST_FINDINGS, strict=False)] = ()
    doubtful: Annotated[tuple[DoubtfulClaim, ...], Field(strict=False)] = ()


def findings(paper: Paper) -> Findings:
    """The findings and doubtful claims of a paper; empty where its folder has no such file.

    Raises
    ------
    ConfigError
        The file is not as it should be; the message has its name and the key.
    """
    file = paper.folder / FILE
    if not file.is_file():
        return Findings()
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: not YAML: {one_line(error)}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: expected the keys {', '.join(Findings.model_fields)}")
    try:
        content_read = Findings.model_validate(content)
    except ValidationError as error:
        raise ConfigError(f"{file}: {_first_error(error)}") from error
    for key, parts in (("findings", content_read.findings), ("doubtful", content_read.doubtful)):
        for i, part in enumerate(parts):
            for j, reference in enumerate(part.claims):
                _check(reference, paper, f"{file}: {key}[{i}].claims[{j}]")
    return content_read


def claims_of(references: Iterable[ClaimReference]) -> list[Claim]:
    """The claims that references are about, each once, in their order."""
    listed = [claim for one in references for claim in published_claims(one.figure) if one.matches(claim)]
    return list(dict.fromkeys(listed))


def _check(reference: ClaimReference, paper: Paper, where: str) -> None:
    """Reject a reference to no claim, by the first key that fits none."""
    ids = [figure.id for figure in paper.figures]
    if reference.figure not in ids:
        raise ConfigError(f"{where}.figure={reference.figure}: expected one of {', '.join(ids)}")
    left: Sequence[Claim] = published_claims(reference.figure)
    for key in ("data", "sampler", "metric"):
        pattern = getattr(reference, key)
        if pattern is None:
            continue
        known = dict.fromkeys(str(getattr(claim, key)) for claim in left)
        left = [claim for claim in left if fnmatchcase(getattr(claim, key), pattern)]
        if not left:
            raise ConfigError(
                f"{where}.{key}={pattern}: no such claim of {reference.figure} in {paper.folder / 'claims.csv'}; "
                f"expected one of {', '.join(known)}"
            )
    if not left:
        raise ConfigError(f"{where}.figure={reference.figure}: no claim of it in {paper.folder / 'claims.csv'}")


def _first_error(error: ValidationError) -> str:
    """The first thing that is wrong, by its key."""
    first: Mapping[str, Any] = error.errors(include_url=False, include_context=True)[0]
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).removeprefix(".")
    if first["type"] == "missing":
        return f"{key}: expected a value, found none"
    if first["type"] == "extra_forbidden":
        return f"{key}: no such key; expected {', '.join(_keys(first['loc']))}"
    if first["type"] == "string_pattern_mismatch":
        return f"{key}={first['input']}: expected a command that begins with {COMMAND.strip()}"
    return f"{key}: {one_line(first['msg'])}"


def _keys(where: Sequence[str | int]) -> list[str]:
    """The keys that are known where one is not."""
    models: dict[tuple[str, ...], type[_Part]] = {
        (): Findings,
        ("findings",): Finding,
        ("doubtful",): DoubtfulClaim,
        ("findings", "claims"): ClaimReference,
        ("doubtful", "claims"): ClaimReference,
    }
    return list(models[tuple(part for part in where[:-1] if isinstance(part, str))].model_fields)
