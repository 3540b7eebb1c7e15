"""The report says what helps, harms and lacks, with units and intervals, on a page of its own and in Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from foresail.experiment_page import experiment_page
from foresail.experiment_plots import forest_svg
from lab.experiments.arm_tables import spark
from lab.experiments.effects import ConfidenceInterval
from lab.experiments.markdown import markdown
from lab.experiments.pressure import TrialSeries, lanes
from lab.experiments.profiles import TAUS, profile_of
from lab.experiments.report import Agreement, Origin, Report, make_report
from lab.experiments.results import Burden, TrialCost, TrialResult
from lab.experiments.spec import Experiment
from lab.experiments.statistics import analyse
from lab.experiments.tradeoffs import ablations, regrets, tradeoffs
from lab.experiments.wording import relative_text
from tests.lab.experiments.made_up import SCORE, experiment, results, shifted

ARMS = ("none", "hpa+karpenter", "baseline-rules", "without-safety", "oracle")
GAINS = {
    "none": 0.0,
    "hpa+karpenter": -3.0,
    "baseline-rules": 2.0,
    "without-safety": 1.0,
    "oracle": 4.0,
}
MINUTES = {
    "none": 30.0,
    "hpa+karpenter": 20.0,
    "baseline-rules": 25.0,
    "without-safety": 26.0,
    "oracle": 10.0,
}
DOLLARS = {
    "none": 50.0,
    "hpa+karpenter": 80.0,
    "baseline-rules": 50.0,
    "without-safety": 60.0,
    "oracle": 55.0,
}


def draw(arm: str, workload: str, seed: int, random: Random) -> Mapping[str, float]:
    """Return a score with a gain by arm, but a loss of `baseline-rules` on batch, and figures without chance."""
    gain = GAINS[arm]
    if (arm, workload) == ("baseline-rules", "batch"):
        gain = -1.0
    score = shifted({arm: gain}, noise=0.2)(arm, workload, seed, random)
    return {**score, "slo_minutes": MINUTES[arm], "price_dollars": DOLLARS[arm]}


def asked() -> Experiment:
    """Return an experiment with every kind of arm."""
    return experiment(ARMS, seeds=6, resamples=200)


@cache
def whole() -> Report:
    """Return its report."""
    of = asked()
    found = results(of, draw)
    return make_report(
        of,
        found,
        origin=Origin("foresail experiment report made-up", "abc", "two cores", 1.5),
        agreement={"karpenter": Agreement(52, 51)},
        costs={
            one.fingerprint: TrialCost(cpu_seconds=9.0, controller_cpu_seconds=6.5) for one in found
        },
    )


def test_the_first_screen_says_what_helps_and_what_harms() -> None:
    """In these words, with unit and interval; what helps over all is said to harm where it harms."""
    findings = {(one.heading, one.verdict): one.text for one in whole().findings}
    question = findings["The question", "helps"]
    assert re.search(
        r"baseline-rules helps on outcome score: \+0\.\d+ \$/h \(95% interval \+", question
    )
    assert re.search(
        r"harms on batch \(-0\.8\d* \$/h\); helps on web \(\+", findings["Where not", ""]
    )
    assert "hpa+karpenter harms on outcome score: -" in findings["Other arms", "harms"]
    assert "baseline-rules helps on time outside the SLO: -5 min" in findings["What else", "helps"]


def test_costs_are_said_where_they_rise() -> None:
    """The price of an arm that rents machines, as harm."""
    of = experiment(ARMS, seeds=6, arm="hpa+karpenter", resamples=200)
    found = make_report(of, results(of, draw)).findings
    (cost,) = (one for one in found if one.heading == "At what cost")
    assert cost.verdict == "harms"
    assert (
        "price of rented machines: +30 $ (95% interval +30 to +30, +60% of none's 50 $)"
        in cost.text
    )


def test_a_part_of_next_to_nothing_is_not_said_in_percent() -> None:
    """Ten times as much and less is a percentage; beyond it the other arm's mean says more."""
    of = experiment(ARMS, seeds=6, arm="hpa+karpenter", resamples=200)
    analysis = analyse(of, results(of, draw))
    effect = analysis.effects["price_dollars", "hpa+karpenter"]
    assert relative_text(replace(effect, reference_mean=3.0)) == ", +1,000% of none's 3 $"
    assert relative_text(replace(effect, reference_mean=2.5)) == ", from none's 2.5 $"


def test_an_effect_that_is_not_shown_says_what_would_have_been() -> None:
    """Instead of silence."""
    of = experiment(seeds=6, resamples=200)
    (question, *_) = make_report(of, results(of, shifted({}))).findings
    assert question.verdict == "unclear"
    assert re.search(r"a true difference of [0-9.]+ \$/h would have been seen", question.text)


@pytest.mark.parametrize("write", [experiment_page, markdown])
def test_page_and_markdown_hold_every_part(write: object) -> None:
    """Gate, arms, workloads, worst seeds, goals, profiles, regret, ablation, origin and boundary."""
    assert callable(write)
    text = write(whole())
    for part in (
        "baseline-rules passes", "Outcome score", "By workload", "Worst seeds", "Performance profiles", "Regret",
        "Ablation: without-safety", "Time outside the SLO beside price of rented machines", "two cores",
        "51 of 52 rows measured on real programs hold", "simulated cluster", "It is no test", "Pressure: web",
        "Pressure: batch", "Arms by themselves", "Agreement with the real programs",
    ):  # fmt: skip
        assert part in text, part


def test_the_page_needs_nothing_else() -> None:
    """Pictures are drawn in it, nothing is loaded, its result is strict JSON."""
    text = experiment_page(whole())
    assert not re.findall(r"(?:src|href)=.[^#]", text)  # but to marks of the pictures themselves
    assert "default-src 'none'" in text
    assert text.count("<svg") == 7 + 2  # with a picture of all arms' lanes for each workload
    found = re.search(r'<script type="application/json" id="result">(.*)</script>', text)
    assert found is not None
    document = json.loads(found[1], parse_constant=pytest.fail)
    assert document["passes"] is True
    assert len(document["effects"]) == 12


def test_what_is_no_number_is_null_in_the_pages_result() -> None:
    """One pair has no interval; a script that reads the page must not stumble over it."""
    of = experiment(workloads=("web",), seeds=2)
    text = experiment_page(make_report(of, results(of, shifted({}))[:2]))
    found = re.search(r'id="result">(.*)</script>', text)
    assert found is not None
    (effect,) = json.loads(found[1], parse_constant=pytest.fail)["effects"]
    assert effect["difference"]["low"] is None
    assert effect["verdict"] == "too few"


def test_text_of_an_experiment_file_is_escaped() -> None:
    """A question is text, not markup."""
    of = asked().model_copy(update={"question": "<script>alert(1)</script>"})
    text = experiment_page(make_report(of, results(of, draw)))
    assert "<script>alert(1)" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_the_order_of_results_does_not_show() -> None:
    """Page and Markdown are the same to the byte."""
    of = asked()
    found = results(of, draw)
    one = make_report(of, found)
    Random(5).shuffle(found)
    other = make_report(of, found)
    assert markdown(other) == markdown(one)
    assert experiment_page(other) == experiment_page(one)


def test_what_is_missing_stands_in_the_report() -> None:
    """Trials without a result, values of one side, and results of nobody."""
    of = asked()
    found: list[TrialResult] = results(of, draw)
    gone = found.pop()
    found[0].metrics.pop("slo_minutes")
    found.append(gone.model_copy(update={"arm": "stranger"}))
    text = markdown(make_report(of, found))
    assert f"No result: {gone.arm} on {gone.workload}, seed {gone.seed}." in text
    assert "time outside the SLO: no value from none on web, seed 1." in text
    assert "Not of this experiment, not used: stranger" in text
    assert "## Not compared" not in markdown(whole())


def test_uses_of_the_test_split_are_counted() -> None:
    """The report of a test says the how-manieth it is."""
    of = asked()
    found = make_report(of, [], "test", origin=Origin(test_uses={"run": 1, "report": 2}))
    assert any(
        "Test split: 3 looks so far, this one included (run 1, report 2)" in line
        for line in found.boundary
    )
    assert "does not pass" in markdown(found)
    assert experiment_page(found)


def test_arms_on_the_front_are_beaten_by_none() -> None:
    """Less of both is better; equal in one and better in the other beats."""
    (price,) = tradeoffs(analyse(asked(), results(asked(), draw)))
    assert (price.cost, price.service, price.worlds) == ("price_dollars", "slo_minutes", 12)
    assert {point.arm for point in price.points if point.on_front} == {"baseline-rules", "oracle"}


def test_regret_is_the_distance_to_the_oracle() -> None:
    """None went no part of the way; baseline-rules gained about half a $/h of four."""
    found = {one.effect.arm: one for one in regrets(analyse(asked(), results(asked(), draw)))}
    assert set(found) == set(ARMS) - {"oracle"}
    assert found["none"].share == pytest.approx(0.0, abs=1e-9)
    assert found["baseline-rules"].share == pytest.approx(0.5 / 4.0, abs=0.06)
    assert found["none"].effect.verdict == "harms"


def test_an_ablation_is_compared_with_the_whole_arm() -> None:
    """Not with the reference."""
    (one,) = ablations(analyse(asked(), results(asked(), draw)))
    assert (one.arm, one.whole) == ("without-safety", "baseline-rules")
    assert one.effects[0].metric == SCORE
    assert one.effects[0].difference.value == pytest.approx(0.5, abs=0.3)


def test_an_arm_named_after_another_is_compared_with_that_one() -> None:
    """Whatever the hypothesis asks, and on each workload too; an arm that only sounds like it is left out."""
    gains = {"foresail": 3.0, "foresail-without-safety": 1.0}
    arms = ("none", *gains, "nobody-without-name")
    of = experiment(arms, seeds=6, arm="foresail", resamples=200)
    report = make_report(of, results(of, shifted(gains, noise=0.0)))

    (one,) = report.ablations
    assert (one.arm, one.whole) == ("foresail-without-safety", "foresail")
    assert one.effects[0].difference.value == pytest.approx(-2.0, abs=1e-6)
    text = markdown(report).split("## Ablation: foresail-without-safety")[1]
    for workload in ("all", "web", "batch"):
        assert f"| outcome score | {workload} | -2 $/h |" in text


def test_a_profile_counts_worlds_above_a_part_of_the_mean() -> None:
    """Of four worlds with gains of -10, 0, 10 and 20 % of 100."""
    values = {1: 90.0, 2: 100.0, 3: 110.0, 4: 120.0}
    of = experiment(workloads=("web",), seeds=4, metric="requests_served")
    found = results(
        of, lambda arm, _, seed, __: {"requests_served": 100.0 if arm == "none" else values[seed]}
    )
    paired = analyse(of, found).pairings["baseline-rules"].paired("requests_served")
    shares = dict(zip(TAUS, profile_of(paired, "baseline-rules").shares, strict=True))
    assert [shares[tau] for tau in (-0.5, -0.1, 0.0, 0.1, 0.2)] == [1.0, 0.75, 0.5, 0.25, 0.0]


def test_a_gain_over_nothing_is_above_every_part() -> None:
    """Where the reference's mean is 0 a gain has no bound, and none is none."""
    of = experiment(workloads=("web",), seeds=2, metric="requests_served")
    found = results(
        of, lambda arm, _, seed, __: {"requests_served": float(arm != "none" and seed == 1)}
    )
    paired = analyse(of, found).pairings["baseline-rules"].paired("requests_served")
    shares = profile_of(paired, "baseline-rules").shares
    assert (shares[0], shares[-1]) == (1.0, 0.5)


def test_lanes_join_seeds_where_all_have_a_value() -> None:
    """Median, lowest and highest at the times that every seed has."""
    found = lanes(
        TrialSeries(
            "web", "none", seed, [(0.0, 1.0 * seed), (60.0, 5.0 * seed)][: 2 if seed < 3 else 1]
        )
        for seed in (1, 2, 3)
    )
    (lane,) = found
    assert (lane.seeds, lane.seconds, lane.low, lane.middle, lane.high) == (
        3,
        (0.0,),
        (1.0,),
        (2.0,),
        (3.0,),
    )


def test_pressure_is_drawn_in_text_too() -> None:
    """One scale for all: the highest is a full block, nothing is the lowest, neighbours show their highest."""
    assert spark([0.0, 2.0, 4.0], 4.0) == "▁▅█"
    assert spark([0.0, 0.0, 0.0, 4.0, 1.0, 0.0], 4.0, columns=3) == "▁█▃"
    assert spark([0.0, 0.0], 0.0) == "▁▁"
    assert re.search(r"\| without-safety \| 6 \| ▅█ \| 7 \| 12 \| 5.25 \|", markdown(whole()))


def test_who_pays_is_said_by_payer() -> None:
    """Two hours more of waiting for Jobs, one less for Deployments, where an arm differs from the reference."""
    of = experiment(seeds=2, workloads=("web",))
    burdens = {
        "none": {"a Deployments": Burden(waiting_pod_hours=3.0), "a Jobs": Burden(held_pod_hours=1.0)},
        "baseline-rules": {"a Deployments": Burden(waiting_pod_hours=2.0),
                           "a Jobs": Burden(held_pod_hours=1.0, waiting_pod_hours=2.0)},
    }  # fmt: skip
    found = [
        one.model_copy(update={"payers": burdens[one.arm]}) for one in results(of, shifted({}))
    ]
    text = markdown(make_report(of, found))
    assert "| baseline-rules | web | a Jobs | +2 | 0 | 0 | 0 | 0 |" in text
    assert "| baseline-rules | web | a Deployments | -1 | 0 | 0 | 0 | 0 |" in text
    assert "## Who pays" not in markdown(
        make_report(of, [one for one in found if one.arm == "none"])
    )


def test_what_is_of_an_arm_by_itself_is_not_compared() -> None:
    """Skill of a forecast that the reference does not make is a figure of the arm, and nothing is missing."""
    of = experiment(seeds=2, workloads=("web",))

    def drawn(arm: str, workload: str, seed: int, random: Random) -> Mapping[str, float]:
        skill = {} if arm == "none" else {"forecast_skill": 0.1 * seed}
        return {**shifted({})(arm, workload, seed, random), **skill}

    found = results(of, drawn)
    costs = {found[1].fingerprint: TrialCost(cpu_seconds=9.0, controller_cpu_seconds=6.5)}
    report = make_report(of, found, costs=costs)
    text = markdown(report)
    assert "| baseline-rules | 2 | 15% | 1 s | 9 s |" in text
    assert "| none | 2 | - | - | - |" in text
    assert "## Not compared" not in text
    assert ("forecast_skill", "baseline-rules") not in report.analysis.effects

    def skilled(arm: str, workload: str, seed: int, random: Random) -> Mapping[str, float]:
        return {**shifted({})(arm, workload, seed, random), "forecast_skill": 0.1 * seed}

    both = make_report(of, results(of, skilled))
    assert ("forecast_skill", "baseline-rules") not in both.analysis.effects


def test_a_forest_plot_shows_0_and_both_ends() -> None:
    """Left to right by value, the line at 0 in sight although no interval reaches it; no picture without a number."""
    nan = float("nan")
    picture = forest_svg(SCORE, [
        ("a", ConfidenceInterval(3.0, 2.0, 4.0), "helps", ""),
        ("b", ConfidenceInterval(-3.0, nan, nan), "too few", ""),
    ])  # fmt: skip
    line = r"<title>{}: </title> <path d=.M ([0-9.]+) [0-9.]+ L ([0-9.]+) .*?var\(--([a-z]+)\)"
    zero = re.search(r"d=.M ([0-9.]+) [0-9.]+ L \1 [^>]*var\(--ink\)", picture)
    first, second = (re.search(line.format(name), picture) for name in ("a", "b"))
    assert zero is not None
    assert first is not None
    assert second is not None
    assert float(second[1]) == float(second[2]) < float(zero[1]) < float(first[1]) < float(first[2])
    assert (first[3], second[3]) == ("appeared", "soft")
    assert forest_svg(SCORE, [("a", ConfidenceInterval(nan, nan, nan), "too few", "")]) is None
