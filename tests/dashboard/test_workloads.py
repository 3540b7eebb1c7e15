"""One workload's page: its requests and replicas, what was expected, what was done, and what guard rails leave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from schemas.actions import ActionKind
from schemas.envelope import Event
from schemas.observation import ObservedServices
from schemas.outcome import ExecutionPhase
from schemas.prediction import BandTable, DemandBands
from schemas.work import ServiceCounters, WorkCounters
from tests import builders
from tests.builder_rows import INTERVAL_SECONDS, cycle_time
from tests.dashboard.served_page import FilledLog, ServedPage, served_over
from tests.dashboard.test_page import CHROMIUM, FLAGS, PATIENCE_MILLISECONDS

NAME = "shop/Deployment/web"
CYCLES = 4
CAPS = {"window_seconds": 600.0, "per_node": 3, "per_namespace": 10, "per_workload": 3}
SETTINGS: dict[str, Any] = {"cool_down_seconds": 120.0, "ping_pong_seconds": 900.0, "caps": CAPS}


def counters(cycle: int) -> WorkCounters:
    """Return counters that rise by 10 answered and 1 failed request per second."""
    seconds = cycle * INTERVAL_SECONDS
    one = ServiceCounters(
        service="shop/web", workload=NAME, served=10 * seconds, failed=seconds, lost=0
    )
    return WorkCounters(services=(one,))


def events() -> list[Event[Any]]:
    """Return some cycles of one Service that acting gave a replica to in the third."""
    made = [builders.stamp_event(builders.make_config("executor", **SETTINGS))]
    for cycle in range(1, CYCLES + 1):
        wanted = 2 if cycle < CYCLES else 3
        services = ObservedServices(
            ids=("shop/web",),
            workload=(NAME,),
            wanted=(wanted,),
            ready=(2,),
            autoscaled=(True,),
            least=(wanted,),
            most=(9,),
            replica_cpu_cores=(0.5,),
            replica_memory_bytes=(1 << 29,),
        )
        seen = builders.make_observation(cycle=cycle, services=services, work=counters(cycle))
        made.append(builders.stamp_event(seen))
        band = BandTable(
            ids=("service/shop/web",),
            newest=(10.0,),
            low=(9.0,),
            middle=(11.0,),
            high=(14.0,),
            rule=("trend",),
            basis=("own",),
        )
        bands = DemandBands(
            horizon_seconds=300.0, end_time_seconds=cycle_time(cycle) + 300.0, series=band
        )
        made.append(builders.stamp_event(builders.make_demand(cycle=cycle, bands=(bands,))))
    action = builders.make_action("safety", ActionKind.REPLICATE, NAME, replicas=3)
    decided = builders.make_decision(action, cycle=3)
    made.append(builders.stamp_event(decided))
    started = builders.make_execution(
        action, cycle=3, phase=ExecutionPhase.STARTED, direction="up", workloads=(NAME,)
    )
    return [*made, builders.stamp_event(started)]


@pytest.fixture(scope="module")
def served() -> Iterator[ServedPage]:
    """Serve the log of one Service."""
    log = FilledLog()
    log.fill(events())
    with served_over(log) as page:
        with httpx.Client(transport=httpx.HTTPTransport(retries=9), base_url=page.url) as http:
            while http.get("/healthz").json()["seq"] < log.log.last_seq:
                continue
        yield page


def test_a_workload_tells_its_history(served: ServedPage) -> None:
    """Rates are differences of counters, bands lie where they are about, and every guard rail says what is left."""
    known = httpx.get(f"{served.url}/api/workloads/{NAME}").json()

    assert known["series"]["served"] == [None, 10.0, 10.0, 10.0]
    assert known["series"]["failed"] == [None, 1.0, 1.0, 1.0]
    assert known["series"]["wanted"] == [2, 2, 2, 3]
    assert [band["at"] for band in known["bands"]] == [
        cycle_time(cycle) + 300.0 for cycle in range(1, CYCLES + 1)
    ]
    assert (known["ahead"][0]["low"], known["ahead"][0]["high"]) == (9.0, 14.0)
    assert [(one["cycle"], one["aim"]) for one in known["decisions"]] == [(3, f"{NAME} to 3")]
    rails = {one["rail"]: (one["used"], one["limit"], one["holds"]) for one in known["rails"]}
    assert rails == {
        "cool_down": (INTERVAL_SECONDS, 120.0, True),
        "ping_pong": (INTERVAL_SECONDS, 900.0, True),
        "cap_per_workload": (1, 3, False),
        "cap_per_namespace": (0, 10, False),
    }


def test_before_it_was_acted_on_nothing_had_been_done(served: ServedPage) -> None:
    """At a moment of the past: its replicas then, and no decision that came later."""
    then = httpx.get(f"{served.url}/api/workloads/{NAME}?at=3").json()
    rows = httpx.get(f"{served.url}/api/workloads?at=3").json()["workloads"]

    assert (then["series"]["wanted"], then["decisions"]) == ([2], [])
    assert rows == [{"name": NAME, "wanted": 2, "ready": 2, "acted": 0}]


def test_an_unknown_workload_is_said_to_be_unknown(served: ServedPage) -> None:
    """404 with its name."""
    answer = httpx.get(f"{served.url}/api/workloads/shop/Deployment/none")

    assert (404, True) == (answer.status_code, "shop/Deployment/none" in answer.json()["error"])


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on PATH")
def test_a_decision_leads_to_its_workload(served: ServedPage) -> None:
    """From the overview's decision by its target: figures, bands, what was done, and what holds now."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE_MILLISECONDS)
        page.goto(served.url)
        page.get_by_role("link", name=f"{NAME} to 3", exact=True).first.click()
        page.wait_for_url("**/workloads?workload=*")
        detail = page.get_by_test_id("workload")
        detail.get_by_text("2 / 3").wait_for()
        ahead = page.get_by_test_id("ahead").inner_text()
        rails, done = page.get_by_test_id("rails").inner_text(), page.get_by_test_id("done")
        done.get_by_role("link", name="cycle 3").click()
        page.wait_for_url("**/decisions?cycle=3")
        browser.close()

    assert "9 to 14" in ahead
    assert "cool down" in rails
    assert "1 of 3 executions" in rails
