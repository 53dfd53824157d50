"""Near pairs of records: which true pairs they hold, what they leave out, and blocks that none of them joins."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from small_cases import partitions_of

import smcmc
from splitmerge_cli import runs
from splitmerge_cli.config import specify
from splitmerge_cli.core.shared import Prepared
from splitmerge_cli.kinds.records import near_pairs
from splitmerge_cli.kinds.records.generated import generate
from splitmerge_cli.kinds.records.model import Records
from splitmerge_cli.kinds.records.near_pairs import find_blocks, find_pairs, prepare


def pairs_of(dataset, sources=None, **options):
    fields = [(field.type, field.levels) for field in dataset.types]
    return find_pairs(dataset.values, Prepared(prepare(dataset.values, fields, "edit", 2.0)), sources, **options)


@pytest.fixture(scope="module")
def people():
    return generate(1500, entities=1000, distortion=0.1)


def test_true_pairs_are_near(people):
    """Nearly all pairs of one person's records are among them, and few others."""
    pairs, odds = pairs_of(people)
    same = people.truth[pairs[:, 0]] == people.truth[pairs[:, 1]]
    sizes = np.bincount(people.truth)
    assert same.sum() > 0.99 * (sizes * (sizes - 1) // 2).sum()
    assert len(pairs) < 1.5 * people.N
    assert (pairs[:, 0] < pairs[:, 1]).all() and len(np.unique(pairs, axis=0)) == len(pairs)
    # the score tells them apart
    assert odds[same].mean() > 10 and np.median(odds[~same]) < 0


def test_near_pairs_without_an_equal_field():
    """Two names with a wrong letter each, and rare names that two records share among others that thousands share."""
    common = np.arange(2000) % 4
    name = np.concatenate([[4, 5], 6 + np.arange(1998) % 8])
    words = ("ines", "omar", "ulla", "yves", "katharina", "katharine", *(f"{c * 5}xyz" for c in "abcdefgh"))
    place = np.concatenate([[0, 1], 2 + np.arange(1998) % 9])
    towns = ("waldshut", "waldshit", *(f"{c * 6}" for c in "klmnopqrs"))
    rare = np.concatenate([np.arange(1000, 1996) % 3, [3, 3, 4, 4], np.arange(1000) % 3])
    fields = [("categorical", words[:4]), ("string", words), ("string", towns), ("categorical", tuple("abcde"))]
    values = np.column_stack([common, name, place, rare]).astype(np.int32)
    values[:, 1] = np.unique(values[:, 1], return_inverse=True)[1]
    fields[1] = ("string", words[4:])
    pairs, _ = find_pairs(values, Prepared(prepare(values, fields, "edit", 2.0)))
    listed = {*map(tuple, pairs.tolist())}
    assert (0, 1) in listed
    assert {(996, 997), (998, 999)} <= listed


def test_the_most_likely_pairs_stay(people):
    every, odds = pairs_of(people)
    few, of_few = pairs_of(people, most=0.2)
    assert len(few) == 300
    assert of_few.min() >= np.sort(odds)[::-1][299]
    assert {*map(tuple, few.tolist())} <= {*map(tuple, every.tolist())}


def test_records_of_one_source_are_no_pair(people):
    sources = (np.arange(people.N) % 3).astype(np.int32)
    pairs, _ = pairs_of(people, sources)
    assert len(pairs) and (sources[pairs[:, 0]] != sources[pairs[:, 1]]).all()


def test_a_field_that_always_differs_speaks_against_no_pair():
    """Two catalogues spell two fields in ways of their own. Half of the entries have a code, too: these pairs are sure,
    and show it, so that those without are near pairs as well."""
    N = 1000
    title, code = np.tile(np.arange(N), 2), np.tile(np.where(np.arange(N) % 2, np.arange(N) // 2, -1), 2)
    spelling = np.repeat([0, 20], N) + np.tile(np.arange(N) % 20, 2)
    values = np.column_stack([title, code, spelling, spelling]).astype(np.int32)
    fields = [("categorical", tuple(map(str, range(n)))) for n in (N, N // 2, 40, 40)]
    pairs, _ = find_pairs(values, Prepared(prepare(values, fields, "edit", 2.0)), np.repeat([0, 1], N).astype(np.int32))
    assert {(i, i + N) for i in range(N)} <= {*map(tuple, pairs.tolist())}


def test_strangers_part(tmp_path):
    """Splits of any cluster part two records that are no near pair."""
    people = generate(300, entities=300, distortion=0.05)
    near = {*map(tuple, pairs_of(people)[0].tolist())}
    other = next(j for j in range(1, people.N) if (0, j) not in near)
    start = np.arange(people.N)
    start[other] = 0
    np.savetxt(tmp_path / "start.txt", start, fmt="%d")
    options = {"init": str(tmp_path / "start.txt")}
    found = smcmc.sample("records", people, iterations=60, chains=1, seed=1, progress="none", options=options)
    assert found.partitions[-1][0] != found.partitions[-1][other]


def test_many_alike_records_stay_connected():
    """A hundred records alike are not five thousand pairs, and one component."""
    values = np.concatenate([np.zeros((100, 2)), np.arange(1, 1901)[:, None].repeat(2, axis=1)]).astype(np.int32)
    fields = [("categorical", tuple(map(str, range(1901))))] * 2
    pairs, odds = find_pairs(values, Prepared(prepare(values, fields, "edit", 2.0)))
    assert 0 < len(pairs) <= 10 * 100
    assert len(np.unique(find_blocks(pairs, odds, 2000, 2)[:100])) == 1


def test_blocks_are_not_joined(people):
    """No pair joins two blocks, except those less likely than all others; blocks have one size."""
    pairs, odds = pairs_of(people)
    block = find_blocks(pairs, odds, people.N, 4)
    assert np.ptp(np.bincount(block, minlength=4)) <= 3
    cut = block[pairs[:, 0]] != block[pairs[:, 1]]
    assert not cut.any() or odds[cut].max() < np.quantile(odds, 0.75)
    same = people.truth[pairs[:, 0]] == people.truth[pairs[:, 1]]
    assert cut[same].mean() < 0.01


@pytest.mark.parametrize(("prior", "is_product"), [("crp", True), ("uniform", True), ("uniform_count", False)])
def test_blocks_together_are_the_posterior_given_the_blocks(prior, is_product):
    """With rates that are known, equal shares of values in all blocks, and a prior that is a product over clusters, the
    product of the posteriors of blocks is the posterior of all records, given that blocks share no entity."""
    rows = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.int32)
    fields = [SimpleNamespace(type="string", levels=("anna", "anne"))] * 2
    options = {"prior": prior, "distortion": 0.2, "similar": 0.3}
    part, whole = Records(rows, fields, **options), Records(np.tile(rows, (2, 1)), fields, **options)
    of_part, of_whole = [], []
    for labels in partitions_of(3):
        part.set_labels(labels)
        of_part.append(part.log_joint())
        for others in partitions_of(3):
            whole.set_labels(np.concatenate([labels, others + labels.max() + 1]))
            of_whole.append(whole.log_joint())
    p, q = np.exp(np.array(of_part)), np.exp(np.array(of_whole))
    difference = np.abs(np.outer(p, p).ravel() / p.sum() ** 2 - q / q.sum()).max()
    assert difference < 1e-14 if is_product else difference > 1e-4


@pytest.mark.parametrize("is_file", [False, True])
def test_all_chains_of_a_run_share_their_tables(people, tmp_path, monkeypatch, is_file):
    """Also between the looks, when no chain holds them."""
    found = []
    monkeypatch.setattr(near_pairs, "find_pairs", lambda *given: found.append(1) or find_pairs(*given))
    words = ["data=records", "N=60", "data.entities=40"]
    if is_file:
        rows = [[field.levels[x] for field, x in zip(people.types, row, strict=True)] for row in people.values[:60]]
        pd.DataFrame(rows, columns=people.columns).to_csv(tmp_path / "people.csv", index=False)
        words = ["data=csv", f"data.path={tmp_path / 'people.csv'}", "model=records"]
    words += ["chains=4", "workers=2", "iterations=1100", "until.ess=1000000", "progress=none", f"out={tmp_path}"]
    done = runs.make(specify(words))
    assert done.summary["iterations"] == [1100] * 4 and len(found) == 1
