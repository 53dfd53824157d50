"""Cases that the quick run leaves to `make test-slow`: most of many like ones, and costly ones."""

NEAR_POSTERIORS = (
    *("unit/test_chain", "unit/test_enumerate", "unit/test_history", "unit/test_mfm", "unit/test_models"),
    *("unit/test_priors", "kinds/records/test_entities", "kinds/records/test_record_pairs", "kinds/tables/test_mixed"),
    *("kinds/documents/test_hdp", "kinds/networks/test_irm"),
)
"""Tests that would see a wrong posterior."""
WHOLE_RUNS = (
    *("tables/test_density_groups", "tables/test_missing_run", "tables/test_noise_run", "tables/test_outcome_run"),
    *("tables/test_predict_blocks", "tables/test_ratings", "tables/test_selection", "tables/test_simpler_starts"),
    "documents/test_api_documents",
)
"""Tests of commands and of the library on one kind of data."""

THINNED = {
    # statistics of sparse rows against those of dense ones, and sanitized builds, each over all samplers
    "tests/kinds/tables/test_gaussian_sparse": (8, 4),
    "tests/unit/test_memory_safety": (8, 4),
    # tables of messages, of which each stands there once: all, but for those of options, which one check makes
    "tests/unit/test_refused_options.py::test_configurations": (40, 3),
    # what is read of a file, a case in a line
    "tests/unit/test_reading": (1000, 1000),
    # tables of a few cases, each of another kind
    "tests/unit/test_figures_lshsm.py::test_who_leads": (1000, 1000),
    "tests/unit/test_figures_claims.py::test_as_many_units": (1000, 1000),
    "tests/unit/test_figures_claims.py::test_verdicts_follow": (1000, 1000),
    "tests/unit/test_data_fetch.py::test_nothing_is_left_of_a_failure": (1000, 1000),
    "tests/unit/test_hashing.py::test_options_out_of_range": (1000, 1000),
    "tests/cli/test_bad_input.py::test_commands": (1000, 1000),
    # one message each, of the same few checks
    "tests/cli/test_bad_input.py::test_odd_points": (3, 5),
    "tests/cli/test_bad_input": (3, 8),
    "tests/cli/test_damage": (2, 8),
    "tests/cli/test_interrupt": (1, 4),
    "tests/cli/test_flips": (2, 8),
    "tests/cli/test_own_data": (2, 8),
    # draws against one enumeration, and searches of partitions of 1 to 7 items
    "tests/cli/test_posteriors": (2, 30),
    "tests/unit/test_certified_means": (2, 6),
    "tests/unit/test_diagnostics_uncertainty": (8, 5),
    # an article each
    "tests/contract/test_articles": (1, 8),
    "tests/unit/test_errata": (8, 3),
    "tests/unit/test_figures_print": (2, 8),
    "tests/contract/test_configs": (8, 3),
    # options, schedules, couplings and pairs of partitions of kernels that other tests prove each
    "tests/exact/test_coupled.py::test_other_couplings": (6, 6),
    "tests/exact/test_arm.py::test_some_phis": (40, 10),
    "tests/exact/test_schedules.py::test_a_list_samples": (6, 4),
    "tests/exact/test_schedules.py::test_samplers_reach": (1, 3),
    # joint kernels of couplings, priors on models and chains with resampled values, whose parts are each proved
    "tests/exact/test_coupled.py::test_joint_kernel": (40, 6),
    "tests/exact/test_coupled.py::test_continuous": (2, 4),
    "tests/exact/test_priors_exact.py::test_every_sampler_at": (26, 4),
    "tests/exact/test_priors_exact.py::test_learners": (20, 4),
    "tests/exact/test_tails.py::test_draws_given": (1, 4),
    "tests/exact/test_heldout_exact.py::test_left_to_right_drawn": (1, 8),
    "tests/exact/test_transition_matrix.py::test_continuous": (3, 5),
    # moves of topics with refreshes and scans, each of which is proved alone, with two sets of parameters
    "tests/exact/test_smag.py::test_moves": (18, 3),
    # whether a test would see a level of an option; cases of random sizes
    "tests/exact/test_feature_pairs.py::test_every_level": (20, 4),
    "tests/exact/test_transition_matrix.py::test_exact_on_random": (6, 4),
    "tests/exact/test_transition_matrix.py::test_exact_on_more": (6, 4),
    "tests/exact/test_shards.py::test_shards_change": (1, 3),
    "tests/exact/test_smag.py::test_token_by": (1, 4),
    "tests/exact/test_smag.py::test_threads": (1, 4),
    "tests/exact/test_sequential_start.py": (3, 4),
    # one thing of each model, sampler, figure or message
    "tests/unit/test_shared": (4, 4),
    "tests/unit/test_figures.py::test_experiments_compose": (2, 8),
    "tests/unit/test_figures.py::test_generated_data_stand_in": (1000, 1000),
    "tests/contract/test_options": (8, 4),
    "tests/cli/test_first_tries": (3, 6),
    "tests/cli/test_sweep.py::test_sweeps_that_cannot": (4, 4),
    "tests/kinds/documents/test_topics_run": (1, 3),
    "tests/cli/test_report.py::test_the_command_of_a_run": (1, 3),
    # densities and estimators, which are no kernels; chains of them, and of what learns, against one enumeration
    "tests/exact/test_predictive_exact.py::test_density_with": (2, 3),
    "tests/exact/test_new_documents_exact.py::test_given_one_state": (2, 4),
    "tests/exact/test_checks.py::test_a_replicated_point": (5, 4),
    "tests/exact/test_checks.py": (1, 3),
    "tests/exact/test_power.py::test_reported_density_is": (1, 3),
    "tests/exact/test_arm.py::test_learning_chains": (1, 7),
    # one stream, compiled and in plain Python: every sampler, and every model, but few of their pairs
    "tests/replay/test_kept_state": (12, 5),
    "tests/replay/test_replay": (8, 3),
    # what Hydra composes: a quarter of the choices of each group
    "tests/unit/test_specification.py::test_layers": (1, 4),
    "tests/unit/test_specification.py::test_settings_of": (3, 9),
    "tests/unit/test_overrides.py::test_a_command_names": (3, 12),
    "tests/kinds/networks/test_data_edges.py::test_large_lists": (1, 4),
    "tests/kinds/tables/test_data_left_out.py::test_cells_are": (1, 3),
    "tests/unit/test_misfit": (1, 4),
    "tests/unit/test_certificates.py::test_limit": (1, 4),
    "tests/unit/test_mfm.py::test_the_number": (1, 3),
    "tests/unit/test_estimates.py::test_no_core": (1, 3),
    # statistics and densities of models, and posteriors by enumeration: more of them
    **{f"tests/{name}.py": (6, 3) for name in NEAR_POSTERIORS},
    # the rest: some cases of each test
    **{f"tests/kinds/{name}.py": (1, 5) for name in WHOLE_RUNS},
    "tests/cli/": (1, 5),
    "tests/kinds/": (2, 6),
    "tests/unit/": (2, 6),
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
    "exact/test_arm.py::test_every_phi_of_four_nodes[irm-uneven-arm",
    "exact/test_calibration.py::test_a_wrong_prediction_is_found",
    "exact/test_calibration.py::test_held_out_items_are_like",
    "exact/test_checks.py::test_records_that_the_model_makes_pass",
    "exact/test_coupled.py::test_joint_kernel[lines-conjugate-candidates-metropolis",
    "exact/test_coupled.py::test_other_couplings[lines-conjugate-candidates-metropolis",
    "exact/test_coupled.py::test_simulated_meeting_times_have_the_exact_distribution[dyadic",
    "exact/test_coupled.py::test_simulated_meeting_times_have_the_exact_distribution[gibbs",
    "exact/test_coupled.py::test_subcluster_keeps_both_margins[bernoulli",
    "exact/test_coupled.py::test_subcluster_keeps_both_margins[iso",
    "exact/test_feature_pairs.py::test_cells_alone_have_their_conditional[labels0-gaussian prior=esc",
    "exact/test_feature_pairs.py::test_cells_alone_have_their_conditional[labels1-gaussian prior=esc",
    "exact/test_feature_pairs.py::test_cells_alone_have_their_conditional[labels1-mixed",
    "exact/test_predictive_exact.py::test_missing_cells_of_joint_columns_are_integrated_out[mixed",
    "exact/test_lifted.py::test_a_chain_goes_on_with_its_directions[further2",
    "exact/test_lifted.py::test_directions_that_are_kept_are_uniform_beside_the_posterior[gaussian-diag-1-2",
    "exact/test_near_pairs.py::test_exact[emm-independence",
    "exact/test_new_documents_exact.py::test_given_one_state[words0]",
    "exact/test_overdispersed.py::test_leave_one_out_density_is_a_ratio_of_evidences",
    "exact/test_overdispersed.py::test_tables_are_those_of_the_restaurant[80.0-300",
    "exact/test_predictive_exact.py::test_density_with_resampled_scales[diag",
    "exact/test_priors_exact.py::test_a_hyper_parameter_is_drawn_from_its_conditional[r, p-r",
    "exact/test_priors_exact.py::test_prior_and_conditionals_belong_together[r, p",
    "exact/test_schedules.py::test_a_list_samples_what_is_unknown[b0, kappa0, full-[{sams",
    "exact/test_schedules.py::test_a_run_samples_the_enumerated_posterior[[{sams",
    "exact/test_selected_columns.py::test_indicators_alone_are_exact[plain]",
    "exact/test_selected_columns.py::test_log_joint_is_the_dense_formula_in_every_state[plain]",
    "exact/test_selected_columns.py::test_log_joint_is_the_dense_formula_in_every_state_mixed[plain",
    "exact/test_sequential_start.py::test_placing[0.7-6.0-1.1-3]",
    "exact/test_sequential_start.py::test_placing[1.6-0.9-0.3-",
    "exact/test_subcluster.py::test_a_chain_samples_the_posterior[neighbours]",
    "exact/test_subcluster.py::test_a_chain_samples_the_posterior[scan]",
    "exact/test_subcluster.py::test_kernel_of_six_items[2]",
    "exact/test_subcluster.py::test_kernel_of_six_items[3]",
    "exact/test_subcluster.py::test_kernel_on_a_finite_base_measure[7]",
    "exact/test_subcluster.py::test_kernel_on_a_finite_base_measure[8]",
    "exact/test_tails.py::test_draws_given_the_partition_have_their_conditional[iso",
    "exact/test_tempering.py::test_a_network_is_tempered_by_its_likelihood[0.8",
    "exact/test_transition_matrix.py::test_exact[bernoulli-five-triadic]",
    "exact/test_transition_matrix.py::test_exact[emm-independence]",
    "exact/test_transition_matrix.py::test_exact_on_random_cases[17]",
    "exact/test_transition_matrix.py::test_exact_on_random_cases[1]",
    # commands, processes and pictures: what they check is in quicker tests, of the part that does it
    "cli/test_api.py::test_a_generator_draws_the_seed",
    "kinds/documents/test_api_documents.py::test_documents_have_their_names",
    "cli/test_bad_input.py::test_a_process_ends_with_status_2[args1",
    "cli/test_bad_input.py::test_a_process_ends_with_status_2[args2",
    "cli/test_certify.py::test_ctrl_c_in_python_leaves_no_certificate[107",
    "cli/test_certify.py::test_new_items_of_a_file",
    "cli/test_continuation.py::test_what_would_have_ended_before",
    "kinds/tables/test_count_models.py::test_types_of_scattered_rows_are_found[0",
    "cli/test_damage.py::test_a_report_of_a_damaged_figure",
    "cli/test_damage.py::test_damage_to_an_unfinished_run[work/chain-0.npz",
    "cli/test_damage.py::test_the_file_that_grows_too_large_is_named[100",
    "scripts/test_editions.py::test_every_rule_gives_the_same_verdict",
    "cli/test_extras.py::test_the_library_needs_no_extra",
    "cli/test_files.py::test_one_word_is_the_whole_command[typed1]",
    "cli/test_interrupt.py::test_every_stage_is_interrupted[splitmerge_cli.cli.results-short_table",
    "cli/test_interrupt.py::test_what_does_not_stop_is_ended[1-import",
    "cli/test_interrupt.py::test_what_does_not_stop_is_ended[2-import",
    "cli/test_cluster_summary.py::test_answers_and_core_of_a_run",
    "cli/test_misfit.py::test_other_shapes_are_named[counts",
    "cli/test_commands.py::test_full_covariances_of_many_columns_are_said_to_take_long",
    "kinds/tables/test_outcome_run.py::test_an_outcome_that_separates",
    "cli/test_posteriors.py::test_exact_draws_agree_and_others_do_not[gaussian-full-n5-dynamic-mfm-gamma]",
    "kinds/tables/test_predict_blocks.py::test_blocks_change_no_prediction[full",
    "kinds/tables/test_selection.py::test_skewed_columns_get_scales_of_their_own[frame]",
    "kinds/tables/test_selection.py::test_who_names_no_scale_gets_none",
    "cli/test_shards.py::test_the_rows_of_a_zarr_array",
    "cli/test_sweep.py::test_a_killed_process_costs_its_own_job",
    "kinds/tables/test_tails_run.py::test_auto_takes_the_tails",
    "cli/test_uncertainty.py::test_all_commands_show_one_interval_which_is_that_of_all_draws[model=emm]",
    "cli/test_uncertainty.py::test_an_item_is_with_its_own",
    "cli/test_until.py::test_chains_that_keep_one_number_are_compared_with_two_from_both_ends[data1",
    "contract/test_configs.py::test_composes_and_builds[data-kdd_like",
    "contract/test_configs.py::test_composes_and_builds[data-nips0_12",
    "contract/test_sanitize.py::test_every_sampler_meets_every_model_and_all_data",
    "replay/test_errata_sizes.py::test_equations_3_to_6_with_one_error[none",
    "replay/test_errata_sizes.py::test_mean_number_of_topics_as_printed[box-3",
    "kinds/tables/test_data_reduce.py::test_model_auto_asks_for_components_unless_they_are_named[reduce1",
    "kinds/tables/test_data_scale.py::test_densities_are_those_of_the_data_on_the_scale_with_the_jacobian[complete",
    "kinds/tables/test_data_scale.py::test_densities_are_those_of_the_data_on_the_scale_with_the_jacobian[mixed",
    "unit/test_diagnostics_uncertainty.py::test_the_least_of_all_partitions_is_found[7-near-vi",
    "unit/test_enumerate.py::test_gaussian_integrates_gamma_priors_of_scale_and_weight[diag",
    "unit/test_enumerate.py::test_gaussian_integrates_gamma_priors_of_scale_and_weight[full",
    "unit/test_figures.py::test_fig4_counts_settled_chains",
    "unit/test_figures.py::test_fig6_and_traces",
    "unit/test_figures.py::test_reproduce_says_in_one_line_what_is_missing[interrupted",
    "unit/test_figures.py::test_reproduce_says_in_one_line_what_is_missing[running",
    "unit/test_figures_comparisons.py::test_scaling_is_drawn",
    "unit/test_figures_lshsm.py::test_speed_compares_in_every_cell",
    "unit/test_predictive_errors.py::test_errors_of_densities_and_of_probabilities_are_their_spread",
    "unit/test_priors.py::test_draws_are_of_the_prior[uniform_count",
    "kinds/records/test_similar_values.py::test_strings_within_their_limits_of_edits[80-2",
)
"""Names, or their beginnings, of slow tests: these take seconds and prove what quicker ones do."""
