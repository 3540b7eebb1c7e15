"""Three incidents whose true times are known: the timeline agrees with the twin's own events."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.make_screens import CYCLE_SECONDS, EXAMPLES, RUNS
from foresail.timeline.terminal import incident_view
from projections.incidents.incident import IncidentKind, Lane
from tests.readable_goldens import check, plain_text
from tests.timeline.scripted import play_incident, since_start

GOLDENS = Path(__file__).parent / "goldens"
SECOND = 1.0
"""The API's time stamps are whole seconds."""
SCRAPE = 15.0


def test_every_shipped_incident_is_played() -> None:
    """No example stands there without its golden and its true times."""
    assert {path.stem for path in EXAMPLES.iterdir()} == set(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_the_chain_is_the_golden_one(name: str) -> None:
    """What the terminal shows, without colour on 100 columns."""
    check(GOLDENS / f"{name}.txt", plain_text(incident_view(play_incident(name).incident)))


def test_an_autoscaler_that_comes_late() -> None:
    """Rise, rescale, refused pods and their waits are those of the cluster."""
    play = play_incident("hpa-lag")
    incident = play.incident
    assert incident.kind is IncidentKind.HPA_LAG

    (rise,) = play.steps(Lane.DEMAND)
    started = max(
        play.kube_event_times("Started", "web").get(pod, 0.0)
        for pod in play.kube_event_times("Started", "web")
    )
    true_rise = min(at for pod, at in play.kube_event_times("Started", "web").items()) + 600.0
    assert started > true_rise  # the autoscaler's own pods came later
    assert since_start(rise.time_seconds) == pytest.approx(true_rise, abs=SCRAPE)

    rescale = play.kube_event_times("SuccessfulRescale")["web"]
    autoscaler = play.steps(Lane.AUTOSCALER)[0]
    assert since_start(autoscaler.time_seconds) == pytest.approx(rescale, abs=SECOND)
    lag = rescale - since_start(rise.time_seconds)
    assert autoscaler.since_begin_seconds == pytest.approx(lag, abs=SECOND)

    waited = {pod: wait for pod, wait in play.waits().items() if "web" in pod and wait >= 30}
    (group,) = incident.waits
    assert (group.pending_class, group.pods) == ("insufficient_cpu", len(waited))
    assert group.max_seconds == pytest.approx(max(waited.values()), abs=SECOND)


def test_a_node_that_fails() -> None:
    """Not ready, replaced by us at once and by Kubernetes after its 300 s, ready again."""
    play = play_incident("node-failure")
    incident = play.incident
    assert (incident.kind, incident.nodes) == (IncidentKind.NODE_FAILURE, ("rack-2",))

    down, up = play.steps(Lane.NODE, "not ready any more")[0], play.steps(Lane.NODE, "again")[0]
    assert since_start(down.time_seconds) == play.kube_event_times("NodeNotReady")["rack-2"]
    assert 300 + 40 <= since_start(down.time_seconds) <= 300 + 55
    assert since_start(up.time_seconds) == pytest.approx(720.0, abs=SECOND)
    assert up.lag_max_seconds == pytest.approx(up.time_seconds - down.time_seconds, abs=SECOND)

    evicted = min(play.kube_event_times("Evicted").values())
    assert evicted == pytest.approx(since_start(down.time_seconds) + 300.0, abs=CYCLE_SECONDS)
    ours = play.steps(Lane.FORESAIL, "AgentA:replicate: scale")[0]
    assert since_start(ours.time_seconds) < evicted - 200.0
    first = play.steps(Lane.SCHEDULER, "a node for 1 pod")[0]
    bound = {
        at
        for at in play.kube_event_times("Scheduled").values()
        if at >= since_start(down.time_seconds)
    }
    assert since_start(first.time_seconds) == pytest.approx(min(bound), abs=SECOND)

    (alarm,) = [alarm for alarm in incident.alarms if not alarm.shadow]
    assert alarm.node == "rack-2"
    assert alarm.lead_seconds == pytest.approx(down.time_seconds - alarm.time_seconds)


def test_a_burst_that_finds_no_room() -> None:
    """Every wait of 30 s and more is counted, with the class that the scheduler named."""
    play = play_incident("unschedulable-burst")
    incident = play.incident
    assert incident.kind is IncidentKind.UNSCHEDULABLE_BURST
    assert since_start(incident.begin_seconds) == 300.0
    assert since_start(incident.damage_seconds) == 300.0

    waited = {pod: wait for pod, wait in play.waits().items() if wait >= 30}
    (group,) = incident.waits
    assert group.pending_class == "insufficient_cpu"
    assert (group.pods, group.still_waiting) == (len(waited), 0)
    assert group.max_seconds == pytest.approx(max(waited.values()), abs=SECOND)
    assert set(waited) <= set(play.kube_event_times("FailedScheduling"))

    refused = play.steps(Lane.SCHEDULER, "no node for")
    assert sum(one.count for one in refused) == len(waited)
    steps = play.steps(Lane.SCHEDULER, "a node for")
    first = min(play.kube_event_times("Scheduled")[pod] for pod in waited)
    assert since_start(steps[0].time_seconds) == pytest.approx(first, abs=SECOND)
    assert incident.lead_seconds is None
    assert "no model said so" in plain_text(incident_view(incident))
