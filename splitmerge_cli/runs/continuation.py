"""Runs that continue a finished one: the chains are the same, only longer.

The draws of a chain depend neither on how many follow nor on when it was stopped. So a run of 40,000 iterations begins
with the states, and the rows, of a finished one of 20,000, and ends with the bytes of one that was made at once. A
finished run keeps the states of its chains in a file that the identity of the chains names (`identity.chains_id`): it
is found by that name in the folder where the longer run is to lie.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np

from splitmerge_cli.config.errors import ConfigError
from splitmerge_cli.config.schema import Until
from splitmerge_cli.diagnostics.partition_losses import by_appearance
from splitmerge_cli.runs import identity, judgement, recorders
from splitmerge_cli.runs.plan import Plan
from splitmerge_cli.runs.store import files, read, schema
from splitmerge_cli.runs.store.store import ChainStore, RunStore, save_checkpoints

LABELS = ("best_labels", "best_lik_labels")
"""Fields of an outcome that the state of the chain holds, too."""
OF_BATCH = "rate"
"""Field of an outcome that depends on the machine."""


def keep_states(plan: Plan, store: RunStore, chains: Sequence[ChainStore]) -> None:
    """Keep the states from which a longer run can continue.

    Runs of an experiment keep nothing, because their length belongs to the experiment.
    """
    if plan.is_experiment:
        return
    states = []
    for chain in chains:
        saved = chain.read_checkpoint()
        assert saved is not None
        left_out = (*LABELS, "last_labels", OF_BATCH)
        outcome = {key: value for key, value in saved["outcome"].items() if key not in left_out}
        evaluated = plan.recorder.evaluations(chain)
        states.append({"state": saved["state"], "outcome": outcome, "evaluated": evaluated})
    store.write_states(files.STATES.format(identity.chains_id(plan.spec, plan.digests)), {"chains": states})


def take_up(plan: Plan, store: RunStore, chains: Sequence[ChainStore], say: Callable[[str], None]) -> None:
    """Let new chains of a run start from the last states of a finished run with the same chains, if there is one.
    `chains`: chains that have stored something are left as they are; `say`: receives one line: which run is continued,
    or why the run starts again although a run of the same chains exists."""
    new = [chain for chain in chains if not chain.checkpoint_path.exists()]
    if len(new) < len(chains) if plan.is_adaptive else not new:
        return
    name = files.STATES.format(identity.chains_id(plan.spec, plan.digests))
    why = ""
    for run in _longest_first(store, name):
        if max(run.summary["iterations"]) > plan.iterations or max(run.summary["seconds"]) >= plan.budget:
            continue  # it went further
        if why := _obstacle(plan, run):
            continue
        try:
            tables = _read_tables(plan, run)
            # what the run of `plan` records and the finished one lacks
            recorded = [(c, t) for t in tables for c in schema.recorded_columns(t, plan.optional_columns).names]
            if lacking := next((one for one in recorded if one[0] not in tables[one[1]].column_names), None):
                why = f"{run.path} has no column '{lacking[0]}' of the {lacking[1]}, which this run records"
                continue
            _begin_with(plan, new, run, tables, run.states()["chains"])
        except (files.DamagedRun, FileNotFoundError) as error:
            why = str(error)
            _clear(new)
            continue
        iterations_made = min(run.summary["iterations"])
        earlier = takewhile(iterations_made.__gt__, judgement.looks(plan))
        if not _is_stricter(plan.stopping_rule, _read_until(run)) and (
            end := next((end for end in earlier if judgement.look(plan, chains, end).reached), None)
        ):
            _clear(new)
            why = f"until stops at {end:,} iterations, and the earlier run made {iterations_made:,}"
            continue
        say(f"continues after the {iterations_made:,} iterations of {run.path}")
        return
    if why:
        say(f"starts again: {why}")


def _longest_first(store: RunStore, name: str) -> list[read.Run]:
    """Find finished runs with the same chains next to `store`, sorted by iterations."""
    runs = []
    for file in sorted(store.path.parent.glob(f"*/{name}")):
        with suppress(files.DamagedRun):
            if (run := identity.complete(file.parent)) is not None and file.parent != store.path:
                runs.append(run)
    return sorted(runs, key=lambda run: -min(run.summary["iterations"]))


def _read_until(run: read.Run) -> Until:
    return Until(**run.config["until"])


def _obstacle(plan: Plan, run: read.Run) -> str:
    """Why the run of `plan` cannot begin with a finished one of the same chains; empty if it can."""
    keys: dict[str, Any] = {key: run.config[key] for key in ("iterations", "budget")}
    wanted = plan.recorder.spacing
    earlier = recorders.recorder_of(replace(plan.spec, **keys, until=_read_until(run)), plan.dataset).spacing
    if are_recorded(wanted, earlier, max(run.summary["iterations"])):
        return ""

    def describe(spacing: recorders.Spacing) -> str:
        more = "" if spacing.doubled_after is None else " and ever fewer"
        return f"{spacing.every:,}th{more}" if spacing.every else "none"

    return f"{run.path} recorded every {describe(earlier)} partition, this run records every {describe(wanted)}"


def are_recorded(wanted: recorders.Spacing, by: recorders.Spacing, upto: int) -> bool:
    """Whether all partitions that `wanted` records of the first iterations were recorded by another spacing."""
    if wanted == by or not wanted.every:
        return True
    if not by.every:
        return False
    iterations = np.arange(0, upto + 1, wanted.every)
    iterations = iterations[wanted.is_recorded(iterations)]
    return bool((iterations % by.every == 0).all() and by.is_recorded(iterations).all())


def check_columns(plan: Plan, chains: Sequence[ChainStore]) -> None:
    """Raise a `ConfigError` if interrupted chains recorded other columns than this version of the program does."""
    for chain in chains:
        if difference := chain.find_other_columns():
            raise ConfigError(
                f"{plan.path}: another version of the program began this run, and this version cannot continue it: "
                f"{difference}; expected resume=false, which starts it again, or the other version"
            )


def _read_tables(plan: Plan, run: read.Run) -> dict[str, Any]:
    """Read the tables of a finished run that grow while chains run, without partitions that `plan` does not record."""
    whole = {one.table: run.rows(one.table) for one in plan.recorder.streamed_tables if one.is_kept}
    if schema.PARTITIONS in whole:
        iterations, spacing = whole[schema.PARTITIONS]["iteration"].to_numpy(), plan.recorder.spacing
        # without any, `is_recorded` is false
        recorded = (iterations % max(spacing.every, 1) == 0) & spacing.is_recorded(iterations)
        whole[schema.PARTITIONS] = whole[schema.PARTITIONS].filter(recorded)
    return whole


def _begin_with(
    plan: Plan,
    chains: Sequence[ChainStore],
    run: read.Run,
    tables: Mapping[str, Any],
    saved_states: Sequence[Mapping[str, Any]],
) -> None:
    """Store rows (`_read_tables`) and states of a finished run in chains that have none."""
    import pyarrow.compute as pc

    states, outcomes = [], []
    columns = {table: schema.recorded_columns(table, plan.optional_columns).names for table in tables}
    for chain in chains:
        with files.report_damage(run.path / files.STATES):
            saved = saved_states[chain.chain]
            state, evaluated = saved["state"], saved["evaluated"]
            outcome = saved["outcome"] | {key: state[key] for key in LABELS} | {OF_BATCH: 0.0}
            outcome["last_labels"] = by_appearance(state["labels"])
        of_chain = {table: rows.filter(pc.equal(rows["chain"], chain.chain)) for table, rows in tables.items()}
        chain.begin_with({table: rows.select(columns[table]) for table, rows in of_chain.items()})
        if evaluated is not None:
            plan.recorder.take_up(chain, evaluated)
        states.append(state)
        outcomes.append(outcome)
    save_checkpoints(chains, states, outcomes, False, plan.is_adaptive)
    for chain in chains:
        chain.close()


def _is_stricter(until: Until, than: Until) -> bool:
    """Whether `until` stops chains no earlier than the other rule does."""
    if not until.is_given:
        return True
    # a larger ESS is stricter, and a target that is not given is the least strict
    targets = [((u.rhat or math.inf), -(u.ess or 0.0), (u.mcse or math.inf)) for u in (until, than)]
    return than.is_given and all(own <= other for own, other in zip(*targets, strict=True))


def _clear(chains: Sequence[ChainStore]) -> None:
    """Let chains start again."""
    for chain in chains:
        chain.checkpoint_path.unlink(missing_ok=True)
