"""``python -m bench.released [PROGRAM...]``: compare the draws of released programs with enumerated posteriors.

Each program runs unchanged, by its public functions, on small data whose distribution under the program's own model is
enumerated. A program that is not installed is named and left out. ``--write`` puts what ran into docs/released.md.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bench import released_compare, released_inputs
from bench.released_distributions import Distribution

Key = tuple[str, str, str]
HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "released.md"
RESULTS = HERE.parent / "docs" / "released.csv"
BEGIN, END = "<!-- table: written by python -m bench.released --write -->", "<!-- end of table -->"
SCRIPTS = {"bayesm": "bayesm", "jags": "rjags"}
"""Programs that R runs, and the packages that it needs."""
MODULES = {
    "graph-tool": "graph_tool",
    **{name: name for name in ("tomotopy", "lda", "dpmmlearn", "dphmix", "pyrichlet", "pymc", "numpyro")},
    "chinese-restauraunt-process": "crp",
}
"""Programs that some Python runs, and the modules that it needs."""


@dataclass(frozen=True)
class Row:
    """One program on one input.

    Attributes
    ----------
    program, sampler, input : str
    job : dict
        What is given to the program, in addition to chains, draws, thin and burn_in.
    distribution : callable
        Makes the distribution, from what the program answered.
    chains, draws, thin, burn_in : int
        `burn_in` in sweeps, or the sweeps of a fit where every draw is one.
    """

    program: str
    sampler: str
    input: str
    job: dict[str, Any]
    distribution: Callable[[dict[str, Any]], Distribution]
    draws: int = 500
    thin: int = 5
    burn_in: int = 100
    chains: int = 40
    numbers: list[float] = field(default_factory=list)

    def key(self) -> Key:
        """Key that tells the row from others."""
        return self.program, self.sampler, self.input

    def length(self) -> dict[str, int]:
        """Numbers of chains and of their draws."""
        return {"chains": self.chains, "draws": self.draws, "thin": self.thin, "burn_in": self.burn_in}


class Failed(Exception):
    """A program ended with an error, of which this is the last line."""


def python_of(module: str, chosen: str | None) -> str | None:
    """The Python that has a module: the chosen one, this one, the system's; None if none has."""
    for python in (chosen, sys.executable, shutil.which("python3", path=os.defpath)):
        if python and _runs(python, "-c", f"import importlib.util as u; exit(u.find_spec('{module}') is None)"):
            return python
    return None


@cache
def _runs(*command: str) -> bool:
    return subprocess.run(command, capture_output=True).returncode == 0


def answer(command: list[str], input_text: str | None = None) -> str:
    """Standard output of a command.

    Raises
    ------
    Failed
    """
    done = subprocess.run(command, input=input_text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed((done.stderr.strip().splitlines() or ["no message"])[-1])
    return done.stdout


def missing(program: str, python: str | None) -> str | None:
    """Return the packages to install, or None if the program is there."""
    if program in MODULES:
        if python_of(MODULES[program], python) is not None:
            return None
        if program == "graph-tool":
            return "apt install python3-graph-tool"
        return f"pip install {program}, and --python PYTHON where that is another Python"
    if program in SCRIPTS:
        package = SCRIPTS[program]
        is_there = shutil.which("Rscript") and _runs("Rscript", "-e", f"quit(status = !requireNamespace('{package}'))")
        return None if is_there else f"apt install r-cran-{package}"
    return None


def draw_row(row: Row, python: str | None) -> dict[str, Any]:
    """The program's answer: version, chains, and what else the distribution needs.

    Raises
    ------
    Failed
    """
    if row.program == "smcmc":
        return released_inputs.smcmc(row.job, row.length())
    if row.program in MODULES:
        interpreter = python_of(MODULES[row.program], python)
        assert interpreter is not None
        job = json.dumps({**row.job, **row.length()})
        name = MODULES[row.program]
        # as a text: the folder of a script would come first on the path, and hides modules of these names
        worker = (HERE / "released_worker.py").read_text()
        draws_found: dict[str, Any] = json.loads(answer([interpreter, "-c", worker, name], job))
        return draws_found
    with tempfile.TemporaryDirectory() as folder:
        data, draws = Path(folder) / "data.csv", Path(folder) / "draws.csv"
        data.write_text("".join(",".join(map(str, values)) + "\n" for values in row.job["x"]))
        numbers = [*row.length().values(), *row.numbers]
        script = HERE / f"released_{row.program}.R"
        printed = answer(["Rscript", str(script), str(data), str(draws), *map(str, numbers)])
        labels = [[int(value) for value in line.split(",")] for line in draws.read_text().split()]
    chains = [labels[i * row.draws : (i + 1) * row.draws] for i in range(row.chains)]
    return {"version": printed.split()[-1], "chains": chains}


def measure_row(row: Row, python: str | None) -> dict[str, Any]:
    """A line of the CSV."""
    began = time.perf_counter()
    draws_found = draw_row(row, python)
    distribution = row.distribution(draws_found)
    numbers = released_compare.compare(distribution.find(draws_found["chains"]), distribution)
    of_row = {"program": row.program, "version": draws_found["version"], "sampler": row.sampler, "input": row.input}
    return {
        **of_row,
        "thin": row.thin,
        "burn_in": row.burn_in,
        **{key: f"{value:.6g}" if isinstance(value, float) else value for key, value in numbers.items()},
        "seconds": f"{time.perf_counter() - began:.1f}",
    }


def table(results: list[dict[str, Any]]) -> str:
    """The lines of the CSV as a table in Markdown."""
    head = ("program", "sampler", "input", "TV", "noise", "E[K]", "exact", "verdict")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for result in results:
        x = {key: _number(value) for key, value in result.items()}
        lines.append(
            f"| {x['program']} {x['version']} | {x['sampler']} | {x['input']} | {x['total_variation']:.4f} "
            f"| {max(x['chains_95'], x['independent_95']):.4f} "
            f"| {x['mean_K']:.3f} ± {x['error_K']:.3f} | {x['exact_K']:.3f} "
            f"| {'**differs**' if str(result['differs']) == 'True' else 'agrees'} |"
        )
    return "\n".join(lines) + "\n"


def summary(results: list[dict[str, Any]]) -> str:
    """A line of Markdown for each program and sampler: how many inputs agree, and how far the others are off."""
    lines = ["| program | sampler | agrees on | differs: TV, with noise |", "|---|---|---|---|"]
    names = dict.fromkeys((result["program"], result["version"], result["sampler"]) for result in results)
    for name in names:
        rows = [result for result in results if (result["program"], result["version"], result["sampler"]) == name]
        differing = [row for row in rows if str(row["differs"]) == "True"]
        numbers = (
            f"{row['input']}: {float(row['total_variation']):.2f}, "
            f"{max(float(row['chains_95']), float(row['independent_95'])):.2f}"
            for row in differing
        )
        agreeing = f"{len(rows) - len(differing)} of {len(rows)}"
        lines.append(f"| {name[0]} {name[1]} | {name[2]} | {agreeing} | {'; '.join(numbers)} |")
    return "\n".join(lines) + "\n"


def _number(value: Any) -> Any:
    try:
        return float(value) if str(value).count(".") < 2 else value
    except ValueError:
        return value


def read(path: Path = RESULTS) -> list[dict[str, Any]]:
    """The lines of a CSV of results."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(results: list[dict[str, Any]], path: Path) -> None:
    """A CSV of results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(results[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(results)


def merge_rows(old: list[dict[str, Any]], new: list[dict[str, Any]], keys: list[Key]) -> list[dict[str, Any]]:
    """Merge new lines of a CSV with the old ones of other keys, in the order of the keys."""
    by_key = {(line["program"], line["sampler"], line["input"]): line for line in [*old, *new]}
    return [by_key[key] for key in keys if key in by_key]


def page(text: str, results: list[dict[str, Any]]) -> str:
    """The text of docs/released.md with the summary of these results."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{summary(results)}\n{END}{rest.split(END)[1]}"


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0: all that was asked for ran; 1: a program failed; 2: no such program, or none installed."""
    rows = [Row(**row) for row in released_inputs.rows()]
    known = list(dict.fromkeys(row.program for row in rows))
    parser = argparse.ArgumentParser(prog="python -m bench.released", description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(known)}; default: all")
    parser.add_argument("--python", help="a Python that has the programs of PyPI")
    parser.add_argument("--out", type=Path, default=Path("results/bench/released.csv"), help="the CSV")
    parser.add_argument("--draws", type=int, help="draws of a chain; default: as in docs/released.md")
    parser.add_argument("--write", action="store_true", help="into docs/released.csv and docs/released.md, too")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.programs if name not in known]
    if unknown:
        parser.error(f"{unknown[0]}: no such program; expected {', '.join(known)}")
    if options.draws is not None and options.draws < 2:
        parser.error(f"--draws {options.draws}: expected 2 or more")
    wanted = options.programs or known
    absent = {name: hint for name in wanted if (hint := missing(name, options.python))}
    for name, hint in absent.items():
        print(f"{name} is not installed, left out: {hint}", file=sys.stderr)
    if options.write and options.draws is not None:
        parser.error("--write: expected chains of their own length, without --draws")
    results, failed = [], False
    for row in rows:
        if row.program not in wanted or row.program in absent:
            continue
        if options.draws is not None:
            row = Row(**{**vars(row), "draws": options.draws})
        try:
            results.append(measure_row(row, options.python))
        except (Failed, KeyError) as error:
            failed = True
            problem = "drew what is no state" if isinstance(error, KeyError) else "failed"
            print(f"{row.program}, {row.sampler}, {row.input}: {problem}: {error}", file=sys.stderr)
            continue
        print(f"{row.program}, {row.sampler}, {row.input}: {results[-1]['seconds']} s", file=sys.stderr)
    if not results:
        print("bench.released: nothing ran", file=sys.stderr)
        return 2
    print(table(results), end="")
    write(results, options.out)
    print(f"\n{options.out}", file=sys.stderr)
    if options.write and not failed:
        merged = merge_rows(read() if RESULTS.exists() else [], results, [row.key() for row in rows])
        write(merged, RESULTS)
        PAGE.write_text(page(PAGE.read_text(), merged))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
