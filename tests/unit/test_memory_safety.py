"""Memory safety of the compiled code: tables, copies, and states that come from a file."""

import copy
import re
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_cases import MODELS, POINTS

import splitmerge_cli
from splitmerge_cli.core.chain import Chain, advance_together
from splitmerge_cli.core.history import History, by_appearance
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.documents.hdp import HDP
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.tokens.emm import EMM
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.lshsm import LSHSM
from splitmerge_cli.samplers.reconfiguration import ARM
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import BSM, Dyadic
from splitmerge_cli.samplers.wang_russell import BirthDeath

SOURCES = Path(splitmerge_cli.__file__).parent

# every call that a scan of a graph makes, with tables between two pages that may not be touched
TABLES = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cells.h"

static int64_t *guarded(int64_t length, int at_the_end)
{
    const size_t page = sysconf(_SC_PAGESIZE), size = (length * 8 + page - 1) / page * page;
    char *all = mmap(NULL, size + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(all, page, PROT_NONE);
    mprotect(all + page + size, page, PROT_NONE);
    return (int64_t *)(all + page + (at_the_end ? size - length * 8 : 0));
}

/* Two blocks of a and n - a nodes, all pairs of nodes joined if `full`: an item of the first against both. */
static void try(int n, int a, int full, int at_the_end)
{
    const int64_t length = n * (n - 1) / 2 + 2 * n + 8;
    const int K = a < n ? 2 : 1, b = n - a;
    int32_t size[2] = {a, b};
    int64_t c[2] = {a - 1, b}, e[2][2] = {{a * (a - 1) / 2, a * b}, {a * b, b * (b - 1) / 2}};
    int64_t zero[2][2] = {{0}}, score[2] = {0}, nothing[2] = {0}, one = 1;
    int64_t *edge = guarded(length, at_the_end), *gap = guarded(length, at_the_end);
    int64_t *pair = guarded(length, at_the_end);
    part_t part;
    memset(&part, 0, sizeof part);
    part.unknown = -1;
    part.between.near = 1;
    part.between.edge.at = edge;
    part.between.gap.at = gap;
    part.between.pair.at = pair;
    part.between.edge.length = part.between.gap.length = part.between.pair.length = length;
    part.within = part.between;
    form_t form = {&part, 1, 1, 0, 1};
    for (int64_t m = 0; m < length; m++)
        edge[m] = gap[m] = pair[m] = m;
    if (!full) {
        memset(c, 0, sizeof c);
        memset(e, 0, sizeof e);
    }
    for (int l = 0; l < K; l++) {
        row_t row = {e[l], nothing, 0, size, size, K, l, l, 0, 0, size[l], 0};
        sum_row(&form, &row, score);
        row.d0 = 1;
        fill_row(&form, &row, NULL, 0, zero[l]);
        row.add = &one;
        add_gains(&form, &row, zero[l], NULL, 0, score);
        row.add = c + l;
        if (l != 0 && c[l])
            add_gains(&form, &row, zero[l], NULL, 0, score);
        row.add = c;
        row.every = 1;
        row.d0 = 0;
        row.b0 = size[l] + 1;
        row.b = 0;
        if (l != 0)
            sum_row(&form, &row, score);
    }
    add_own(&form, e[0], c, size, K, 0, a - 1, c[0], nothing, zero[0], score);
}

int main(void)
{
    for (int n = 1; n < 40; n++)
        for (int a = 1; a <= n; a++)
            for (int which = 0; which < 4; which++)
                try(n, a, which & 1, which >> 1);
    return 0;
}
"""


def test_no_entry_before_or_behind_a_table_of_blocks_is_read(tmp_path: Path) -> None:
    (tmp_path / "tables.c").write_text(TABLES, encoding="utf-8")
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    flags = ["-O1", "-UNDEBUG", *(f"-I{SOURCES / folder}" for folder in ("core/include", "kinds/networks"))]
    command = [*compiler, *flags, "-Wno-psabi", "tables.c", "-o", "tables", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run([tmp_path / "tables"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


GROWING = [file for file in sorted(SOURCES.rglob("*.pyx")) if "cdef int grow(" in file.read_text(encoding="utf-8")]


@pytest.mark.parametrize("file", GROWING, ids=lambda file: file.name)
def test_what_grows_copies_by_functions_that_know_null(file: Path) -> None:
    """The first time there is nothing to copy; memcpy from NULL is undefined whatever the length."""
    body = r"\n    cdef int grow\(.*?(?=\n    cdef |\n    def |\n    @|\n    # -)"
    grows = re.findall(body, file.read_text(encoding="utf-8"), re.DOTALL)
    assert grows
    assert not any(re.search(r"\bmem(cpy|move)\(", grow) for grow in grows)


@pytest.mark.parametrize("file", sorted(SOURCES.rglob("*.pyx")), ids=lambda file: file.name)
def test_memory_ends_where_an_array_ends(file: Path) -> None:
    """In whole doubles, a sanitizer would not see the first number behind an array of smaller ones."""
    assert not re.search(r"<u?int(8|16|32)_t \*> (self\.memory\.)?doubles\(", file.read_text(encoding="utf-8"))


def test_sizes_of_more_clusters_than_items_have_room() -> None:
    """Empty clusters are recorded too, and there may be more of them than the buffer has room for items."""
    most = 1_100_000
    model, rng = EMM([0, 0], kmax=most), Rng(0)
    model.set_labels([0, 0], most)
    rows = Chain(model, rng, [BirthDeath(model, rng)], timing=False, sizes=True).advance(0)
    assert rows["sizes_end"].tolist() == [most]
    assert rows["sizes"].tolist()[:2] == [2, 0]
    assert len(rows["sizes"]) == most


# ------------------------------------------------------------------------------------------------- states from a file


def topics() -> HDP:
    words = np.random.default_rng(3).integers(5, size=30)
    return HDP(words, [0, 10, 20, 30], 5)


KINDS: dict[str, Callable[[], Model]] = {
    "bernoulli": MODELS["bernoulli"],
    "emm": MODELS["emm"],
    "irm": MODELS["irm"],
    "gaussian": MODELS["gaussian"],
    "mixed": MODELS["mixed"],
    "lines": lambda: Lines(POINTS, concentration="gamma(1,1)", conjugate=False, noise="nig"),
    "hdp": topics,
}


def chain_of(kind: str) -> Chain:
    model, rng = KINDS[kind](), Rng(1)
    model.set_labels(np.arange(model.N) % 4)
    model.start_parameters(rng)
    steps: list[Any] = [Dyadic(model, rng)]
    if kind == "gaussian":
        steps.append(LSHSM(model, rng, proposal="sums", mode="as_printed", bits=2, tables=2))
    if model.conjugate:
        steps.append(Gibbs(model, rng))
    if model.refreshes:
        steps.append(Refresh(model, rng))
    return Chain(model, rng, steps, timing=False, truth=np.arange(model.N) % 2, sizes=True)


def with_value(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    """Return a function that changes one part of a state."""

    def change(state: dict[str, Any]) -> None:
        place: Any = state
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value(place[path[-1]]) if callable(value) else value

    return change


def fill_with(number: float) -> Callable[[Any], Any]:
    """Parameters that are all this number."""
    return lambda given: np.full_like(given, number)


COMMON = {
    "labels: too few": with_value("labels", value=lambda given: given[:-1]),
    "labels: too many": with_value("labels", value=lambda given: np.append(given, 0)),
    "labels: none": with_value("labels", value=np.empty(0, dtype=np.int32)),
    "labels: negative": with_value("labels", value=lambda given: given - 1),
    "labels: numbers": with_value("labels", value=lambda given: given.astype(float)),
    "labels: NaN": with_value("labels", value=lambda given: np.full(len(given), np.nan)),
    "labels: a table": with_value("labels", value=lambda given: given[:, None]),
    "labels: words": with_value("labels", value=lambda given: np.array(["a"] * len(given))),
    "labels: null": with_value("labels", value=None),
    "K: too few": with_value("K", value=1),
    "K: too many": with_value("K", value=1 << 40),
    "K: negative": with_value("K", value=-3),
    "K: more than any": with_value("K", value=1 << 70),
    "K: no whole number": with_value("K", value=4.5),
    "K: a word": with_value("K", value="4"),
    "best_labels: too few": with_value("best_labels", value=np.zeros(1, dtype=np.int32)),
    "best_labels: none": with_value("best_labels", value=np.empty(0, dtype=np.int32)),
    "best_labels: huge": with_value("best_labels", value=lambda given: given + (1 << 30)),
    "best_lik_labels: numbers": with_value("best_lik_labels", value=lambda given: given / 2),
    "best_log_joint: NaN": with_value("best_log_joint", value=float("nan")),
    "iteration: negative": with_value("iteration", value=-(1 << 62)),
    "iteration: more than any": with_value("iteration", value=1 << 63),
    "seconds: NaN": with_value("seconds", value=float("nan")),
    "begun: a word": with_value("begun", value="yes"),
    "rng: of another": with_value("rng", "bit_generator", value="MT19937"),
    "rng: no numbers": with_value("rng", "state", value=None),
    "counts: one sampler": with_value("counts", value=lambda given: given[:1]),
    "counts: a move more": with_value("counts", 0, value=lambda given: [*given, *given, *given, *given, *given]),
    "counts: a move less": with_value("counts", 0, value=lambda given: given[:-1]),
    "counts: another move": with_value("counts", 0, 0, "move", value="swap"),
    "counts: negative": with_value("counts", 0, 0, "proposed", value=-1),
    "counts: null": with_value("counts", 0, 0, "accepted", value=None),
    "counts: no rows": with_value("counts", 0, value="split"),
    "tallies: null": with_value("tallies", value=None),
    "history: where there is none": with_value("history", value=(0, 0, np.empty((0, 60), dtype=np.uint8))),
}

OF_KIND = {
    ("lines", "parameters: too few"): with_value("parameters", value=lambda given: given[:-1]),
    ("lines", "parameters: NaN"): with_value("parameters", value=fill_with(np.nan)),
    ("lines", "parameters: a variance of 0"): with_value("parameters", value=fill_with(0.0)),
    ("lines", "parameters: words"): with_value("parameters", value=lambda given: given.astype(str)),
    ("lines", "parameters: complex"): with_value("parameters", value=lambda given: given + 1j),
    ("lines", "parameters: null"): with_value("parameters", value=None),
    ("lines", "hyperparameters: null"): with_value("hyperparameters", value=None),
    ("lines", "hyperparameters: none"): with_value("hyperparameters", value={}),
    ("lines", "concentration: null"): with_value("hyperparameters", "concentration", value=None),
    ("lines", "concentration: NaN"): with_value("hyperparameters", "concentration", value=float("nan")),
    ("lines", "concentration: a word"): with_value("hyperparameters", "concentration", value="many"),
    ("hdp", "parameters: too many"): with_value("parameters", value=lambda given: np.append(given, 0.0)),
    ("hdp", "parameters: NaN"): with_value("parameters", value=fill_with(np.nan)),
    ("hdp", "parameters: of no weights"): with_value("parameters", value=fill_with(-np.inf)),
    ("hdp", "parameters: all 1"): with_value("parameters", value=fill_with(1.0)),
    ("hdp", "parameters: null"): with_value("parameters", value=None),
    ("bernoulli", "parameters: where there are none"): with_value("parameters", value=np.zeros((4, 2))),
    ("bernoulli", "concentration: where it is fixed"): with_value("hyperparameters", value={"concentration": 1.0}),
    ("gaussian", "tallies: empty"): with_value("tallies", 1, value={}),
    ("gaussian", "tallies: words"): with_value("tallies", 1, "cache", "served", value="all"),
}

HOSTILE = {(kind, name): change for kind in KINDS for name, change in COMMON.items()} | OF_KIND


@pytest.mark.parametrize(("kind", "name"), HOSTILE, ids=lambda part: part.replace(" ", "_"))
def test_a_state_that_no_chain_had_is_refused(kind: str, name: str) -> None:
    chain = chain_of(kind)
    chain.advance(5)
    state = copy.deepcopy(chain.state)
    HOSTILE[kind, name](state)
    with pytest.raises(ValueError, match=r"\w"):
        chain.state = state
    # what was taken up before is sound
    chain.advance(5)
    assert np.isfinite(chain.log_joint)


@pytest.mark.parametrize("key", list(chain_of("bernoulli").state))
def test_a_state_with_a_part_missing_is_refused(key: str) -> None:
    chain = chain_of("bernoulli")
    state = chain.state
    del state[key]
    with pytest.raises(ValueError, match=key):
        chain.state = state


# -------------------------------------------------------------------------------- the history of chains


def states(count: int, N: int = 9) -> np.ndarray:
    rng = np.random.default_rng(2)
    return np.array([by_appearance(rng.integers(4, size=N), N) for _ in range(count)], dtype=np.int32)


def history_of(made: int, freeze: int | None = None) -> History:
    history = History(2, 9, freeze)
    for labels in states(made):
        history.add(1, labels)
    return history


BAD_HISTORIES: dict[str, tuple[Any, Any, Any]] = {
    "rows too short": (6, 2, states(4, 8)),
    "rows too long": (6, 2, states(4, 10)),
    "too few": (6, 2, states(3)),
    "too many": (6, 2, states(5)),
    "of numbers": (6, 2, states(4) / 2),
    "negative labels": (6, 2, states(4) - 1),
    "huge labels": (6, 2, states(4) + (1 << 20)),
    "labels beyond 64 bits": (6, 2, np.full((4, 9), 1 << 63, dtype=np.uint64)),
    "labels out of order": (6, 2, states(4)[:, ::-1] * 2),
    "first negative": (6, -1, states(4)),
    "first too late": (6, 5, states(1)),
    "first huge": (1 << 40, 1 << 39, states(0)),
    "made negative": (-4, 0, states(0)),
    "made too few": (1, 2, states(4)),
    "made beyond 64 bits": (1 << 70, 2, states(4)),
    "made no whole number": (6.0, 2, states(4)),
    "null": (6, 2, None),
    "a ragged list": (6, 2, [[0], [0, 1]]),
}


@pytest.mark.parametrize("name", BAD_HISTORIES)
def test_a_past_that_never_was_is_refused(name: str) -> None:
    history = history_of(6)
    before = history.kept_states(1)
    with pytest.raises(ValueError, match=r"\w"):
        history.restore(1, *BAD_HISTORIES[name])
    after = history.kept_states(1)
    assert before[:2] == after[:2]
    np.testing.assert_array_equal(before[2], after[2])


@pytest.mark.parametrize("chain", [-1, 2, 1 << 40])
def test_a_chain_that_a_past_does_not_have_is_refused(chain: int) -> None:
    history = history_of(6)
    with pytest.raises(ValueError, match="expected 0 to 1"):
        history.restore(chain, *history.kept_states(1))
    with pytest.raises(ValueError, match="expected 0 to 1"):
        history.kept_states(chain)


def test_a_frozen_past_of_very_many_iterations_holds_what_was_recorded() -> None:
    """And looks for nothing behind that, when it is restored or ends."""
    history = history_of(9, freeze=6)
    made, first, kept = history.kept_states(1)
    assert (made, first, len(kept)) == (9, 2, 5)
    for made in (1 << 40, 9):
        history.restore(1, made, first, kept)
        assert history.kept_states(1)[0] == made
        np.testing.assert_array_equal(history.kept_states(1)[2], kept)
    history.restore(1, 1 << 40, first, kept)
    del history


@pytest.mark.parametrize("sampler", [ARM, BSM])
def test_a_chain_that_runs_ahead_of_those_it_learns_from_is_stopped(sampler: type) -> None:
    chains = []
    for number in range(3):
        model, rng = MODELS["bernoulli"](), Rng(4, number)
        model.set_labels(np.arange(model.N) % (3 + number))
        chains.append(Chain(model, rng, [sampler(model, rng)], timing=False))
    history = chains[0].samplers[0].adaptive.new_history(3)
    for number, chain in enumerate(chains):
        chain.adapt_to(history, number)
    advance_together(chains, 3)
    with pytest.raises(RuntimeError, match="to advance together"):
        chains[0].advance(200)


def test_a_state_with_another_past_is_refused() -> None:
    model, rng = MODELS["bernoulli"](), Rng(4)
    mover = ARM(model, rng)
    chain = Chain(model, rng, [mover], timing=False)
    chain.adapt_to(mover.adaptive.new_history(1), 0)
    chain.advance(20)
    state = chain.state
    for history in (None, (5, 1, state["history"][2][:4]), (21,), "history"):
        with pytest.raises(ValueError, match=r"history|state"):
            chain.state = state | {"history": history}
    chain.state = state
