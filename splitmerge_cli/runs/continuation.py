"""Runs that go on where a finished one ended: the chains are the same, only longer.

The draws of a chain depend neither on how many follow nor on when it was stopped. So a run of 40,000 iterations begins
with the states, and the rows, of a finished one of 20,000, and ends with the bytes of one that was made at once. A
finished run keeps the states of its chains in a file that the identity of the chains names (`identity.chains_id`): it
is found by that name in the folder where the longer run is to lie.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from splitmerge_cli.config.errors import ConfigError
from splitmerge_cli.config.schema import Until
from splitmerge_cli.diagnostics.partition_losses import by_appearance
from splitmerge_cli.runs.identity import chains_id, complete
from splitmerge_cli.runs.recorders import recorder_of
from splitmerge_cli.runs.stopping import look, looks
from splitmerge_cli.runs.store import schema
from splitmerge_cli.runs.store.arrays import numbers_of
from splitmerge_cli.runs.store.files import DamagedRun, report_damage
from splitmerge_cli.runs.store.names import STATES
from splitmerge_cli.runs.store.store import save_checkpoints

if TYPE_CHECKING:
    from splitmerge_cli.runs.plan import Plan
    from splitmerge_cli.runs.recorders.spacing import Spacing
    from splitmerge_cli.runs.store.read import Run
    from splitmerge_cli.runs.store.store import ChainStore, RunStore

LABELS = ("best_labels", "best_lik_labels")
"""Fields of an outcome that the state of the chain holds, too."""
OF_BATCH = "rate"
"""Field of an outcome that depends on the machine."""


def keep_states(plan: "Plan", store: "RunStore", chains: Sequence["ChainStore"]) -> None:
    """Keep what another run needs to go on where this one ended.

    The runs of an experiment keep nothing: how long they are belongs to the experiment.
    """
    if plan.spec.experiment:
        return
    kept = []
    for chain in chains:
        saved = chain.read_checkpoint()
        assert saved is not None
        left_out = (*LABELS, "last_labels", OF_BATCH)
        told = {key: value for key, value in saved["outcome"].items() if key not in left_out}
        evaluated: dict[str, Any] | None = None
        if plan.recorder.evaluates:
            rows = chain.table(schema.HELDOUT, plan.spec.chains)
            evaluated = {name: numbers_of(rows[name]) for name in ("iteration", "seconds", "tokens", "log_lik")}
        kept.append({"state": saved["state"], "outcome": told, "evaluated": evaluated})
    store.write_states(STATES.format(chains_id(plan.spec, plan.digests)), {"chains": kept})


def take_up(plan: "Plan", store: "RunStore", chains: Sequence["ChainStore"], say: Callable[[str], None]) -> None:
    """Let the chains of a run that has none yet begin where those of a finished run ended, if there is such a run.

    Parameters
    ----------
    plan : Plan
    store : RunStore
    chains : sequence of ChainStore
        Chains that have stored something are left as they are.
    say : callable
        Receives a line: which run is continued; or why the run begins anew, though one of the same chains is there.
    """
    new = [chain for chain in chains if not chain.checkpoint_path.exists()]
    if not plan.spec.resume or (len(new) < len(chains) if plan.spec.is_adaptive else not new):
        return
    name = STATES.format(chains_id(plan.spec, plan.digests))
    why = ""
    for run in _longest_first(store, name):
        if max(run.summary["iterations"]) > plan.iterations or max(run.summary["seconds"]) >= plan.budget:
            continue  # it went further
        if why := _obstacle(plan, run):
            continue
        try:
            tables = _read_tables(plan, run)
            if why := _find_lacking(plan, run, tables):
                continue
            _begin_with(plan, new, run, tables, run.states()["chains"])
        except (DamagedRun, FileNotFoundError) as error:
            why = str(error)
            _clear(new)
            continue
        made = min(run.summary["iterations"])
        if not _is_stricter(plan.spec.until, _read_until(run)) and (end := _find_earlier_end(plan, chains, made)):
            _clear(new)
            why = f"until asks for no more than {end:,} iterations, and it made {made:,}"
            continue
        say(f"goes on after the {made:,} iterations of {run.path}")
        return
    if why:
        say(f"begins anew: {why}")


def _longest_first(store: "RunStore", name: str) -> list["Run"]:
    """Finished runs beside that of `store` whose chains are the same, by iterations."""
    found = []
    for file in sorted(store.path.parent.glob(f"*/{name}")):
        try:
            run = complete(file.parent)
        except DamagedRun:
            continue
        if run is not None and file.parent != store.path:
            found.append(run)
    return sorted(found, key=lambda run: -min(run.summary["iterations"]))


def _read_until(run: "Run") -> Until:
    return Until(**run.config["until"])


def _obstacle(plan: "Plan", run: "Run") -> str:
    """Why the run of `plan` cannot begin with a finished one of the same chains; empty if it can."""
    keys: dict[str, Any] = {key: run.config[key] for key in ("iterations", "budget")}
    wanted = plan.recorder.spacing
    earlier = recorder_of(replace(plan.spec, **keys, until=_read_until(run)), plan.dataset).spacing
    if are_recorded(wanted, earlier, max(run.summary["iterations"])):
        return ""

    def describe(spacing: "Spacing") -> str:
        more = "" if spacing.doubled_after is None else " and ever fewer"
        return f"{spacing.every:,}th{more}" if spacing.every else "none"

    return f"{run.path} recorded other partitions, every {describe(earlier)}, this run every {describe(wanted)}"


def are_recorded(wanted: "Spacing", by: "Spacing", upto: int) -> bool:
    """Whether all partitions that `wanted` records of the first iterations were recorded by another spacing."""
    if wanted == by or not wanted.every:
        return True
    if not by.every:
        return False
    at = np.arange(0, upto + 1, wanted.every)
    at = at[wanted.is_recorded(at)]
    return bool((at % by.every == 0).all() and by.is_recorded(at).all())


def check_columns(plan: "Plan", chains: Sequence["ChainStore"]) -> None:
    """Raise a `ConfigError` where chains that were interrupted recorded other columns than this version of the program
    does; nothing is written."""
    for chain in chains:
        if difference := chain.find_other_columns():
            raise ConfigError(
                f"{plan.path}: the run was begun by another version of smcmc, and cannot be continued by this one: "
                f"{difference}; expected resume=false, which begins it anew, or the version that began it"
            )


def _read_tables(plan: "Plan", run: "Run") -> dict[str, Any]:
    """The tables of a finished run that grow while chains run, those partitions left out that the run of `plan` does
    not record."""
    tables = [one.table for one in plan.recorder.streamed_tables if one.table != schema.HELDOUT]
    whole = {table: run.rows(table) for table in tables}
    if schema.PARTITIONS in whole:
        at = whole[schema.PARTITIONS]["iteration"].to_numpy()
        spacing = plan.recorder.spacing
        recorded = (at % spacing.every == 0) & spacing.is_recorded(at) if spacing.every else np.zeros(len(at), bool)
        whole[schema.PARTITIONS] = whole[schema.PARTITIONS].filter(recorded)
    return whole


def _find_lacking(plan: "Plan", run: "Run", tables: Mapping[str, Any]) -> str:
    """Which column the run of `plan` records that a finished one has not; empty where that has all."""
    for table, rows in tables.items():
        for name in schema.recorded_columns(table, plan.optional_columns).names:
            if name not in rows.column_names:
                return f"{run.path} has no column '{name}' of the {table}, which this run records"
    return ""


def _begin_with(
    plan: "Plan",
    chains: Sequence["ChainStore"],
    run: "Run",
    tables: Mapping[str, Any],
    kept: Sequence[Mapping[str, Any]],
) -> None:
    """Store rows (`_read_tables`) and states of a finished run as those of chains that have none."""
    import pyarrow.compute as pc

    states, outcomes = [], []
    for chain in chains:
        with report_damage(run.path / STATES):
            state, outcome = kept[chain.chain]["state"], dict(kept[chain.chain]["outcome"])
            outcome |= {key: state[key] for key in LABELS} | {"last_labels": by_appearance(state["labels"])}
            outcome[OF_BATCH] = 0.0
            evaluated = kept[chain.chain]["evaluated"]
        columns = {table: schema.recorded_columns(table, plan.optional_columns).names for table in tables}
        of_chain = {
            table: rows.filter(pc.equal(rows["chain"], chain.chain)).select(columns[table])
            for table, rows in tables.items()
        }
        chain.begin_with(of_chain)
        if evaluated is not None:
            told = (evaluated[name].tolist() for name in ("iteration", "seconds", "tokens"))
            each = np.asarray(evaluated["log_lik"]).reshape(len(evaluated["iteration"]), -1)
            for iteration, seconds, tokens, log_lik in zip(*told, each, strict=True):
                chain.append_heldout(iteration, seconds, tokens, log_lik)
        states.append(state)
        outcomes.append(outcome)
    save_checkpoints(chains, states, outcomes, False, plan.spec.is_adaptive)
    for chain in chains:
        chain.close()


def _is_stricter(until: Until, than: Until) -> bool:
    """Whether chains that `until` ends go on at least as long as those that another ends."""
    if not until.is_given:
        return True
    rhat = than.rhat is None or (until.rhat is not None and until.rhat <= than.rhat)
    ess = than.ess is None or (until.ess is not None and until.ess >= than.ess)
    mcse = than.mcse is None or (until.mcse is not None and until.mcse <= than.mcse)
    return than.is_given and rhat and ess and mcse


def _find_earlier_end(plan: "Plan", chains: Sequence["ChainStore"], made: int) -> int | None:
    """Iterations after which the run would have ended before it had `made` so many; None where it would not."""
    for end in looks(plan):
        if end >= made:
            break
        if look(plan, chains, end).reached:
            return end
    return None


def _clear(chains: Sequence["ChainStore"]) -> None:
    """Let chains begin anew."""
    for chain in chains:
        chain.checkpoint_path.unlink(missing_ok=True)
