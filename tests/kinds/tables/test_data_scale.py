"""Columns on a scale of their own (data.scale): the way there and back, densities in the units of the data."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import trapezoid
from scipy.stats import yeojohnson
from sklearn.preprocessing import PowerTransformer

import smcmc
from splitmerge_cli.analysis.alternatives import LeaveOneOut
from splitmerge_cli.config import ConfigError, specify, specify_stored
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.data.values import MAGNITUDE, Scale, digest_of
from splitmerge_cli.fits import candidates
from splitmerge_cli.kinds.tables import choice
from splitmerge_cli.kinds.tables.choice import find_scales, format_scales
from splitmerge_cli.kinds.tables.columns import statistics
from splitmerge_cli.kinds.tables.models.real_columns import find_resolution, settle_resolution
from splitmerge_cli.received import DataError

SCALES = [Scale("log"), Scale("sqrt"), *[Scale("yeo-johnson", power) for power in (-2.0, -0.3, 0.0, 0.5, 1.0, 2.7)]]
SHORT = {"iterations": 200, "chains": 2, "progress": "none"}
EXACT = {"model.resolution": "none"}


def draw_skewed(N: int = 60, D: int = 2, seed: int = 0) -> pd.DataFrame:
    x = np.exp(np.random.default_rng(seed).normal(size=(N, D)))
    return pd.DataFrame(x, columns=list("abcdef")[:D])


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_a_scale_is_undone_and_its_jacobian_is_its_derivative(scale: Scale) -> None:
    x = np.array([0.01, 0.4, 1.0, 7.0, 120.0] if scale.name in ("log", "sqrt") else [-30.0, -2.0, -0.1, 0.0, 0.3, 40.0])
    y, step = scale.read(x), 1e-5 * np.maximum(np.abs(x), 1e-3)
    np.testing.assert_allclose(scale.undo(y), x, rtol=1e-8, atol=1e-12)
    slope = (scale.read(x + step) - scale.read(x - step)) / (2 * step)
    np.testing.assert_allclose(scale.log_jacobian(y), np.log(slope), atol=1e-5)
    assert (np.diff(y) > 0).all() and np.isnan(scale.read(np.array([np.nan]))).all()


def test_powers_are_those_of_scipy_and_scikit_learn() -> None:
    x = np.random.default_rng(0).normal(size=(200, 1)) ** 3
    np.testing.assert_allclose(Scale("yeo-johnson", 0.3).read(x[:, 0]), yeojohnson(x[:, 0], 0.3))
    data = from_object(x, "points", scale={1: "yeo-johnson"})
    assert data.scales is not None and data.scales[0] is not None
    assert abs(data.scales[0].power - PowerTransformer().fit(x).lambdas_[0]) < 0.01


@pytest.mark.parametrize("kind", ["points", "mixed"])
def test_files_and_objects_are_read_alike(kind: str, tmp_path: Path) -> None:
    frame = draw_skewed(30, 3)
    frame.iloc[2, 0] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    scale = {"a": "log", 2: "sqrt", "c": -0.3}
    of_file, of_frame = csv(tmp_path / "t.csv", kind, scale=scale), from_object(frame, kind, scale=scale)
    np.testing.assert_array_equal(of_file.values, of_frame.values)
    np.testing.assert_allclose(of_file.values[:, 0], np.log(frame["a"]))
    np.testing.assert_allclose(of_file.values_in_units, frame, rtol=1e-12)
    np.testing.assert_allclose(of_file.kind.as_given(of_file), frame, rtol=1e-12)
    assert of_file.meta["scales"] == {"a": "log", "b": "sqrt", "c": -0.3}
    assert digest_of(of_frame) != digest_of(from_object(frame, kind))
    assert digest_of(pickle.loads(pickle.dumps(of_frame))) == digest_of(of_frame)
    new = of_file.kind.new_items(of_file, frame.iloc[:5, ::-1])
    np.testing.assert_array_equal(new.values, of_file.values[:5])
    np.testing.assert_array_equal(of_file.kind.stack(of_file, new).values[30:], of_file.values[:5])


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ("log", "data.scale=log: expected none, or scales by column"),
        ({"q": "log"}, "data.scale=q: data reads no such column; expected one of a, b"),
        ({"a": "cube"}, "data.scale.a=cube: expected log, sqrt, yeo-johnson, or a power from -5 to 5"),
        ({"a": 7}, "data.scale.a=7: expected log"),
        ({"a": True}, "data.scale.a=True: expected log"),
        ({"b": "log"}, r"data: row 4, column 2 \('b'\): -1; expected a positive number, which a log scale takes"),
    ],
)
def test_other_scales_are_rejected(scale: object, message: str) -> None:
    frame = draw_skewed(30)
    frame.iloc[3, 1] = -1.0
    with pytest.raises(DataError, match=message):
        from_object(frame, "points", scale=scale)  # type: ignore[arg-type]


def test_columns_that_are_not_real_and_sparse_matrices_have_no_scale() -> None:
    from scipy.sparse import csr_array

    frame = draw_skewed(30).assign(g=list("uv") * 15)
    with pytest.raises(DataError, match=r"data.scale.g=log: expected a real column; this one is read as binary"):
        from_object(frame, "mixed", scale={"g": "log"})
    with pytest.raises(DataError, match="without a sparse matrix"):
        from_object(csr_array(np.eye(4)), "points", scale={1: 0})
    with pytest.raises(ConfigError, match=r"reads x and y as they are, not on a scale \(data.scale\)"):
        smcmc.sample("lines", draw_skewed(30), options={"data.scale": {"a": "log"}}, **SHORT)


@pytest.mark.parametrize(
    ("key", "word", "value"),
    [
        ("scale", "{a: log}", {"a": "log"}),
        ("skip", "[1,2]", [1, 2]),
        ("reduce", "pca", "pca"),
        ("repeated", "once", "once"),
    ],
)
def test_the_identity_of_a_run_without_a_later_key_is_what_it_was(key: str, word: str, value: object) -> None:
    """At its default it tells no runs apart, and stored configurations do without it."""
    given = ["data=csv", "data.path=x.csv", "model=gaussian"]
    spec = specify(given)
    assert key not in spec.identity["data"]
    assert specify([*given, f"data.{key}={word}"]).identity["data"][key] == value
    stored = spec.values | {"data": {name: each for name, each in spec.values["data"].items() if name != key}}
    assert specify_stored(stored, Path("x.csv")).identity == spec.identity


def test_the_step_of_a_column_is_one_in_the_units_of_the_data() -> None:
    x = np.round(draw_skewed(200, 1), 1) + 0.1
    data = from_object(x, "points", scale={"a": "log"})
    (step,) = settle_resolution(data, {})["resolution"]
    # what the likelihood has of all cells, n r^2, is the sum of what each cell has on the scale: its interval's length
    of_cells = find_resolution(x["a"]) / x["a"]
    assert np.isclose(len(x) * step**2, (of_cells**2).sum())


@pytest.mark.parametrize("scale", ["log", -0.3, 0.5], ids=str)
def test_a_density_in_the_units_of_the_data_integrates_to_one(scale: str | float) -> None:
    options = {"data.scale": {"a": scale}, **EXACT}
    posterior = smcmc.sample("gaussian", draw_skewed(40, 1), options=options, **SHORT)

    # by the logarithm of x, which spreads a heavy tail
    u = np.linspace(-30.0, 60.0, 20_001)
    x = np.concatenate([-np.exp(u[::-1]), np.exp(u)]) if scale != "log" else np.exp(u)
    # nothing is left beyond the largest magnitude that is read
    x = x[np.abs(x) < 1e12]
    density = np.exp(posterior.log_predictive(pd.DataFrame({"a": x}), states=3))
    assert abs(trapezoid(density * np.abs(x), np.sign(x) * np.log(np.abs(x))) - 1.0) < 1e-3


FULL = {"name": "gaussian", "covariance": "full"}


@pytest.mark.filterwarnings("ignore::splitmerge_cli.fits.objects.NotConverged")
@pytest.mark.parametrize("model", ["gaussian", "mixed", FULL], ids=["complete", "mixed", "imputed"])
def test_densities_are_those_of_the_data_on_the_scale_with_the_jacobian(model: str | dict[str, str]) -> None:
    frame = draw_skewed(50)
    if model == "mixed":
        frame = frame.assign(g=list("uv") * 25)
    if model != "gaussian":
        frame.iloc[4, 0] = np.nan
    logs = frame.assign(a=np.log(frame["a"]))
    jacobian = np.nan_to_num(-logs["a"])
    ours = smcmc.sample(model, frame, options={"data.scale": {"a": "log"}, **EXACT}, **SHORT)
    theirs = smcmc.sample(model, logs, options=EXACT, **SHORT)
    np.testing.assert_array_equal(ours.labels, theirs.labels)
    np.testing.assert_allclose(ours.leave_one_out().log_density, theirs.leave_one_out().log_density + jacobian)
    new, new_logs = frame.iloc[:9], logs.iloc[:9]
    np.testing.assert_allclose(ours.log_predictive(new), theirs.log_predictive(new_logs) + jacobian[:9])
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new_logs))
    updated = ours.update(frame.iloc[:5], iterations=50)
    assert updated.dataset.scales == ours.dataset.scales and updated.dataset.N == 55


def test_new_rows_that_a_scale_does_not_take_are_rejected() -> None:
    posterior = smcmc.sample("gaussian", draw_skewed(30, 1), options={"data.scale": {"a": "log"}}, **SHORT)
    with pytest.raises(DataError, match=r"new items: row 1, column 1 \('a'\): 0; expected a positive number"):
        posterior.predict(pd.DataFrame({"a": [0.0]}))


def test_a_stored_run_finds_its_data_again(tmp_path: Path) -> None:
    frame = draw_skewed(30)
    made = smcmc.sample("gaussian", frame, store=tmp_path / "run", options={"data.scale": {"a": 0.3}}, **SHORT)
    again = smcmc.Posterior.load(made.run.path, data=frame)
    assert again.dataset.scales == made.dataset.scales and made.run.summary["scales"] == {"a": 0.3}
    np.testing.assert_array_equal(again.log_predictive(frame), made.log_predictive(frame))


def test_pictures_name_the_scale() -> None:
    data = from_object(draw_skewed(30), "points", scale={"b": -0.3})
    assert data.column_titles == ["a", "b (yeo-johnson(-0.3) scale)"] == statistics(data, [0] * 30).titles


def draw_clusters(scale: float, seed: int = 0) -> np.ndarray:
    """Two clusters far apart on a log scale."""
    rng = np.random.default_rng(seed)
    return scale * np.exp(rng.choice([0.0, 4.0], 400) + 0.7 * rng.normal(size=400))


@pytest.mark.parametrize(
    ("cells", "scale"),
    [
        (np.exp(np.random.default_rng(0).normal(size=400)), "log"),
        (draw_clusters(1.0), "log"),
        (draw_clusters(1000.0), "log"),
        (np.random.default_rng(0).normal(size=400), None),
        (np.random.default_rng(0).uniform(size=400), None),
        # skewed as a whole, normal within its clusters
        (np.append(np.random.default_rng(0).normal(size=350), np.random.default_rng(1).normal(6.0, size=50)), None),
        (np.ones(400), None),
        (np.exp(np.random.default_rng(0).normal(size=10)), None),
    ],
)
def test_the_scales_that_are_considered(cells: np.ndarray, scale: str | None) -> None:
    found = find_scales(from_object(np.column_stack([cells, np.arange(len(cells))]), "points", columns=[1, 2]))
    assert found == ({} if scale is None else {1: scale})


def test_a_number_that_many_rows_hold_says_nothing_of_the_scale() -> None:
    """Squeezing it would make its density as high as one likes; a third of the rows hold 0, or the largest value."""
    rng = np.random.default_rng(3)
    for rest, spike in ((rng.normal(50.0, 5.0, 400), 0.0), (rng.normal(50.0, 5.0, 400), 90.0)):
        assert find_scales(from_object(np.append(rest, np.full(200, spike))[:, None], "points")) == {}
    found = find_scales(from_object(np.append(np.exp(rng.normal(3.0, 1.0, 400)), np.zeros(200))[:, None], "points"))
    assert list(found) == [1] and isinstance(found[1], float) and abs(found[1]) < 0.15


def test_a_scale_that_is_hardly_better_is_not_considered() -> None:
    """Ages of three groups, normal each, are as well described on a log scale: 2.1 less of the BIC."""
    rng = np.random.default_rng(5)
    ages = rng.normal(np.repeat([30.0, 45.0, 65.0], [300, 180, 120]), np.repeat([6.0, 8.0, 7.0], [300, 180, 120]))
    assert choice.is_skewed(ages) and find_scales(from_object(ages[:, None], "points")) == {}


def test_negative_values_get_a_power() -> None:
    cells = np.random.default_rng(0).gamma(2.0, size=400)
    frame = pd.DataFrame({"left": -cells, "normal": np.random.default_rng(0).normal(size=400)})
    found = find_scales(from_object(frame, "points"))
    assert list(found) == ["left"] and isinstance(found["left"], float) and 1.5 < found["left"] < 3.0
    assert format_scales(found) == f"left yeo-johnson({found['left']:g})"
    assert find_scales(from_object(frame, "points", scale=found)) == {}


def test_a_scale_reads_the_rows_that_it_was_not_found_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scales are found on some rows; a 0 elsewhere has no logarithm."""
    monkeypatch.setattr(choice, "MOST_ROWS", 200)
    x = np.random.default_rng(1).lognormal(size=(1000, 1))
    looked_at = np.random.default_rng(0).permutation(1000)[:200]
    assert find_scales(from_object(x, "points")) == {1: "log"}
    x[np.setdiff1d(np.arange(1000), looked_at)[0]] = 0.0
    found = find_scales(from_object(x, "points"))
    assert found[1] != "log" and from_object(x, "points", scale=found).scales is not None


def test_scales_have_to_be_ahead_by_four_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = draw_skewed(40)
    plain, rescaled = (from_object(frame, "points", scale=scale) for scale in (None, {"a": "log"}))
    noise = np.random.default_rng(0).normal(size=40)
    error = noise.std() / np.sqrt(40)
    for ahead, taken, said in (
        (4.5, candidates.RESCALED, "data.scale=auto: a log, "),
        (3.5, candidates.AS_THEY_ARE, "ahead, fewer than 4 errors"),
        (-1.0, candidates.AS_THEY_ARE, "a row behind"),
    ):

        def density(
            fits: object, options: object, dataset: Dataset, *rest: object, ahead: float = ahead
        ) -> LeaveOneOut:
            rows = noise - noise.mean() + ahead * error if dataset.scales else np.zeros(40)
            return LeaveOneOut(rows, np.zeros(40))

        monkeypatch.setattr(candidates.Fits, "leave_out", density)
        table = candidates.compare_scales({"name": "gaussian"}, plain, rescaled, candidates.Fits(lambda *_: None))  # type: ignore[arg-type]
        assert table["columns"][0] == taken and said in candidates.format_rescaled(table, "a log")


@pytest.mark.parametrize("exponent", range(3, 30, 2))
def test_a_proposed_scale_does_not_overflow(exponent: int) -> None:
    r = np.random.default_rng(exponent)
    tails = [r.pareto(2.0, 200), -r.pareto(2.0, 200), r.beta(1, 8, 200), -r.beta(1, 8, 200)]
    for cells in [10.0**exponent * (1.4 + 10.0**-share * tail) for tail in tails for share in range(6)]:
        ends = np.array([cells.min(), cells.max()])
        for scale in choice._candidates(cells, ends):
            assert np.abs(scale.read(ends)).max() <= MAGNITUDE, scale


def test_a_scale_that_overflows_names_the_file_and_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "times.csv").write_text("t,x\n1400000000,1\n1400000100,2.5\n1400000300,4\n")
    message = r"times\.csv: row 1, column 1 \('t'\): 1.4e\+09 is 1.07565e\+45 on the yeo-johnson\(5\) scale"
    with pytest.raises(DataError, match=message + r"; expected .*data\.scale=none"):
        csv(tmp_path / "times.csv", "points", scale={"t": 5})
