"""Agent B's right-sizing: when the pods of a workload get other requests, and the one line that says why not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from schemas.actions import ResizeAction
from schemas.sizes import PredictionSizes, SizeTable
from schemas.view import ObservationView, update_view
from services.agents.appraisal import PolicyInput
from services.agents.efficiency.sizing import sizings
from services.agents.foreseen import Foreseen
from services.agents.memory import Memory
from services.agents.sizing_memory import SizedWorkload, remember_sizes
from services.agents.value_settings import ValueSettings
from tests.builders import make_observation, stamp_event

GIB = 1 << 30
WEB = "shop/Deployment/web"
NOW = 7_200.0
ROW: Mapping[str, Any] = {
    "pods": 2, "cpu_request_cores": 2.0, "memory_request_bytes": 4 * GIB, "cpu_peak_cores": 0.5,
    "memory_peak_bytes": 2 * GIB, "known_seconds": 36_000, "rule": "pooled",
}  # fmt: skip
OURS = SizedWorkload(
    owner_cores=4.0, owner_bytes=8 * GIB, cores=2.0, bytes=4 * GIB, seconds=3_000.0, least_cores=2.0
)


def situation(
    sized: SizedWorkload | None = None,
    *,
    measured: float = NOW - 60.0,
    restarts: int = 0,
    name: str = WEB,
    nodes: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    **row: Any,
) -> PolicyInput:
    """Return what agent B sees of one workload."""
    columns = {name: (value,) for name, value in {**ROW, **row}.items()}
    sizes = PredictionSizes(
        cycle=1, cluster_time_seconds=measured, measured_seconds=measured,
        workloads=SizeTable(ids=(name,), **columns),
    )  # fmt: skip
    pods = {"shop/web-1": {"workload": WEB, "restarts": restarts}} if restarts else {}
    return PolicyInput(
        view_of(pods, nodes or {}),
        Memory(sized={} if sized is None else {WEB: sized}),
        ValueSettings(right_size=True, machines_rented=True, **(settings or {})),
        Foreseen(sizes=sizes),
    )


def view_of(pods: Mapping[str, Any], nodes: Mapping[str, Any]) -> ObservationView:
    """Return an observation with these pods and nodes."""
    seen = make_observation(cluster_time_seconds=NOW, pods=pods, nodes=nodes)
    view = update_view(None, stamp_event(seen))
    assert view is not None
    return view


def action_of(seen: PolicyInput) -> ResizeAction:
    """Return the one action that is a candidate, after its worth was found to be positive."""
    (candidate,), why = sizings(seen)
    assert why == ""
    assert candidate.effect.net > 0.0
    assert isinstance(candidate.action, ResizeAction)
    return candidate.action


def test_what_idles_is_not_requested_any_more() -> None:
    """Each pod requests its peak and a margin; what is worth is half of what is freed, for half an hour."""
    (candidate,), _ = sizings(situation())
    action = action_of(situation())
    assert action.cpu_request_cores == pytest.approx(0.55)
    assert action.memory_request_bytes == pytest.approx(2.2 * GIB, abs=1)
    assert candidate.effect.net == pytest.approx(
        0.5 * 0.5 * 2 * (1.45 * 0.031611 + 1.8 * 0.004237), rel=1e-3
    )


@pytest.mark.parametrize(
    ("name", "machine_cores", "known", "gains"),
    [
        ("lab/Job/sum", 4.0, 36_000, False),
        ("lab/Job/sum", 4.0, 600, True),
        ("lab/Job/sum", 400.0, 36_000, True),
        (WEB, 4.0, 36_000, True),
    ],
)
def test_a_job_does_not_risk_more_work_than_is_saved(
    name: str, machine_cores: float, known: int, gains: bool
) -> None:
    """One that fills half a machine and has run for ten hours keeps what it has; a young or a small one does not."""
    nodes = {"m-0": {"cpu_allocatable_cores": machine_cores}}
    (candidate,), _ = sizings(situation(name=name, nodes=nodes, known_seconds=known))
    assert (candidate.effect.net > 0.0) is gains


def test_a_new_workload_is_fitted_again_once_twice_as_much_is_known() -> None:
    """Ten minutes after five, not after three more; an old one after an hour."""
    fitted = OURS.model_copy(update={"seconds": NOW - 300.0})
    assert action_of(situation(fitted, known_seconds=600)).cpu_request_cores == pytest.approx(0.55)
    candidates, _ = sizings(situation(fitted, known_seconds=900))
    assert candidates == ()


def test_pods_that_came_since_are_fitted_at_the_next_statement() -> None:
    """After an eviction a pod requests what its template says; where nothing was done nothing is tried again."""
    at = {"seconds": NOW - 300.0}
    came = OURS.model_copy(update={**at, "least_cores": 0.6})
    assert action_of(situation(came)).cpu_request_cores == pytest.approx(0.55)
    refused = OURS.model_copy(update={**at, "least_cores": 2.0})
    assert sizings(situation(refused))[0] == ()
    sizes = situation(cpu_request_cores=0.6).foreseen.sizes
    assert remember_sizes({WEB: refused}, (), sizes, NOW)[WEB].least_cores == 0.6


def test_a_leak_or_a_rollout_gets_back_what_we_took() -> None:
    """Of memory half of the margin is used up, of cores all of it: more is requested at the next statement at once."""
    action = action_of(situation(OURS, cpu_peak_cores=2.1, memory_peak_bytes=5 * GIB))
    assert action.cpu_request_cores == pytest.approx(2.31)
    assert action.memory_request_bytes == pytest.approx(5.5 * GIB, abs=1)


def test_a_restart_gets_back_what_the_owner_asked_for_at_once() -> None:
    """A container that was killed waits for no statement, and is left alone afterwards."""
    action = action_of(situation(OURS, measured=2_000.0, restarts=1))
    assert (action.cpu_request_cores, action.memory_request_bytes) == (4.0, 8 * GIB)
    sizes = situation().foreseen.sizes
    after = remember_sizes({WEB: OURS}, (action,), sizes, NOW)
    assert after[WEB].restored
    again, why = sizings(situation(after[WEB], restarts=1))
    assert not again
    assert "restarted lately (1)" in why


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"cpu_peak_cores": 1.7, "memory_peak_bytes": 3.4 * GIB}, "they request what they use"),
        ({"cpu_peak_cores": 2.5, "memory_peak_bytes": 5 * GIB}, "they request what they use"),
        ({"known_seconds": 0}, "known for less than 300 s"),
        ({"measured": NOW - 3_600.0}, "was not measured lately"),
        ({"restarts": 1}, "restarted lately"),
        ({"sized": OURS.model_copy(update={"seconds": NOW})}, "were fitted lately"),
        ({"sized": OURS.model_copy(update={"seconds": NOW - 600.0})}, "they request what they use"),
        ({"settings": {"machines_rented": False}}, "nobody rents machines here"),
    ],
    ids=["fits", "the owner's own shortfall", "too new", "metrics gone", "unwell", "lately", "no flapping", "fixed"],
)  # fmt: skip
def test_one_line_says_why_nothing_is_done(change: Mapping[str, Any], why: str) -> None:
    """Metrics that are gone for an hour lower nothing; what was lowered is not lowered again within an hour."""
    settings = change.get("settings", {})
    given = {name: value for name, value in change.items() if name != "settings"}
    if "memory_peak_bytes" in given:
        given["memory_peak_bytes"] = int(given["memory_peak_bytes"])
    seen = situation(**given)
    if settings:
        changed = seen.settings.model_copy(update=settings)
        seen = PolicyInput(seen.view, seen.memory, changed, seen.foreseen)
    candidates, text = sizings(seen)
    assert candidates == ()
    assert why in text
    assert text.startswith("no request is fitted: ")
