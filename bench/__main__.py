"""``python -m bench``: the rows of docs/speed.md, compared with plain C.

With ``--topics``: the topic-model benchmark alone, in full; with ``--scaling``: growth with N, D and K; with
``--moves``: split-merge moves in Gibbs scans; with ``--work``: moves of the portfolio in predictives; with
``--accepted``: cost of a proposal and of an accepted move of LSHSM and its rivals; with ``--estimate``: seconds of the
search for the point estimate; with ``--real``: real sets, compared with other programs; with ``--meeting``: how soon
coupled chains meet; with ``--networks``: large networks; with ``--points``: large tables of numbers; with
``--corpora``: topics in parallel.
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
    meeting,
    moves,
    networks,
    points,
    real,
    rows,
    scaling,
    topics,
    work,
)


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
    parser.add_argument("--scaling", action="store_true", help="growth with N, D and K in place of the rows")
    parser.add_argument("--topics", action="store_true", help="the topic-model benchmark, also with a million tokens")
    parser.add_argument("--work", action="store_true", help="work of the portfolio's moves in place of the rows")
    parser.add_argument("--moves", action="store_true", help="cost of moves in Gibbs scans in place of the rows")
    parser.add_argument("--accepted", action="store_true", help="cost of an accepted move in place of the rows")
    parser.add_argument("--estimate", action="store_true", help="the search for the point estimate, alone")
    parser.add_argument("--real", action="store_true", help="real sets beside other programs, alone")
    parser.add_argument("--meeting", action="store_true", help="how soon coupled chains meet, alone")
    parser.add_argument("--networks", action="store_true", help="large networks, alone")
    parser.add_argument("--points", action="store_true", help="large tables of numbers, alone")
    parser.add_argument("--corpora", action="store_true", help="topics in parallel on large corpora, alone")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller sizes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there, too")
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="folder of the growth table and figure")
    args = parser.parse_args()
    print(machine())
    if args.scaling:
        found: Any = scaling.main(args.out, args.quick)
    elif args.work:
        found = work.main(args.quick)
    elif args.moves:
        found = moves.main(args.quick)
    elif args.accepted:
        found = accepted.main(args.quick)
    elif args.estimate:
        found = estimate.main(args.quick)
    elif args.real:
        found = real.main(args.quick)
    elif args.meeting:
        found = meeting.main(args.quick)
    elif args.networks:
        found = networks.main(args.quick)
    elif args.points:
        found = points.main(args.quick)
    elif args.corpora:
        found = corpora.main(args.quick)
    else:
        try:
            for source in ("count_vectors", "counts", "gaussian", "irm", "lines", "mixed", "topics"):
                baseline.build(source)
            compiler = baseline.compiler_version()
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"bench: the plain C baseline needs a C compiler (set CC): {error}", file=sys.stderr)
            return 2
        print(f"plain C: {' '.join(baseline.compiler())} -O3, {compiler}\n")
        found = {} if args.topics else {"rows": compare_with_c(args.quick)}
        found["topics"] = topics.main(args.quick, full=args.topics)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"machine": machine(), "results": found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
