"""``python -m bench``: the rows of docs/speed.md, compared with plain C.

With ``--topics``: the topic-model benchmark alone, in full; with the name of one of `STUDIES`: that study alone.
"""

import argparse
import json
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench import (
    accepted,
    baseline,
    corpora,
    estimate,
    graph_tool,
    links,
    meeting,
    moves,
    networks,
    points,
    real,
    rows,
    scaling,
    topics,
    whole_networks,
    work,
)

STUDIES: dict[str, tuple[Any, str]] = {
    "scaling": (scaling, "growth with N, D and K"),
    "work": (work, "work of the portfolio's moves, in predictives"),
    "moves": (moves, "cost of split-merge moves in Gibbs scans"),
    "accepted": (accepted, "cost of a proposal and of an accepted move of LSHSM and its rivals"),
    "estimate": (estimate, "seconds of the search for the point estimate"),
    "real": (real, "real sets, compared with other programs"),
    "meeting": (meeting, "how soon coupled chains meet"),
    "links": (links, "edges of real networks held out, compared with other programs"),
    "networks": (networks, "large networks"),
    "whole-networks": (whole_networks, "networks by the default command, compared with graph-tool"),
    "points": (points, "large tables of numbers"),
    "corpora": (corpora, "topics in parallel on large corpora"),
}


def machine() -> str:
    """Processor and versions in a line."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    processor = names[0] if names else platform.processor()
    return f"{processor}, Python {platform.python_version()}, smcmc {version('smcmc')}"


def compare_with_c(quick: bool) -> list[dict[str, Any]]:
    """The rows whose plain C walks through the same states, printed."""
    results = [rows.measure(row, 5 if quick else 15) for row in rows.rows()]
    print(rows.table(results))
    print(
        "\nCPU time of one thread, by turns; median ratio over the rounds, its range. a+: bar 'beyond'."
        "\nSame chain: from one seed both made the same draws and ended with the same labels."
    )
    if graph_tool.interpreter() is None:
        print("graph-tool is not installed: apt install python3-graph-tool")
    print()
    return rows.as_json(results)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    alone = parser.add_mutually_exclusive_group()
    for name, (_, title) in STUDIES.items():
        alone.add_argument(f"--{name}", dest="study", action="store_const", const=name, help=f"{title}, alone")
    alone.add_argument("--topics", action="store_true", help="the topic-model benchmark, also with a million tokens")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller sizes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there, too")
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="folder of the growth table and figure")
    args = parser.parse_args()
    print(machine())
    if args.study == "scaling":
        results: Any = scaling.main(args.out, args.quick)
    elif args.study:
        results = STUDIES[args.study][0].main(args.quick)
    else:
        try:
            for source in ("count_vectors", "counts", "gaussian", "irm", "lines", "mixed", "topics"):
                baseline.build(source)
            compiler = baseline.compiler_version()
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"bench: the plain C baseline needs a C compiler (set CC): {error}", file=sys.stderr)
            return 2
        print(f"plain C: {' '.join(baseline.compiler())} -O3, {compiler}\n")
        results = {} if args.topics else {"rows": compare_with_c(args.quick)}
        results["topics"] = topics.main(args.quick, full=args.topics)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"machine": machine(), "results": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
