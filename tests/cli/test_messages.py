"""The advice of messages can be followed: each command and each key that the source mentions is read by smcmc.

What is printed is found in the source: every string of it, docstrings too, which help shows.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import click
import typer

import splitmerge_cli
from splitmerge_cli import cli, config
from splitmerge_cli.config.schema import GROUPS, all_keys

ROOT = Path(splitmerge_cli.__file__).parent
FILLED = {
    "{path_word(files[0])} model={model} {second}": "data.path=x.csv model=records data.other=y.csv",
    "{' '.join(ids)}": "sdds-fig3",
    "{' '.join(names)}": "sdds-fig3",
    "{absent[0]}": "pubmed",
    "{f' --scale {scale}' if scale else ''}": "",
    "{figure}": "sdds-fig3",
    "{folder}": "kept",
    "clusters={}": "clusters=5",
    "{CORE}": "0.95",
    "{overrides.shell_word(str(run.path))}": "results/run",
    "{folders(out, config_dir)}": "",
    "{of_edition}": "",
    "{model}": "gaussian",
    "data info {name}": "data info pubmed",
    "data fetch {name}": "data fetch pubmed",
    "{name}": "sdds-fig3",
    "{out}": "sdds.zip",
    "{path}": "results/sams-emm/20cb8e50d856",
    "{run.path}": "results/sams-emm/20cb8e50d856",
    "{scale}": "quick",
    "{overrides.path_word(self.path)} {keys}": "data.path=x.csv model=records",
    "{path_word(table.path)}": "data.path=x.csv",
    "{path_word(self.path)} {keys}": "data.path=x.csv model=records",
    "{shell_word(f'data.columns=[{key}]')}": "data.columns=[text]",
    "{shlex.quote(str(run.path))}": "results/sams-emm/20cb8e50d856",
    "{shell_word(str(run.path))}": "results/sams-emm/20cb8e50d856",
    "{where}": "",
    "schedule=[{sams: 1}, {gibbs: 1}]": "schedule=[sams,gibbs]",
}
"""Text in place of an expression in a message, where it is part of a command."""
FOLLOWING = {
    *(">>>", "adds", "and", "begins", "checks", "continues", "describes", "does", "downloads", "draws", "evaluates"),
    *("explain", "explains", "goes", "has", "lists", "makes", "names", "of", "or", "packs", "prints", "printed"),
    *("reads", "runs", "reports", "returns", "said", "says", "show", "shows", "stores", "verifies", "with", "writes"),
    *("wrote",),
}
"""Words after a command that are none of it."""
OTHER = {
    *("algo", "job", "coupling", "each", "format", "k", "kind", "lag", "level", "loss", "m", "moves", "n_workers"),
    *("new", "p", "patience", "address", "rule", "seconds", "truth", "key", "mode", "name", "reading", "size"),
    *("options", "out", "config_dir", "_target_", "data.sha256", "store", "pairs", "a", "answers", "clusters"),
    *("core", "outcome", "links", "held_out", "degrees", "index"),
}
"""Words that a message may set and that are no keys of a run: parameters of Python functions, options of verify, of
launchers and of a paper's files."""


class String(NamedTuple):
    """A string of the source, expressions in it as ``{...}``."""

    where: str
    text: str
    documents: bool


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (
            part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
            for part in node.values
            if isinstance(part, ast.Constant | ast.FormattedValue)
        )
        return "".join(map(str, parts))
    return None


@cache
def strings() -> list[String]:
    """Every string of the package."""
    return list(_strings())


def _strings() -> Iterator[String]:
    for file in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        within = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if (isinstance(node, ast.JoinedStr) or id(node) not in within) and (text := _text(node)):
                where = f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
                # a paragraph ends a command, a line does not
                yield String(where, re.sub(r"\n\s*\n", "; ", text), id(node) in documents)


def commands(text: str) -> Iterator[tuple[str, ...]]:
    """The commands that a text mentions, words of the sentence around them left out."""
    for known, value in FILLED.items():
        text = text.replace(known, value)
    for found in re.finditer(r"(?<!from )\bsmcmc (?=[a-z])", text):
        words: list[str] = []
        for word in re.findall(r"'[^']*'|\S+", text[found.end() :]):
            bare = word if word.startswith("'") else re.split(r"[`;)<}]", word, maxsplit=1)[0].rstrip(".,:")
            if bare in FOLLOWING:
                break
            words += [bare.strip("'\"")] if bare else []
            if bare != word:
                break
        if words:
            yield (*words,)


def test_commands_that_are_mentioned_are_read(smcmc: Any) -> None:
    """Their words are read as those of a command; lists are shown, and the keys of a run composed."""
    mentioned = {words: where for where, text, _ in strings() for words in commands(text)}
    assert len(mentioned) > 30
    for words, where in sorted(mentioned.items()):
        check_command(words, where, smcmc)


def check_command(words: tuple[str, ...], where: str, smcmc: Any) -> None:
    cli.import_all()
    command: Any = typer.main.get_command(cli.app)
    context, left = click.Context(command), list(words)
    while hasattr(command, "get_command") and left:
        command = command.get_command(context, left[0])
        assert command is not None, f"{where}: no command {left[0]}"
        context = click.Context(command, context, info_name=left.pop(0))
    if not left and words != ("list",):
        return  # the name of a command, in a sentence about it
    for word in left:
        assert re.fullmatch(r"[-\w./]+|[\w.]+=[^{}]+", word), f"{where}: {word}: neither in FILLED nor in FOLLOWING"
    command.make_context("smcmc", [word for word in left if word != "--help"], parent=context.parent)
    if {"list", "info"} & set(words):
        filled = ({"NAME": {"model": "emm"}.get(words[0], "sams")}.get(word, word) for word in words)
        assert smcmc(*filled).exit_code == 0, where
    elif keys := [word.replace("FILE", "x.csv") for word in left if "=" in word and context.info_name == "run"]:
        # the file may be named before the keys; the first part of one that is put together has none
        table = [] if any(key.startswith(("data=", "sampler=")) for key in keys) else ["data=csv"]
        config.compose([*table, *keys] if len(keys) > 1 else [*table, *keys, "data.path=x.csv"])


SET = re.compile(r"(?<![\w.@/{}\-\[(,'])([a-z_]\w*(?:\.\w+)*|N|K0)=('[^']*'|[^\s;]*)")
COMPILED = re.compile(r"\b((?:data|model|sampler)\.\w+)=([^\s;\"]*)")


def advice() -> Iterator[tuple[str, str, str]]:
    """Where, key and value of what messages set."""
    for where, text, documents in strings():
        # pictures and pages are made with words of that form, verify has keys of its own; help shows its docstrings
        if not where.startswith(("analysis/pages/html", "analysis/plots/", "papers/", "verify/")) and (
            not documents or where.startswith("cli/")
        ):
            for key, value in SET.findall(re.sub(r"\{[^{}]*\}", "{}", text)):
                yield where, key, value
    for file in sorted(ROOT.rglob("*.pyx")):
        for key, value in COMPILED.findall(file.read_text(encoding="utf-8")):
            yield str(file.relative_to(ROOT)), key, value


def settings(key: str) -> Iterator[list[str]]:
    """Overrides beside a key with which it has a meaning."""
    group, _, option = key.partition(".")
    for name in config.choices(group) if group in GROUPS and option else ():
        own = config.choice(group, name)
        if option in own or option in config.shared_options(group):
            yield [f"{group}={name}", *(["data.path=x.csv"] if own.get("path") == "???" and option != "path" else [])]
    if group not in GROUPS or not option:
        yield from ([], *({"data": [["data.path=x.csv"]], "schedule": [["schedule.mix=[{sams: 1}]"]]}.get(key, [])))


def test_a_key_that_is_mentioned_is_one_of_some_run() -> None:
    """And the value that is named with it is one that it takes."""
    known = {key for key, _ in all_keys()} | set(GROUPS) | {"experiment"}
    wrong, seen = [], set()
    for where, key, value in advice():
        value = re.split(r"[,);`]", value, maxsplit=1)[0].rstrip(".:") if not value.startswith("[") else value
        if (key, value) in seen or (key in OTHER and key not in known):
            continue
        seen.add((key, value))
        beside = list(settings(key)) if "." in key or key in known else []
        if not beside:
            wrong.append(f"{where}: {key}={value}: no such key")
        elif value not in ("", "auto") and not re.search(r"[{}A-Z]|\.\.\.", value):
            for each in beside:
                try:
                    config.compose([f"{key}={value}", *each])
                    break
                except config.ConfigError as error:
                    said_of = error
            else:
                wrong.append(f"{where}: {key}={value}: {said_of}")
    assert not wrong, "\n".join(wrong)
