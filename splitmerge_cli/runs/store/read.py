"""Reading runs: finished ones from their parquet files, others as far as they are."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from numpy.typing import NDArray

from splitmerge_cli import received
from splitmerge_cli.config.errors import rename, today
from splitmerge_cli.data.dataset import Kind, kinds
from splitmerge_cli.diagnostics.cluster_table import FIRST
from splitmerge_cli.extras import pandas as pd
from splitmerge_cli.runs.store import files, manifest, schema
from splitmerge_cli.runs.store.manifest import Manifest, read_sealed
from splitmerge_cli.runs.store.store import STREAMED, ChainStore

GROUPS = ("data", "model", "sampler", "schedule")
"""Keys that every configuration holds."""
MOST_CONFIG = 1 << 22
"""Bytes of ``config.yaml``."""
REMEDY_OF_LIST = "the command of the sweep or race writes it again"
"""Advice about a damaged list of runs."""
STATES = ("running", "done", "failed", "interrupted")


class Run:
    """A run's folder, read only. Reading a file that is not what was written raises `DamagedRun`. `path`: the folder
    that ``smcmc run`` printed; `config_dir`: the folder of the user's own configuration groups, for what loads the data
    of the run again; `contents`: contents of files that this process has just written
    (`splitmerge_cli.runs.store.store.RunStore`): they are not read again. `remedy` is how the run is finished that was
    interrupted or failed, for messages. Raises `FileNotFoundError` (it holds no run)."""

    def __init__(
        self, path: str | Path, config_dir: str | Path | None = None, contents: Mapping[str, bytes] | None = None
    ) -> None:
        self.path, self.config_dir, self._contents = Path(path), config_dir, contents or {}
        self.remedy = "the command or call that began the run continues it"
        if files.STATUS not in self._contents and not (self.path / files.STATUS).is_file():
            raise FileNotFoundError(f"{self.path}: no run here (no {files.STATUS})")

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @cached_property
    def config(self) -> dict[str, Any]:
        """The resolved configuration. What it names is not to be trusted: `splitmerge_cli.config.specify_stored`."""
        status = self.status
        # the command writes it again
        remedy = None if status["state"] == "done" else f"{self.remedy} all the same"
        with files.report_damage(self.path / files.CONFIG, remedy):
            content = self._contents.get(files.CONFIG) or received.read(self.path / files.CONFIG, MOST_CONFIG)
            if hashlib.sha256(content).hexdigest() != status["config_sha256"]:
                raise ValueError("not what was written")
            config = yaml.safe_load(content.decode())
            received.check_nested(config, len(content))
            for group in GROUPS:
                str(config[group]["name"])
            config |= {"chains": int(config["chains"]), **rename(config, today)}
            return {str(key): value for key, value in config.items()}

    @property
    def status(self) -> dict[str, Any]:
        """``status.json``; the `state` of a run whose process is gone is ``interrupted``."""
        # chains can be continued without it
        begun = any((self.path / files.WORK).glob("chain*.npz"))
        remedy = f"once it is removed, {self.remedy}" if begun else None
        status = {"share": 0.0} | read_sealed(self.path / files.STATUS, remedy, self._contents.get(files.STATUS))
        with files.report_damage(self.path / files.STATUS, remedy):
            STATES.index(status["state"])
            str(status["config_sha256"])
        if status["state"] == "running" and not files.is_locked(self.path / files.WORK / files.LOCK):
            status["state"] = "interrupted"
        return status

    @property
    def is_done(self) -> bool:
        """Whether the run was finished."""
        return self.status["state"] == "done"

    @property
    def complete(self) -> bool:
        """Whether the run was finished and its files are there; raises `DamagedRun` if one is not what was written.

        Reads every file of a finished run, the first time.
        """
        if not self.is_done or not (self.path / files.MANIFEST).is_file():
            return False
        if not all((self.path / name).is_file() for name in self.manifest.names):
            return False
        self.manifest.check_all()
        # digests that fit what is no summary are none of a run either
        return bool(self.summary)

    def check(self) -> None:
        """Raise `DamagedRun` if a file of a finished run is gone or not what was written; reads all of them."""
        if self.is_done:
            self.manifest.check_all()

    @property
    def missing(self) -> str | None:
        """Describe the state of an unfinished run, and how to finish it; None for a finished one."""
        status, config = self.status, self.config
        if (state := status["state"]) == "done":
            return None
        if state == "failed":
            state += f" ({status['error']})"
        iterations_made = [outcome["iterations"] for _, outcome in self._stored_chains()]
        of_all = "" if config["iterations"] is None else f" of {config['iterations']:,}"
        least = "" if not iterations_made else f", at least {min(iterations_made):,}{of_all} iterations each"
        rest = "it is still running" if state == "running" else self.remedy
        return f"{state} with {len(iterations_made)} of {config['chains']} chains{least}; {rest}"

    @property
    def first_cluster(self) -> int:
        """Number of the first cluster in what this run shows and writes: 1, or 0 if it was made earlier."""
        return int(self.summary.get(schema.FIRST_CLUSTER, 0)) if self.is_done else FIRST

    def best_state(self) -> NDArray[np.int32]:
        """Labels ``[N]`` of the state of highest log joint density of an unfinished run so far. Raises
        `FileNotFoundError` (nothing is stored yet)."""
        stored = [outcome for _, outcome in self._stored_chains()]
        if not stored:
            raise FileNotFoundError(f"{self.path}: no state yet: {self.missing}")
        return np.asarray(max(stored, key=lambda one: one["best_log_joint"])["best_labels"], dtype=np.int32)

    def _stored_chains(self) -> Iterator[tuple[ChainStore, dict[str, Any]]]:
        """The chains of an unfinished run that have stored something, and the outcome of each so far."""
        for c in range(self.config["chains"]):
            store = ChainStore(self.path / files.WORK, c)
            if saved := store.read_checkpoint():
                with files.report_damage(store.checkpoint_path):
                    known = {key: saved["outcome"][key] for key in ("moves", "best_labels")}
                    known |= {"iterations": int(saved["outcome"]["iterations"])}
                    known |= {"best_log_joint": float(saved["outcome"]["best_log_joint"])}
                yield store, known

    @cached_property
    def manifest(self) -> Manifest:
        """The files of a finished run. Raises `FileNotFoundError` (the run is not finished)."""
        if not self.is_done:
            raise FileNotFoundError(f"{self.path}: no results yet: {self.missing}")
        return Manifest(self.path / files.MANIFEST, contents=self._contents)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """``summary.json`` of a finished run."""
        _ = self.manifest  # of an unfinished run, which is not damaged
        with files.report_damage(self.path / files.SUMMARY):
            summary = received.parse_json(self.content(files.SUMMARY))
            # what this process wrote is no file of somebody else; to build the schemas takes longer than to sample
            if files.SUMMARY not in self._contents:
                resolve_name(self._kind.summary).model_validate(summary)
            if summary["chains"] != self.config["chains"]:
                raise ValueError("of another number of chains")
            return dict(summary)

    @property
    def _kind(self) -> Kind:
        """The kind of data whose own tables a finished run has; one without a name if it has none."""
        return next((kind for kind in kinds().values() if any(map(self.has_table, kind.tables))), Kind())

    def has_table(self, table: str) -> bool:
        """Whether this is a finished run that holds a table, such as `names.SIMILARITY`."""
        return (self.path / f"{table}.parquet").is_file()

    def content(self, name: str) -> bytes:
        """The content of a text file of a finished run, which is what was written."""
        file = self.manifest.check(name)
        return self._contents[name] if name in self._contents else received.read(file, received.LARGE)

    def trace(self, columns: list[str] | None = None) -> "pd.DataFrame":
        """One row per recorded iteration and chain; `columns` selects some. An unfinished run's trace ends early."""
        return self.table(schema.TRACE, columns)

    def partitions(self, columns: list[str] | None = None) -> "pd.DataFrame":
        """One row per recorded partition: chain, iteration, K, labels. An unfinished run's ends early."""
        return self.table(schema.PARTITIONS, columns)

    def moves(self) -> "pd.DataFrame":
        """Proposals, acceptances, null proposals and seconds by move and chain, so far."""
        if self.is_done:
            return self.table(schema.MOVES, None)
        columns = schema.recorded_columns(schema.MOVES)
        tables = [columns.empty_table()]
        for store, outcome in self._stored_chains():
            with files.report_damage(store.checkpoint_path):
                rows = [{"chain": store.chain} | move for move in outcome["moves"]]
                tables.append(pa.Table.from_pylist(rows, columns))
                schema.check_rows(schema.MOVES, tables[-1], self.config["chains"], done=False)
        return pa.concat_tables(tables).to_pandas()

    def diagnostics(self) -> "pd.DataFrame":
        """Columns quantity, chain (missing: over all chains), value."""
        return self.table(schema.DIAGNOSTICS, None).astype({"chain": "Int32"})

    @property
    def has_similarity(self) -> bool:
        """Whether this is a finished run that holds the co-clustering of its items."""
        return self.has_table(schema.SIMILARITY)

    def similarity(self, columns: list[str] | None = None) -> "pd.DataFrame":
        """One row per pair of items (row < other, from 1) that were together in a partition, with the probability.

        Pairs that are not there were never together.
        """
        return self.table(schema.SIMILARITY, columns)

    def clusters(self) -> "pd.DataFrame":
        """``clusters.csv`` of a finished run: row, cluster, name where items have names, unit where
        rows of one unit stay together, certainty, second, second_probability.

        The last three are missing if they are not known. Where rows that repeat others are read once, only the first of
        them is there: an item.
        """
        file = self.file(files.CLUSTERS)
        with files.report_damage(file):
            frame = read_csv(file, ["name", schema.UNIT], schema.MEMBERSHIP)
            N, has_copies = self.summary["N"], schema.COPY_OF in frame
            rows = self.summary["repeated_rows"]["rows"] if has_copies else N
            if frame["row"].tolist() != list(range(1, rows + 1)) or (frame["cluster"] < self.first_cluster).any():
                raise ValueError("expected a row for every item")
            if has_copies:
                frame = frame[frame[schema.COPY_OF] == ""].reset_index(drop=True)
                if "name" not in frame:
                    frame["name"] = frame["row"].astype(str)
                if len(frame) != N:
                    raise ValueError("expected a row that repeats no other for every item")
            frame = frame.reindex(columns=[c for c in schema.CLUSTERS if c in frame or c in schema.MEMBERSHIP])
            return with_shares(frame, "certainty", "second_probability").astype({"second": "Int64"})

    @property
    def has_cluster_summary(self) -> bool:
        """Whether this is a finished run that describes its clusters (see docs/run-files.md)."""
        return self.is_done and files.CLUSTER_SUMMARY in self.manifest.names

    def cluster_summary(self) -> "pd.DataFrame":
        """``cluster_summary.csv``: one row per cluster, the largest first."""
        frame = self._read_summary(files.CLUSTER_SUMMARY, schema.CLUSTER_SUMMARY[:6], ["prototype", "telling"])
        with files.report_damage(self.path / files.CLUSTER_SUMMARY):
            # sizes of weighted rows are rounded
            size = self.summary.get(schema.BUNDLES, {}).get("size", self.summary["N"])
            rounding = len(frame) * (schema.BUNDLES in self.summary)
            if abs(frame["size"].sum() - size) > rounding:
                raise ValueError("expected clusters of all items")
        return frame

    def column_summary(self) -> "pd.DataFrame":
        """``column_summary.csv``: one row per column of a table and cluster."""
        return self._read_summary(files.COLUMN_SUMMARY, schema.COLUMN_SUMMARY, ["column", "level"])

    def _read_summary(self, name: str, columns: Sequence[str], text: Sequence[str]) -> "pd.DataFrame":
        file = self.file(name)
        with files.report_damage(file):
            frame = read_csv(file, text)
            if list(frame)[: len(columns)] != list(columns):
                raise ValueError(f"columns {list(frame)}; expected {list(columns)}")
            return frame

    @property
    def provenance(self) -> dict[str, Any]:
        """Versions, commit, machine, digests of the data's files, and of a finished run its configuration and seed:
        from the metadata of ``trace.parquet``, of an unfinished run from ``status.json``."""
        if not self.is_done:
            return self.status
        file = self.manifest.check(f"{schema.TRACE}.parquet")
        with files.report_damage(file):
            return dict(received.parse_json(pq.read_schema(file).metadata[schema.METADATA_KEY]))

    def file(self, name: str) -> Path:
        """A file of a finished run; that not every run has it is no damage."""
        if name not in self.manifest.names:
            raise FileNotFoundError(f"{self.path}: such a run has no {name}")
        return self.manifest.check(name)

    def rows(self, table: str = schema.TRACE, columns: list[str] | None = None) -> pa.Table:
        """A table of a finished run, such as `names.TRACE`, as it is stored; `columns` selects some."""
        file = self.file(f"{table}.parquet")
        with files.report_damage(file):
            # partitioning off: a folder name such as a=b in the path is no column
            options: Any = {"partitioning": None, "page_checksum_verification": True}
            schema.check_columns(table, pq.read_schema(file), whole=True)
            table_read = pq.read_table(file, columns=columns, **options)
            schema.check_rows(table, table_read, self.config["chains"], done=True)
            return table_read

    def states(self) -> dict[str, Any]:
        """The states of the chains at the end of a finished run, from which a longer one goes on."""
        pattern = files.STATES.format("*")
        held = (name for name in self.manifest.names if fnmatch(name, pattern))
        return dict(manifest.load(self.file(next(held, pattern))))

    def table(self, table: str, columns: list[str] | None = None) -> "pd.DataFrame":
        """A table, such as `names.TRACE`, as a data frame, of an unfinished run so far; `columns` selects some."""
        if self.is_done:
            return self.rows(table, columns).to_pandas()
        n_chains = self.config["chains"]
        chains = [ChainStore(self.path / files.WORK, c, streamed=[table]) for c in range(n_chains)]
        known = (chain for chain in chains if table in STREAMED and chain.read_checkpoint())
        tables = [chain.table(table, n_chains) for chain in known]
        if not any(len(rows) for rows in tables):
            raise FileNotFoundError(f"{self.path}: no {table} yet: {self.missing}")
        frame = pa.concat_tables(tables).to_pandas()
        return frame if columns is None else frame[columns]


def read_csv(file: Path, text: Sequence[str], missing: Sequence[str] | None = None) -> "pd.DataFrame":
    """Read a table whose columns `text` are text, a name such as NA being a name; in the columns `missing` (by default
    in all others) an empty cell is a missing value."""
    head = pd.read_csv(file, nrows=0).columns if missing is None else missing
    empty: Any = {column: [""] for column in head if column not in text}
    return pd.read_csv(file, dtype=dict.fromkeys(text, str), keep_default_na=False, na_values=empty)


def with_shares(frame: "pd.DataFrame", *columns: str) -> "pd.DataFrame":
    """The table with these columns as floats, all of which are shares where they are not missing."""
    frame = frame.astype(dict.fromkeys(columns, float))
    for column in columns:
        if not frame[column].dropna().between(0, 1).all():
            raise ValueError(f"{column}: expected shares")
    return frame


def find_runs(out: str | Path) -> list[Run]:
    """All runs under a folder, in the order of their paths; else those that sweeps and races list there, in theirs.

    The table of a sweep or race stands for its folder. Raises `DataError` (a run that is listed is not there) or
    `DamagedRun` (a list is not what was written).
    """
    folder = Path(out)
    if folder.is_file():
        folder = folder.parent
        if not (folder / files.LISTED_RUNS).is_file():
            return []
    if below := [Run(status.parent) for status in sorted(folder.rglob(files.STATUS)) if status.is_file()]:
        return below
    lists = [file for file in sorted(folder.rglob(files.LISTED_RUNS)) if file.is_file()]
    return list({run.path.resolve(): run for file in lists for run in _listed_runs(file)}.values())


def _listed_runs(file: Path) -> list[Run]:
    """The runs of a sweep or race, whose folders are named from the folder of the results."""
    Manifest(file.parent / files.MANIFEST, REMEDY_OF_LIST).check(file.name)
    runs = []
    for number, line in enumerate(received.read(file, received.LARGE).decode().splitlines(), 1):
        places = [file.parents[2] / line, Path(line)]
        path = next((place for place in places if (place / files.STATUS).is_file()), None)
        if path is None:
            expected = "the command that wrote the list makes it again"
            raise received.DataError(f"{file}: row {number}: {line}: no run there; {expected}")
        runs.append(Run(path))
    return runs
