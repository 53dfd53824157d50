"""The references of commands, keys and models: complete, and with words for everything that they list."""

import ast
import re
from pathlib import Path

import command_pages
import key_pages
import model_pages
import pytest
import sampler_pages

from splitmerge_cli.config import choices, schema
from splitmerge_cli.config.components import option_rows
from splitmerge_cli.runs import interrupts

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "docs" / "models"
SECTIONS = ("Data", "Likelihood and prior", "Hyper-parameters", "Example", "When to choose another model", "Source")


def headings(page: Path, level: int) -> list[str]:
    """The headings of a page."""
    return re.findall(rf"^{'#' * level} (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_command_is_on_its_page() -> None:
    text = command_pages.part()
    found = dict(command_pages.commands())
    assert {"smcmc", "smcmc run", "smcmc data fetch", "smcmc posteriors export"} <= set(found)
    for path, command in found.items():
        section = text.partition(f"\n## `{path}`\n")[2].partition("\n## ")[0]
        assert section, path
        for parameter in command.params:
            assert parameter.help, f"{path} {parameter.name}: no help"
            for way in parameter.opts if parameter.param_type_name == "option" else ():
                assert re.search(rf"`{way}[ `]", section), f"{path} {way}"
        # the table below an argument with alternatives keeps its columns
        rows = [line for line in section.splitlines() if line.startswith("| ")]
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) <= 1, path


def test_every_exit_status_is_explained() -> None:
    """Numbers that the commands exit with are rows of the table."""
    table = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8").partition("## Exit statuses")[2]
    explained = {int(status) for status in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)}
    used = {0, interrupts.STATUS}
    for file in (ROOT / "splitmerge_cli" / "cli").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("typer.Exit", "fail"):
                used |= {arg.value for arg in node.args if isinstance(arg, ast.Constant) and type(arg.value) is int}
    assert explained == used | {1}


def test_every_key_is_on_its_page_with_a_meaning() -> None:
    """The keys of a model or sampler are on its page; the page of files explains those of data."""
    text = key_pages.part()
    text += "".join(sampler_pages.part(ROOT / "docs", name) for name in choices("sampler"))
    text += "".join(model_pages.complete(model_pages.KEYS, name) for name in choices("model"))
    keys = [key for key, _ in schema.all_keys()] + ["data.max_bytes", "schedule.moves", "schedule.mix"]
    keys += [
        row.key for group in ("model", "sampler") for name in choices(group) for row in option_rows(group, name)
    ] + [row.key for name in key_pages.FILES for row in option_rows("data", name)]
    assert f"`{sampler_pages.MODE}=" in (ROOT / "docs" / "samplers" / "index.md").read_text(encoding="utf-8")
    keys = [key for key in keys if key != sampler_pages.MODE]
    explained = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    read = [key for key in keys if key.startswith("data.") and key != "data.N"]
    assert [key for key in read if key not in explained] == []
    missing = [key for key in keys if not re.search(rf"^\| \[?`{re.escape(key)}[=`]", text, re.MULTILINE)]
    assert not missing
    rows = [*key_pages.own_keys(), *(row for group in key_pages.GROUPS for row, _ in key_pages.merged_keys(group))]
    assert [row.key for row in rows if not row.meaning] == []
    assert [row.key for row in rows if not row.expected] == []


def test_keys_with_one_meaning_are_one_row() -> None:
    rows = {(row.key, row.default): names for row, names in key_pages.merged_keys("model")}
    assert rows["model.b0", "null"] == ["gaussian"] or set(rows["model.b0", "null"]) <= {"gaussian", "mixed"}
    assert rows["model.beta1", "0.1"] == ["bernoulli"] and rows["model.beta1", "1.0"] == ["irm"]


def test_every_model_has_a_page() -> None:
    pages = {path.stem for path in MODELS.glob("*.md")} - {"index", "prior"}
    tree = (MODELS / "index.md").read_text(encoding="utf-8").split("{toctree}")[1].split("```")[0].split()
    assert pages == set(choices("model")) == set(tree) - {":hidden:", "prior"}
    assert set(headings(MODELS / "prior.md", 2)) == {f"`{key}`" for key in key_pages.OF_PRIORS}


@pytest.mark.parametrize("name", choices("model"))
def test_page_of_a_model(name: str) -> None:
    """It has all parts, a section for each hyper-parameter, and an example with what it prints."""
    page = MODELS / f"{name}.md"
    assert set(SECTIONS) <= set(headings(page, 2))
    keys = {row.key.partition(".")[2] for row in option_rows("model", name)}
    assert set(headings(page, 3)) == {f"`{key}`" for key in keys - key_pages.OF_PRIORS}
    text = page.read_text(encoding="utf-8")
    assert re.search(r"\n## Marginal likelihood", text) and re.search(r"\$.*\\sim", text)
    assert re.search(r"```console\n\$ smcmc run (.|\n)*?\nresults/", text)
    whole = model_pages.complete(text, name)
    assert all(f"`model.{key}`](" in whole for key in keys)
