"""Fixtures of the small cases, and the share that each group of tests has in a run's time."""

import gc
import importlib
import os
import pickle
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from contextlib import nullcontext, suppress
from importlib import resources
from pathlib import Path, PurePosixPath

import pytest
import typer
from _pytest.assertion import rewrite
from omegaconf import OmegaConf
from small_cases import MODELS

from splitmerge_cli.core.capabilities import Coupled
from splitmerge_cli.models.bernoulli import Bernoulli
from splitmerge_cli.models.emm import EMM
from splitmerge_cli.runs import checks

# whoever started the tests may ignore signals (nohup, a shell's background): the programs that they start would, too
for _number in (signal.SIGHUP, signal.SIGINT):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


@pytest.fixture
def emm() -> EMM:
    return MODELS["emm"]()


@pytest.fixture
def bernoulli() -> Bernoulli:
    return MODELS["bernoulli"]()


@pytest.fixture(params=MODELS)
def build(request):
    """Makes one of the models, the same each time."""
    return MODELS[request.param]


@pytest.fixture
def model(build):
    return build()


@pytest.fixture(params=[name for name, build in MODELS.items() if not isinstance(build(), Coupled)])
def independent(request):
    """One of the models in which the likelihood of a cluster does not depend on the others."""
    return MODELS[request.param]()


@pytest.fixture(scope="session", autouse=True)
def subsets_of_fonts():
    """Figures in .pdf hold the few letters of a font that they use: two thirds of the time that they take. One process
    of the tests draws hundreds, of the same letters."""
    from matplotlib.backends import _backend_pdf_ps as fonts

    made, make = {}, fonts.get_glyphs_subset

    def get_subset(path, glyphs):
        key = str(path), getattr(path, "face_index", 0), frozenset(glyphs)
        if key not in made:
            made[key] = make(path, glyphs).__enter__()
        return nullcontext(made[key])

    fonts.get_glyphs_subset = get_subset
    yield
    fonts.get_glyphs_subset = make


@pytest.fixture(scope="session", autouse=True)
def leave_to_system():
    """Files are left to the system to write to the disk: no test cuts the power."""
    synchronise, os.fsync = os.fsync, lambda file: None
    yield
    os.fsync = synchronise


@pytest.fixture(scope="session", autouse=True)
def few_replications():
    """At the end of a run in the process of the tests the model is checked by a quarter of the replications: they are
    a fifth of the time of tests of commands. Tests of these checks use `all_replications`."""
    draws, checks.DRAWS = checks.DRAWS, checks.DRAWS // 4
    yield
    checks.DRAWS = draws


@pytest.fixture
def coarse_pictures(monkeypatch):
    """Pictures that this process saves have few dots, and as PDF none: saving them takes longer than the rest of many
    commands. `test_figures` and `test_kept` save them as they are."""
    from matplotlib.figure import Figure

    save = Figure.savefig

    def save_coarsely(figure, file, *, format, **options):
        if format == "pdf":
            Path(file).write_bytes(b"%PDF-1.4\n")
        else:
            save(figure, file, format=format, **options | {"dpi": 30})

    monkeypatch.setattr(Figure, "savefig", save_coarsely)


@pytest.fixture
def all_replications(monkeypatch):
    monkeypatch.setattr(checks, "DRAWS", checks.check_fit.__defaults__[1])


@pytest.fixture(scope="session", autouse=True)
def parse_once():
    """Files of the package's own configuration, and of Hydra's, are parsed once by each process: a third of the time
    that Hydra takes."""
    parsed, load = {}, OmegaConf.load
    own = tuple(str(resources.files(package)) for package in ("splitmerge_cli.conf", "hydra"))

    def load_parsed(file):
        name = str(getattr(file, "name", file))
        if not name.startswith(own):
            return load(file)
        if name not in parsed:
            parsed[name] = pickle.dumps(load(file))
        return pickle.loads(parsed[name])

    OmegaConf.load = staticmethod(load_parsed)
    yield
    OmegaConf.load = staticmethod(load)


@pytest.fixture(scope="session", autouse=True)
def build_commands_once():
    """The commands are built of their functions once for those that are imported: typer does it twice for each call,
    which is a tenth of the time of tests that call commands."""
    built, build = {}, typer.main.get_group

    def get_group(app):
        key = id(app), len(app.registered_commands), len(app.registered_groups)
        if key not in built:
            # the application is kept, so that no other one gets its number
            built[key] = app, build(app)
        return built[key][1]

    typer.main.get_group = get_group
    yield
    typer.main.get_group = build


# ---- Of many cases of one test the quick run has some

THINNED = {
    # statistics of sparse rows against those of dense ones, and sanitized builds, each over all samplers
    "tests/unit/test_gaussian_sparse": (8, 4),
    "tests/unit/test_memory_safety": (8, 4),
    # tables of messages, of which each stands there once: all; so are proofs of samplers (tests/exact)
    "tests/unit/test_refused": (1000, 1000),
    "tests/cli/test_bad_input.py": (1000, 1000),
    # one message each, of the same few checks
    "tests/cli/test_bad_input_points.py::test_odd_points": (3, 5),
    "tests/cli/test_bad_input": (3, 8),
    "tests/cli/test_damage": (2, 8),
    "tests/cli/test_interrupt": (1, 4),
    "tests/cli/test_flips": (2, 8),
    "tests/cli/test_own_data": (2, 8),
    # draws against one enumeration, and searches of partitions of 1 to 7 items
    "tests/cli/test_posteriors": (4, 20),
    "tests/unit/test_certified_means": (2, 6),
    "tests/unit/test_diagnostics_uncertainty": (8, 5),
    # an article each
    "tests/contract/test_articles": (1, 8),
    "tests/unit/test_errata": (8, 3),
    "tests/unit/test_figures_print": (2, 8),
    "tests/contract/test_configs": (8, 3),
    # options, schedules, couplings and pairs of partitions of kernels that other tests prove each
    "tests/exact/test_coupled.py::test_other_couplings": (6, 6),
    "tests/exact/test_arm.py::test_some_phis": (40, 4),
    "tests/exact/test_schedules.py::test_a_list_samples": (6, 4),
    # joint kernels of couplings, priors on models and chains with resampled values, whose parts are each proved
    "tests/exact/test_coupled.py::test_joint_kernel": (40, 3),
    "tests/exact/test_priors_exact.py::test_other_models": (60, 4),
    "tests/exact/test_priors_exact.py::test_chains_with": (2, 3),
    "tests/exact/test_scale_prior.py::test_joint_chain": (2, 4),
    "tests/exact/test_heldout_exact.py::test_left_to_right_drawn": (2, 8),
    "tests/exact/test_transition_matrix.py::test_continuous": (3, 5),
    # one thing of each model, sampler, figure or message
    "tests/unit/test_shared": (4, 4),
    "tests/unit/test_figures.py::test_experiments_compose": (2, 8),
    "tests/contract/test_options": (8, 4),
    "tests/cli/test_first_tries": (3, 6),
    "tests/cli/test_sweep.py::test_sweeps_that_cannot": (4, 4),
    "tests/cli/test_topics_run": (1, 3),
    "tests/cli/test_report.py::test_the_command_of_a_run": (1, 3),
    # densities and estimators, which are no kernels; chains of them, and of what learns, against one enumeration
    "tests/exact/test_predictive_exact.py::test_density_with": (2, 3),
    "tests/exact/test_new_documents_exact.py::test_given_one_state": (2, 4),
    "tests/exact/test_missing_full.py::test_chain_has": (1, 3),
    "tests/exact/test_missing_full.py::test_chain_where": (1, 3),
    "tests/exact/test_checks.py::test_a_replicated_point": (5, 4),
    "tests/exact/test_power.py::test_reported_density_is": (1, 3),
    "tests/exact/test_arm.py::test_learning_chains": (2, 5),
    # the rest: some cases of each test
    "tests/cli/": (2, 4),
    "tests/unit/": (6, 3),
}
"""How names of tests begin, of which the first that fits counts: how many cases of a test the quick run has, and that
it has one in so many more."""
MADE_OF_OTHERS = ("portfolio",)
"""Samplers made of others, whose kernels are enumerated as the mixture of these (``tests/exact/test_portfolio.py``):
the quick run has no other proof of them."""
RUNS_OF_FIGURES = {
    "tests/unit/test_figures_arm": {"networks", "mixtures"},
    "tests/unit/test_figures_lshsm": {"synthetic", "large"},
    "tests/unit/test_figures_comparisons": {"matrix_runs"},
    "tests/unit/test_figures_smag": {"synthetic", "heldout_runs"},
    "tests/unit/test_figures_triadic": {"runs"},
}
"""Fixtures that make the runs of a paper's figures, longer than the figures take: what needs them is slow. Those of one
paper are in the quick run."""


COSTLY = (
    # cases of a test whose other cases, cheaper, stay; a factor that two cases share is in one
    "exact/test_arm.py::test_every_phi_of_four_nodes[irm-arm",
    "exact/test_arm.py::test_every_phi_of_four_nodes[irm-bsm",
    "exact/test_arm.py::test_every_phi_of_four_nodes[irm-sarm",
    "exact/test_coupled.py::test_joint_kernel[lines-conjugate-candidates-metropolis",
    "exact/test_coupled.py::test_other_couplings[lines-conjugate-candidates-metropolis",
    "exact/test_coupled.py::test_subcluster_keeps_both_margins[iso",
    "exact/test_feature_pairs.py::test_cells_alone_have_their_conditional[labels0-gaussian prior=esc",
    "exact/test_feature_pairs.py::test_cells_alone_have_their_conditional[labels1-gaussian prior=esc",
    "exact/test_feature_pairs.py::test_cells_alone_have_their_conditional[labels1-mixed",
    "exact/test_left_out_exact.py::test_missing_cells_of_joint_columns_are_integrated_out[mixed",
    "exact/test_near_pairs.py::test_exact[emm-independence",
    "exact/test_new_documents_exact.py::test_given_one_state[words0]",
    "exact/test_overdispersed.py::test_leave_one_out_density_is_a_ratio_of_evidences",
    "exact/test_predictive_exact.py::test_density_with_resampled_scales[diag",
    "exact/test_selected_columns.py::test_indicators_alone_are_exact[plain]",
    "exact/test_selected_columns.py::test_log_joint_is_the_dense_formula_in_every_state[plain]",
    "exact/test_sequential_start.py::test_placing[0.7-6.0-1.1-3]",
    "exact/test_sequential_start.py::test_placing[1.6-0.9-0.3-",
    "exact/test_subcluster.py::test_a_chain_samples_the_posterior[neighbours]",
    "exact/test_subcluster.py::test_a_chain_samples_the_posterior[scan]",
    "exact/test_subcluster.py::test_kernel_of_six_items[2]",
    "exact/test_subcluster.py::test_kernel_of_six_items[3]",
    "exact/test_subcluster.py::test_kernel_on_a_finite_base_measure[7]",
    "exact/test_tails.py::test_draws_given_the_partition_have_their_conditional[iso",
    "exact/test_tails.py::test_joint_chain_has_the_posterior_of_partitions[diag-triadic",
    "exact/test_tails.py::test_joint_chain_has_the_posterior_of_partitions[full",
    "exact/test_tempering.py::test_a_network_is_tempered_by_its_likelihood[0.8",
    "exact/test_transition_matrix.py::test_exact[bernoulli-five-triadic]",
    "exact/test_transition_matrix.py::test_exact[emm-independence]",
    "exact/test_transition_matrix.py::test_exact_on_random_cases[17]",
    "exact/test_transition_matrix.py::test_exact_on_random_cases[1]",
    # commands, processes and pictures: what they check is in quicker tests, of the part that does it
    "cli/test_api.py::test_a_generator_draws_the_seed",
    "cli/test_bad_input.py::test_a_process_ends_with_status_2[args1",
    "cli/test_certify.py::test_another_certificate_in_its_place",
    "cli/test_certify.py::test_co_clustering_that_was_changed",
    "cli/test_certify.py::test_ctrl_c_in_python_leaves_no_certificate[107",
    "cli/test_certify.py::test_estimates_agree_with_the_enumerated_posterior",
    "cli/test_continuation.py::test_also_when_it_is_broken_off",
    "cli/test_continuation.py::test_of_several_runs_the_longest_goes_on",
    "cli/test_continuation.py::test_what_would_have_ended_before",
    "cli/test_count_models.py::test_types_of_scattered_rows_are_found[0",
    "cli/test_editions.py::test_every_rule_gives_the_same_verdict",
    "cli/test_extras.py::test_the_library_needs_no_extra",
    "cli/test_files.py::test_one_word_is_the_whole_command[typed1]",
    "cli/test_interrupt.py::test_a_choice_that_is_interrupted_leaves_nothing",
    "cli/test_interrupt.py::test_a_choice_that_is_interrupted_leaves_nothing[2]",
    "cli/test_interrupt.py::test_an_interrupted_run_prints_the_clusters_so_far[1-100",
    "cli/test_interrupt.py::test_what_does_not_stop_is_ended[1-import",
    "cli/test_interrupt.py::test_what_does_not_stop_is_ended[2-import",
    "cli/test_levels.py::test_answers_and_core_of_a_run",
    "cli/test_misfit.py::test_ties_that_close_triangles",
    "cli/test_misfit.py::test_words_that_come_in_bursts",
    "cli/test_notes.py::test_full_covariances_of_many_columns_are_said_to_take_long",
    "cli/test_outcome_run.py::test_an_outcome_that_separates",
    "cli/test_pictures.py::test_names_of_nodes",
    "cli/test_pictures.py::test_rows_of_zeros_and_ones",
    "cli/test_posteriors.py::test_exact_draws_agree_and_others_do_not[gaussian-full-n5-dynamic-mfm-gamma]",
    "cli/test_predict_blocks.py::test_blocks_change_no_prediction[full",
    "cli/test_run.py::test_full_disk",
    "cli/test_search.py::test_a_search_finds_the_mode",
    "cli/test_selection.py::test_skewed_columns_get_scales_of_their_own[frame]",
    "cli/test_selection.py::test_what_auto_chooses_runs",
    "cli/test_selection.py::test_who_names_no_scale_gets_none",
    "cli/test_sweep.py::test_a_killed_process_costs_its_own_job",
    "cli/test_sweep.py::test_interrupted_sweep",
    "cli/test_tails_run.py::test_auto_takes_the_tails",
    "cli/test_topics_run.py::test_pictures",
    "cli/test_uncertainty.py::test_all_commands_show_one_interval_which_is_that_of_all_draws[model=emm]",
    "cli/test_until.py::test_chains_that_keep_one_number_are_compared_with_two_from_both_ends[data1",
    "contract/test_configs.py::test_composes_and_builds[data-kdd_like",
    "contract/test_configs.py::test_composes_and_builds[data-nips0_12",
    "unit/test_data_reduce.py::test_model_auto_asks_for_components_unless_they_are_named[reduce1",
    "unit/test_data_scale.py::test_densities_are_those_of_the_data_on_the_scale_with_the_jacobian[complete",
    "unit/test_data_scale.py::test_densities_are_those_of_the_data_on_the_scale_with_the_jacobian[mixed",
    "unit/test_diagnostics_point_estimate.py::test_no_block_is_better_elsewhere[binder",
    "unit/test_diagnostics_uncertainty.py::test_never_worse_than_the_best_sampled_and_the_same_again[binder",
    "unit/test_enumerate.py::test_gaussian_integrates_gamma_priors_of_scale_and_weight[diag",
    "unit/test_enumerate.py::test_gaussian_integrates_gamma_priors_of_scale_and_weight[full",
    "unit/test_figures.py::test_fig4_counts_settled_chains",
    "unit/test_figures.py::test_reproduce_says_in_one_line_what_is_missing[interrupted",
    "unit/test_figures.py::test_reproduce_says_in_one_line_what_is_missing[running",
    "unit/test_predictive_errors.py::test_errors_of_densities_and_of_probabilities_are_their_spread",
    "unit/test_priors.py::test_draws_are_of_the_prior[uniform_count",
)
"""Names, or their beginnings, of slow tests: these take seconds and prove what quicker ones do."""


# ---- Workers share what a fresh clone has to compile

LIBRARIES = (
    *("scipy.stats", "sklearn.mixture", "nbformat"),
    *("pandas", "networkx", "distributed"),
    *("matplotlib.pyplot", "polars", "arviz_base"),
)
"""Libraries that each worker imports while it collects the tests, and whose bytecode pip has not written."""


def pytest_sessionstart(session):
    """Each worker begins at another place in the lists of libraries and test modules, so that it finds most of their
    bytecode written by the others: all of it would take each worker 20 seconds."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode:
        return
    share = int(worker["workerid"].removeprefix("gw")) / worker["workercount"]
    for library in begin_at(share, LIBRARIES):
        with suppress(ImportError):
            importlib.import_module(library)
    for source in begin_at(share, sorted(Path(__file__).parent.rglob("test_*.py"))):
        compile_test(source, session.config)


def begin_at(share, values):
    first = int(share * len(values))
    return [*values[first:], *values[:first]]


def compile_test(source, config):
    """Write the bytecode of a test module, where pytest looks for it, if it is not there."""
    folder = rewrite.get_cache_dir(source)
    compiled = folder / (source.stem + rewrite.PYC_TAIL)
    if rewrite._read_pyc(source, compiled) is None and rewrite.try_makedirs(folder):
        stat, code = rewrite._rewrite_test(source, config)
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, stat, compiled)


# ---- Which tests run in one worker, one after another

CASES_TOGETHER = 8
"""So many quick cases of a test go to a worker at once: xdist takes longer to hand out a case than many take."""


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook, pytest the markers
def pytest_collection_modifyitems(items):
    """With ``--dist loadgroup``: a group for the tests of a module that use fixtures of the module, of which one may be
    made of another, so that each is made once; and groups of the cases of a test. Of a test with many cases in a file
    of `THINNED`, all but some are slow."""
    cases, thinned = Counter(), {}
    for item in items:
        test, _, case = item.nodeid.partition("[")
        if test not in thinned:
            thinned[test] = next((thin for start, thin in THINNED.items() if test.startswith(start)), (0, 0))
        few, every = thinned[test]
        if every and hasattr(item, "callspec"):
            if cases[test] >= few and cases[test] % every:
                item.add_marker(pytest.mark.slow)
            cases[test] += 1
        if item.nodeid.startswith("tests/exact/") and any(name in case for name in MADE_OF_OTHERS):
            item.add_marker(pytest.mark.slow)
        if RUNS_OF_FIGURES.get(item.nodeid.partition(".py")[0], set()) & set(item.fixturenames):
            item.add_marker(pytest.mark.slow)
        if item.nodeid.removeprefix("tests/").startswith(COSTLY):
            item.add_marker(pytest.mark.slow)
    cases.clear()
    for item in items:
        if any(item.iter_markers("xdist_group")):
            continue
        shared = any(
            found[-1].scope in ("module", "session") and found[-1].baseid.startswith("tests/")
            for found in item._fixtureinfo.name2fixturedefs.values()
        )
        if shared:
            item.add_marker(pytest.mark.xdist_group(item.module.__name__))
        elif hasattr(item, "callspec") and not any(item.iter_markers("slow")):
            test = f"{item.module.__name__}.{item.originalname}"
            item.add_marker(pytest.mark.xdist_group(f"{test}-{cases[test] // CASES_TOGETHER}"))
            cases[test] += 1


def pytest_collection_finish():
    """Fourteen thousand cases stay to the end: the garbage collector need not look at them again and again."""
    gc.collect()
    gc.freeze()


# ---- What each group of tests costs

STARTED = pytest.StashKey[float]()
SPENT: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
"""By folder: tests, processor seconds, seconds on the clock."""


def processor_seconds() -> float:
    """Processor seconds of this process and the ones that it waited for."""
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item):
    item.stash[STARTED] = processor_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With every phase its processor time: attributes of a report come along from the worker."""
    report = yield
    now = processor_seconds()
    report.processor_seconds = now - item.stash.get(STARTED, now)
    item.stash[STARTED] = now
    return report


def pytest_runtest_logreport(report):
    spent = SPENT["/".join(PurePosixPath(report.nodeid.split("::")[0]).parts[:2])]
    spent[0] += report.when == "call"
    spent[1] += getattr(report, "processor_seconds", 0.0)
    spent[2] += report.duration


def pytest_terminal_summary(terminalreporter):
    total = sum(seconds for _, seconds, _ in SPENT.values())
    if total < 1.0:
        return
    terminalreporter.write_sep("-", "processor time by group of tests")
    terminalreporter.write_line(f"{'group':<20}{'tests':>7}{'processor s':>13}{'share':>8}{'clock s':>10}")
    for group, (tests, seconds, clock) in sorted(SPENT.items(), key=lambda entry: -entry[1][1]):
        terminalreporter.write_line(f"{group:<20}{tests:>7.0f}{seconds:>13.1f}{seconds / total:>8.0%}{clock:>10.1f}")
