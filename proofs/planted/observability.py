"""Defects in what is shown to the outside: numbers, panels, traces, and what is shipped."""

from __future__ import annotations

from proofs.planted.defect import Defect

_DASHBOARD = "tests/observability/test_grafana_dashboard.py"
_SUPPLY = "tests/architecture/test_supply_chain.py"

OBSERVABILITY = (
    Defect(
        "a metric is renamed, and a panel still asks for the old name",
        "bus/metrics.py",
        '"foresail_newest_cycle"',
        '"foresail_latest_cycle"',
        f"{_DASHBOARD}::test_every_panel_asks_for_a_number_that_exists",
    ),
    Defect(
        "a panel sums by a label that no metric has",
        "deploy/grafana/make_dashboard.py",
        "sum by (rule, action)",
        "sum by (rules, action)",
        f"{_DASHBOARD}::test_panels_group_by_and_name_labels_that_metrics_have",
    ),
    Defect(
        "a legend names a label that the sum drops",
        "deploy/grafana/make_dashboard.py",
        "sum by (job, error)",
        "sum by (job)",
        f"{_DASHBOARD}::test_each_legend_is_left_by_its_sum",
    ),
    Defect(
        "the first failed publish is no increase",
        "bus/metrics.py",
        "            self.failures.labels(error.__name__)\n",
        "            assert error\n",
        f"{_DASHBOARD}::test_a_first_failure_is_seen_as_an_increase",
    ),
    Defect(
        "a container is not scraped",
        "deploy/grafana/make_prometheus.py",
        '    "scoreboard",\n',
        "",
        f"{_DASHBOARD}::test_every_container_with_numbers_is_scraped",
    ),
    Defect(
        "a span loses its parent",
        "projections/spans.py",
        "parent = same[-1] if same else root.context",
        "parent = root.context",
        "tests/observability/test_expected_traces.py::test_each_cycle_of_a_recording_is_one_whole_trace",
    ),
    Defect(
        "a span names the wrong position",
        "projections/spans.py",
        '"foresail.seq": message.seq',
        '"foresail.seq": message.seq - 1',
        "tests/observability/test_expected_traces.py::test_each_cycle_of_a_recording_is_one_whole_trace",
    ),
    Defect(
        "services log into a benchmark's figures",
        "benchmarks/machine.py",
        "make_filtering_bound_logger(logging.CRITICAL)",
        "make_filtering_bound_logger(logging.INFO)",
        "tests/observability/test_quiet_benchmarks.py::test_log_lines_stay_away",
    ),
    Defect(
        "a package that nobody was asked about counts as clean",
        "deploy/audit.py",
        ' if "skip_reason" not in one}',
        "}",
        f"{_SUPPLY}::test_what_was_not_asked_is_not_clean",
    ),
    Defect(
        "one allowed licence of two that both hold is enough",
        "deploy/locked.py",
        "met = _one(tokens) and met",
        "met = _one(tokens) or met",
        f"{_SUPPLY}::test_an_expression_is_met_by_allowed_licences_alone",
    ),
    Defect(
        "a source that is lost is shown nowhere",
        "projections/outage.py",
        "        if not one.ok and one.reason not in ABSENT",
        "        if False",
        "tests/stack/test_outage.py::test_a_lost_source_stands_everywhere_with_its_beginning",
    ),
    Defect(
        "a cluster without a Metrics Server has lost one",
        "projections/outage.py",
        "ABSENT = frozenset({Reason.NOT_INSTALLED, Reason.DISABLED})",
        "ABSENT: frozenset[Reason] = frozenset()",
        "tests/stack/test_outage.py::test_what_a_cluster_does_not_have_is_no_loss",
    ),
)
