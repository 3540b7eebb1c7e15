"""The page's state has a bounded size and holds every cycle's whole argument."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bus.port import StoredMessage
from projections.cycle_record import CycleRecords
from projections.overview import REACTIONS, STAMPS, Overview
from schemas.control import Command
from schemas.decision import ClosedBy
from schemas.envelope import Event
from schemas.observation import Observation
from schemas.outcome import ExecutionPhase
from schemas.reasons import Reason
from schemas.registry import LAYERS
from services.dashboard.arrival import arrival_of
from services.dashboard.cycle_json import cycle_json
from services.dashboard.node_cells import cells_of
from services.dashboard.page import Page, evolve
from services.dashboard.row_text import LIMIT, row_text
from services.dashboard.sections import sections_of
from tests import builders
from tests.builders import ORIGIN
from tests.dashboard.built_cycles import cycles, one_cycle, stored_messages
from tests.score_events import make_difference, make_judgement, make_mismatch


def page_after(events: list[Event[Any]], page: Page | None = None) -> Page:
    """Return the page after some events, one second apart."""
    state = page or Page()
    for message in stored_messages(events):
        state = evolve(state, arrival_of(message))
    return state


def page_sections(events: list[Event[Any]]) -> dict[str, Any]:
    """Return the sections as the browser reads them."""
    sections: dict[str, Any] = json.loads(json.dumps(sections_of(page_after(events), ORIGIN)))
    return sections


def test_every_layer_counts_its_events() -> None:
    """Each of the six layers shows how many events came and when the newest was recorded."""
    layers = {layer["name"]: layer for layer in page_sections(cycles(2))["layers"]}
    assert tuple(layers) == LAYERS
    counts = {name: layer["count"] for name, layer in layers.items()}
    assert counts == {
        "snapshot": 6,
        "observation": 2,
        "prediction": 4,
        "proposal": 6,
        "decision": 2,
        "outcome": 8,
    }
    assert layers["decision"]["newest_ms"] == 26_000


def test_the_decision_names_each_loser_with_its_rule_and_numbers() -> None:
    """A loser shows the rule that beat it, by whom, and its evidence against the thresholds."""
    decision = page_sections(cycles(1))["decision"]
    agents = {agent["agent"]: agent for agent in decision["agents"]}
    assert agents["safety"]["verdict"] == "won"
    lost = agents["admission"]
    assert lost["verdict"] == "lost"
    assert (lost["override"]["rule"], lost["override"]["by_letter"]) == ("safety_first", "A")
    assert (lost["override"]["loser_score"], lost["override"]["winner_priority"]) == (0.62, 1)
    assert [(one["name"], one["value"], one["threshold"]) for one in lost["evidence"]] == [
        ("cpu_pressure_ratio", 0.62, 0.6),
        ("queue_length", 6, 4),
    ]


def test_a_loser_keeps_the_parameters_it_wanted() -> None:
    """What an agent wanted in detail (queue, not just admission) comes from its proposal."""
    agents = {agent["agent"]: agent for agent in page_sections(cycles(1))["decision"]["agents"]}
    assert agents["admission"]["parameters"] == {"admission": "queue"}


def test_a_missing_agent_has_a_place_in_the_argument() -> None:
    """An expected agent without a proposal is shown as missing, not left out."""
    decision = builders.make_decision(missing=("efficiency",), closed_by=ClosedBy.DEADLINE)
    agents = page_sections([builders.stamp_event(decision)])["decision"]["agents"]
    assert agents == [{"agent": "efficiency", "letter": "B", "verdict": "missing"}]


def test_outcomes_join_the_record_after_the_decision() -> None:
    """Execution, verification and reward join the decision of their cycle."""
    decision = page_sections(cycles(1))["decision"]
    assert decision["execution"]["phase"] == "finished"
    assert decision["verification"]["status"] == "verified"
    assert decision["reward"]["observed"]["total"] == pytest.approx(0.52 + 7 / 13, abs=1e-6)


def test_a_refused_execution_shows_its_reason() -> None:
    """A guard rail's refusal is told with its reason."""
    decision = builders.stamp_event(builders.make_decision())
    refusal = builders.make_execution(phase=ExecutionPhase.REFUSED, reason=Reason.COOL_DOWN)
    record = page_after([decision, builders.stamp_event(refusal)]).overview.cycles.newest_decided
    assert record is not None
    assert (cycle_json(record) or {})["execution"]["reason"] == "cool_down"


def test_deltas_give_the_whole_cluster() -> None:
    """After keyframe and deltas the page shows every node, with risk in percent per node."""
    sections = page_sections(cycles(3))
    assert len(sections["node_names"]) == 24
    assert len(sections["node_cells"]) == 48
    assert sections["cluster"]["queue_length"] == 6
    assert sections["cluster"]["nodes_asleep"] == 1
    assert sections["cluster"]["cpu_used_ratio"] == 0.31
    assert sections["cluster"]["memory_used_ratio"] is None
    assert sections["head"]["simulated"] is True


def test_a_page_that_begins_mid_chain_waits_for_a_keyframe() -> None:
    """Deltas without their keyframe show no cluster instead of a wrong one."""
    events = [cycle for cycle in cycles(3) if cycle.cycle > 1]
    assert page_sections(events)["cluster"] is None


def test_cells_tell_sleep_and_failure_from_risk() -> None:
    """A sleeping node, one that is not ready, one without a prediction, and one above 0.99."""
    nodes = builders.observed_nodes(
        {"a": {}, "b": {"ready": False}, "c": {"power_state": "sleep"}, "d": {}, "e": {}}
    )
    risk = builders.make_risk({"a": 0.429, "b": 0.5, "c": 0.5, "e": 1.0}).nodes
    assert cells_of(nodes, risk) == "42!!zz--99"


def test_signals_show_source_status_and_age() -> None:
    """Each signal of the newest observation shows where it came from and how old it was."""
    signals = {signal["name"]: signal for signal in page_sections(cycles(1))["signals"]}
    assert signals["node_usage"]["source"] == "metrics_server"
    assert signals["node_usage"]["age_seconds"] == 22.0
    assert signals["energy_price"]["status"] == "assumed"


def test_the_interval_is_measured_in_wall_time() -> None:
    """At any speed the page knows how far apart cycles are recorded."""
    assert page_sections(cycles(3))["head"]["interval_ms"] == 15_000


def test_the_operator_holds_and_resumes() -> None:
    """Kill shows until resume."""
    kill = builders.stamp_event(builders.make_control(Command.KILL))
    resume = builders.stamp_event(builders.make_control(Command.RESUME, nonce="2"))
    assert page_sections([kill])["head"]["hold"] == "kill"
    assert page_sections([kill, resume])["head"]["hold"] == ""


def test_a_cluster_that_cannot_be_read_is_said_with_its_beginning() -> None:
    """From the first snapshot without it until the first observation with it; never "live"."""
    (lost, *_) = builders.make_snapshot(0, cycle=2)
    sources = tuple(
        source.model_copy(
            update={
                "ok": False,
                "message": "connection refused",
                "failing_since_seconds": builders.START_SECONDS + 3,
            }
        )
        for source in lost.sources
    )
    outage = builders.stamp_event(lost.model_copy(update={"sources": sources}))

    said = page_sections([*cycles(1), outage])["head"]["outage"]
    assert "cannot be read since 2026-01-01 00:00:03 cluster time" in said
    assert "connection refused" in said
    assert page_sections([*cycles(1), outage, *one_cycle(3)])["head"]["outage"] is None


def test_the_page_gets_every_agents_letter_and_colours() -> None:
    """Names, letters and colours come from the registrations; the page itself names no agent."""
    agents = {agent["letter"]: agent for agent in page_sections(cycles(1))["agents"]}
    assert {letter: agent["name"] for letter, agent in agents.items()} == {
        "A": "safety",
        "B": "efficiency",
        "C": "admission",
    }
    assert (agents["A"]["colour"], agents["A"]["dark_colour"]) == ("#ad5290", "#cf79c0")


def test_rewards_put_observed_beside_predicted() -> None:
    """Each agent's reward is there twice, and totals make a line."""
    rewards = page_sections(cycles(4))["rewards"]
    assert [agent["name"] for agent in rewards["agents"]] == ["safety", "admission", "efficiency"]
    assert rewards["agents"][1] == {
        "name": "admission",
        "letter": "C",
        "weight": 0.8,
        "observed": 0.3,
        "predicted": 0.35,
    }
    assert rewards["cycles"] == [1, 2, 3, 4]
    assert len(rewards["observed"]) == 4


def test_the_page_says_what_acting_changed() -> None:
    """A verdict with sign and unit, this cycle beside the whole time, and how far behind the comparison is."""
    compared = [
        builders.stamp_event(make_difference(cycle, waiting=2.0 * cycle, requests_served=0.001))
        for cycle in (2, 3)
    ]
    acting = page_sections([*cycles(3), *compared])["acting"]
    assert (acting["verdict"], acting["behind"]) == ("harms", 0)
    assert acting["text"].startswith("Acting harms so far: -0.12 USD")
    figures = {one["name"]: one for one in acting["figures"]}
    assert figures["waiting"] == {
        "name": "waiting",
        "unit": "pod-hours",
        "total": "+6",
        "total_verdict": "harms",
        "step": "+0.6",
        "step_verdict": "harms",
    }
    assert (figures["requests served"]["total"], figures["jobs done"]["total_verdict"]) == (
        "+1,000",
        "no difference",
    )
    assert (acting["cycles"], acting["totals"]) == ([2, 3], pytest.approx([-0.0798, -0.1198]))
    late = page_sections([*cycles(5), *compared[:1]])["acting"]
    assert (late["cycle"], late["behind"]) == (2, 3)


def test_the_page_says_when_no_untouched_world_runs() -> None:
    """On a real cluster, on a twin without one, and before the two were compared."""
    built = cycles(1)
    assert "beside this one" in page_sections(built)["acting"]["text"]
    real = [
        builders.stamp_event(
            event.data.model_copy(
                update={
                    "signals": tuple(
                        signal.model_copy(update={"simulated": False})
                        for signal in event.data.signals
                    )
                }
            )
        )
        if isinstance(event.data, Observation)
        else event
        for event in built
    ]
    assert "beside a real cluster" in page_sections(real)["acting"]["text"]
    other = StoredMessage(1, 1_000_000_000, "foresail.test.untouched.nodes", {}, b"{}")
    page = evolve(page_after(built), arrival_of(other))
    soon = sections_of(page, ORIGIN)["acting"]
    assert "from the second cycle" in soon["text"]
    assert soon["verdict"] is None


def test_reactions_are_newest_first() -> None:
    """The newest reaction leads, with its lag and the class of what is pending."""
    reactions = page_sections(cycles(2))["reactions"]
    assert reactions[0]["object"] == "openb/task-0002-2"
    assert reactions[2]["pending_class"] == "insufficient_cpu"


def test_the_page_says_which_model_of_risk_drives_and_why() -> None:
    """Each model with its state, its cause and both intervals; nothing where nobody judges models."""
    shown = page_sections([builders.stamp_event(make_judgement())])["promotion"]
    (model,) = shown["models"]
    assert shown["text"] == "risk is predicted by age-risk/000000000000"
    assert (model["state"], model["why"]) == ("active", "skill shown")
    assert (model["skill_low"], model["skill"], model["lift_high"]) == (0.04, 0.17, 16.0)
    assert page_sections(cycles(1))["promotion"] is None


def test_a_stimulus_is_shown() -> None:
    """The exerciser's newest phase is part of the page."""
    stimulus = builders.stamp_event(builders.make_stimulus(3))
    assert page_sections([stimulus])["stimulus"]["name"] == "phase-3"


def test_memory_is_bounded() -> None:
    """However long it runs, the page keeps a fixed number of rows, cycles and stamps."""
    empty = Page(tail_rows=20, overview=Overview(cycles=CycleRecords(limit=5)))
    page = page_after(cycles(12, nodes=2), empty)
    overview = page.overview
    assert len(page.rows) == 20
    assert list(overview.cycles.by_cycle) == [8, 9, 10, 11, 12]
    assert all(len(layer.stamps_ns) <= STAMPS for layer in overview.layers.values())
    assert len(overview.reactions) <= REACTIONS


def test_a_message_that_is_no_event_is_listed() -> None:
    """Garbage on a subject is shown with the reason and changes nothing else."""
    message = StoredMessage(1, 1_000_000_000, "foresail.test.decision", {}, b"{}")
    page = evolve(Page(), arrival_of(message))
    assert "not a CloudEvents" in page.rows[0].text
    assert page.overview.cycles.newest_decided is None


def test_snapshots_are_not_parsed() -> None:
    """The largest messages are counted by size alone."""
    snapshot = stored_messages([builders.stamp_event(builders.make_snapshot(99)[0])])[0]
    arrival = arrival_of(snapshot)
    assert arrival.event is None
    assert row_text(arrival).endswith("kB")


def test_row_texts_stay_short() -> None:
    """Every kind of event has a text, and none is longer than a line of the tail."""
    events = [
        *cycles(1),
        builders.stamp_event(builders.make_stimulus()),
        builders.stamp_event(builders.make_control()),
        builders.stamp_event(builders.make_config()),
        builders.stamp_event(builders.make_proposal(rule="x" * 500)),
    ]
    texts = [row_text(arrival_of(message)) for message in stored_messages(events)]
    assert all(0 < len(text) <= LIMIT for text in texts)


def test_the_state_is_small() -> None:
    """A hundred nodes' page is a few kilobytes, and 5,000 nodes' risk is two bytes a node."""
    sections = page_sections(cycles(2, nodes=100))
    assert len(json.dumps(sections)) < 20_000
    assert len(sections["node_cells"]) == 200


@pytest.mark.parametrize(
    ("settings", "early"),
    [
        ({"mode": "active", "namespaces": ["shop", "batch"]}, "early: writes in shop, batch"),
        ({"mode": "active", "namespaces": []}, "early: writes in no namespace"),
        ({"mode": "shadow", "namespaces": ["shop"]}, None),
        ({"mode": "active", "namespaces": None}, None),
        ({"mode": "active"}, None),
    ],
)
def test_the_head_says_that_writes_to_a_real_cluster_are_early(
    settings: dict[str, Any], early: str | None
) -> None:
    """It names where is written, and says nothing of dry runs and of the simulated cluster."""
    announced = builders.stamp_event(builders.make_config("executor", **settings))
    assert page_sections([announced])["head"]["early"] == early


def test_what_does_not_fit_stands_in_the_head() -> None:
    """A mismatch is told with where to look, from its event on."""
    mismatch = make_mismatch(cycle=3)
    head = page_sections([*cycles(3), builders.stamp_event(mismatch)])["head"]

    assert page_sections(cycles(3))["head"]["mismatches"] == []
    assert [one["text"] for one in head["mismatches"]] == [one.text for one in mismatch.standing]
    assert all(one["remedy"] for one in head["mismatches"])
