"""Capacity of one replica, learned from rates at which the objective held and broke."""

from __future__ import annotations

import math
from random import Random

import pytest

from features.live.capacity.curve import PRIOR_SPREAD, Capacity, cpu_capacity, fit_capacity
from features.live.capacity.evidence import Bin, CpuSums, add_cpu, add_window
from features.live.capacity.learned import (
    LearnedCapacity,
    LearnedWorkload,
    learn_observation,
    learn_usage,
    statements,
)
from features.live.capacity.windows import Objective
from schemas.observation import ObservedServices
from schemas.snapshot import SnapshotUsage, UsageTable
from schemas.view import ObservationView, update_view
from schemas.work import LATENCY_BOUNDS, ServiceCounters, WorkCounters
from tests.builders import GIB, make_observation, stamp_event

WEB = "shop/Deployment/web"
CYCLE_SECONDS = 15.0
BEARS = 50.0
OBJECTIVE = Objective(latency_seconds=0.5, bad_ratio=0.01)


class Shop:
    """One Service whose replicas bear `BEARS` requests a second: above, what is too much comes late."""

    def __init__(self) -> None:
        """Begin with nothing asked."""
        self.seconds = 1_200_000.0
        self.served = self.late = self.failed = self.lost = 0.0
        self.learned = LearnedCapacity()

    def play(
        self, rate: float, cycles: int, *, ready: int = 2, wanted: int | None = None, **bad: float
    ) -> LearnedWorkload:
        """Ask for `rate` requests a second of each replica, and return what was learned then."""
        for _ in range(cycles):
            self.seconds += CYCLE_SECONDS
            amount = rate * ready * CYCLE_SECONDS
            self.served += amount
            self.late += max(0.0, rate - BEARS) / rate * amount if rate else 0.0
            self.failed += bad.get("failed", 0.0)
            self.lost += bad.get("lost", 0.0)
            view = self._view(ready, ready if wanted is None else wanted, bad.get("refused", 0.0))
            self.learned = learn_observation(self.learned, view, OBJECTIVE)
        return self.learned.workloads[WEB]

    def use(self, cores: float, version: str = "1", pods: int = 2) -> None:
        """Say what the pods use together."""
        table = UsageTable(
            ids=(WEB,),
            version=(version,),
            pods=(pods,),
            cpu_used_cores=(cores,),
            memory_used_bytes=(GIB,),
            cpu_request_cores=(2.0,),
        )
        usage = SnapshotUsage(
            cycle=1,
            cluster_time_seconds=self.seconds,
            source="metrics_server",
            workloads=table,
        )
        self.learned = learn_usage(self.learned, usage)

    def _view(self, ready: int, wanted: int, refused: float) -> ObservationView:
        in_time = self.served - self.late
        counters = ServiceCounters(
            service="shop/web",
            served=self.served,
            failed=self.failed,
            lost=self.lost,
            refused=refused,
            served_within=tuple(
                in_time if bound <= 0.5 else self.served for bound in LATENCY_BOUNDS
            ),
            workload=WEB,
        )
        services = ObservedServices(
            ids=("shop/web",),
            workload=(WEB,),
            wanted=(wanted,),
            ready=(ready,),
            autoscaled=(False,),
            least=(0,),
            most=(0,),
            replica_cpu_cores=(1.0,),
            replica_memory_bytes=(GIB,),
        )
        observation = make_observation(
            cluster_time_seconds=self.seconds,
            interval_seconds=CYCLE_SECONDS,
            work=WorkCounters(services=(counters,)),
            services=services,
        )
        view = update_view(None, stamp_event(observation))
        assert view is not None
        return view


def test_the_rate_at_which_the_objective_breaks_is_found() -> None:
    """Rates on both sides give a value near the truth, with an interval around it."""
    shop = Shop()
    for rate in (20.0, 35.0, 45.0, 48.0, 53.0, 60.0, 44.0):
        found = shop.play(rate, 40).capacity

    assert found is not None
    assert found.source == "seen"
    assert found.high is not None
    assert 44.0 < found.low < BEARS < found.high < 60.0
    assert found.value == pytest.approx(BEARS, rel=0.06)


def test_before_anything_broke_only_what_was_borne_is_stated() -> None:
    """Without CPU and without a broken objective nothing is extrapolated: no upper end."""
    shop = Shop()
    shop.play(20.0, 40)
    found = shop.play(30.0, 40).capacity

    assert found is not None
    assert (found.source, found.high) == ("borne", None)
    assert found.value == found.low == pytest.approx(30.0, rel=0.03)


def test_cpu_says_what_is_borne_until_it_is_seen() -> None:
    """0.01 cores a request and a tenth of a core idle: 0.8 of one core are 70 requests a second; seen is more."""
    shop = Shop()
    for rate in (10.0, 20.0, 30.0):
        shop.play(rate, 20)
        shop.use(2 * (0.1 + 0.01 * rate))
    prior = shop.learned.workloads[WEB].capacity
    assert prior is not None
    assert prior.source == "prior"
    assert prior.value == pytest.approx(70.0, rel=0.15)

    for rate in (45.0, 48.0, 53.0, 56.0):
        seen = shop.play(rate, 60).capacity
    assert seen is not None
    assert (seen.source, seen.value) == ("seen", pytest.approx(BEARS, rel=0.06))


def test_a_new_version_is_learned_anew() -> None:
    """A rollout can change everything that a replica bears; a restart of the collector cannot."""
    shop = Shop()
    shop.play(20.0, 60)
    shop.use(1.0, "1")
    shop.use(1.0, "1")
    assert shop.learned.workloads[WEB].bins

    shop.use(1.0, "")
    assert shop.learned.workloads[WEB].bins

    shop.use(1.0, "2")
    known = shop.learned.workloads[WEB]
    assert (known.version, known.bins, known.capacity) == ("2", {}, None)
    assert not shop.play(20.0, 3).bins  # the first looks after it still see both


def test_requests_that_pods_never_bore_are_no_evidence() -> None:
    """What ended with a machine or met no ready pod says nothing of a ready pod; what failed there does."""
    lost = Shop().play(30.0, 40, lost=100.0).bins
    assert all(one.broken == 0.0 for one in lost.values())
    assert lost

    failed = Shop().play(30.0, 40, failed=100.0).bins
    assert all(one.kept == 0.0 for one in failed.values())
    assert failed


def test_only_settled_looks_are_evidence() -> None:
    """While replicas start, leave, or have just changed, a rate per replica is a mixture."""
    shop = Shop()
    assert not shop.play(60.0, 30, ready=2, wanted=3).bins
    for ready in (2, 3, 2, 3) * 5:
        known = shop.play(60.0, 2, ready=ready)
    assert not known.bins


def test_a_quiet_service_tells_nothing() -> None:
    """A few requests a minute cannot show one bad one in a hundred."""
    assert not Shop().play(0.1, 100).bins
    assert not Shop().play(0.0, 100).bins


def test_what_was_seen_long_ago_is_outweighed() -> None:
    """Machines can become slower without a rollout: some hours of that and the old windows are gone."""
    bins: dict[int, Bin] = {}
    for _ in range(100):
        for rate, holds in ((40.0, True), (80.0, True), (120.0, False)):
            bins = add_window(bins, rate, holds=holds)
    before = fit_capacity(bins, None)
    for _ in range(300):
        for rate, holds in ((40.0, True), (80.0, False)):
            bins = add_window(bins, rate, holds=holds)
    after = fit_capacity(bins, None)

    assert before is not None
    assert after is not None
    assert 80.0 < before.value < 120.0
    assert 40.0 < after.value < 80.0


def drawn(random: Random, windows: int) -> tuple[float, Capacity]:
    """Return a true capacity, and what is found of it after windows whose outcome is noisy near it."""
    bears, width = math.exp(random.uniform(1.0, 6.0)), random.choice((0.03, 0.08, 0.15))
    bins: dict[int, Bin] = {}
    for _ in range(windows):
        rate = bears * math.exp(random.gauss(-0.1, 0.3))
        breaks = 0.02 + 0.96 / (1.0 + (bears / rate) ** (1.0 / width))
        bins = add_window(bins, rate, holds=random.random() >= breaks)
    found = fit_capacity(bins, bears * math.exp(random.gauss(0.0, PRIOR_SPREAD)))
    assert found is not None
    return bears, found


@pytest.mark.parametrize("windows", [5, 30, 200])
def test_the_interval_holds_the_truth_as_often_as_it_says(windows: int) -> None:
    """Of 300 drawn workloads the truth lies in the 90 % interval in 84 % or more, and it narrows with evidence."""
    random = Random(f"capacity/{windows}")
    drawings = [drawn(random, windows) for _ in range(300)]
    held = sum(found.low <= bears <= (found.high or 0.0) for bears, found in drawings)
    errors = sorted(abs(math.log(found.value / bears)) for bears, found in drawings)

    assert held / len(drawings) >= 0.84
    assert errors[len(errors) // 2] < {5: 0.25, 30: 0.08, 200: 0.04}[windows]


def test_idle_cpu_is_told_apart_only_where_rates_differ() -> None:
    """At one rate all CPU counts as that of requests, which errs to the careful side."""
    steady, varied = CpuSums(), CpuSums()
    for place in range(50):
        steady = add_cpu(steady, 20.0, 0.3)
        rate = 10.0 + place
        varied = add_cpu(varied, rate, 0.1 + 0.01 * rate)

    assert cpu_capacity(steady, 1.0) == pytest.approx(0.8 / 0.015, rel=0.01)
    assert cpu_capacity(varied, 1.0) == pytest.approx(70.0, rel=0.01)
    assert cpu_capacity(varied, None) is None
    assert cpu_capacity(varied, 0.1) is None
    assert cpu_capacity(CpuSums(), 1.0) is None


def test_two_looks_at_nearly_one_rate_say_nothing_of_rates_far_off() -> None:
    """CPU is measured with noise: the line through two such looks may fall, or cross the request anywhere."""
    rising = add_cpu(add_cpu(CpuSums(), 5.0, 0.10), 6.0, 0.20)
    falling = add_cpu(add_cpu(CpuSums(), 5.0, 0.20), 6.0, 0.10)

    for sums in (rising, falling):
        assert cpu_capacity(sums, 1.0) == pytest.approx(0.8 * 5.5 / 0.15, rel=0.3)


def test_a_rate_that_was_borne_once_is_not_forgotten_with_the_next_window() -> None:
    """What was borne in a busy minute stands when quieter ones follow."""
    bins = add_window({}, 40.0, holds=True)
    for _ in range(60):
        bins = add_window(bins, 4.0, holds=True)

    found = fit_capacity(bins, None)

    assert found is not None
    assert found.value == pytest.approx(40.0, rel=0.05)


def test_state_and_statements_survive_a_checkpoint() -> None:
    """What is learned is plain data: as JSON and back it states the same."""
    shop = Shop()
    for rate in (20.0, 35.0, 45.0, 55.0):
        shop.play(rate, 40)
        shop.use(2 * (0.1 + 0.01 * rate))

    restored = LearnedCapacity.model_validate_json(shop.learned.model_dump_json())

    assert restored == shop.learned
    assert statements(restored) == statements(shop.learned)
    assert list(statements(restored)) == [WEB]


def test_counters_that_are_read_seldom_do_not_distort_the_prior() -> None:
    """Between two scrapes a look sees no request at all, and with one those of several looks."""
    shop = Shop()
    for rate in (8.0, 16.0, 24.0):
        for _ in range(20):
            shop.play(2 * rate, 1)
            shop.play(0.0, 1)
        shop.use(2 * (0.1 + 0.01 * rate))

    prior = shop.learned.workloads[WEB].capacity
    assert prior is not None
    assert (prior.source, prior.value) == ("prior", pytest.approx(70.0, rel=0.15))
