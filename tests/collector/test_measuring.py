"""Measured power and the price of energy: whose they are, how old, and what holds where they are not known."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bus.errors import ConfigError
from foresail.settings import StackSettings
from foresail.stack.preflight import check_before_start
from schemas.measured import EnergyPrice, Measured, MeasuredPower
from schemas.reasons import Reason
from schemas.signals import Signal, SignalStatus
from schemas.snapshot import SourceRead
from services.collector.energy_prices import parse_prices
from services.collector.measuring import MeasuredSources
from services.collector.observe import Interpretation, interpret_snapshot
from services.collector.reading import MeasuredReads
from services.collector.settings import CollectorSettings
from services.collector.snapshot import Snapshot
from services.kube_objects import parse_time
from services.prometheus_settings import PrometheusSettings
from tests.cluster.test_kube_follow import LoopClock
from tests.collector.conftest import Look
from tests.collector.scripted_cluster import ScriptedCluster, node
from tests.served_prometheus import AT, ServedPrometheus, served_prometheus

HOURS = list(range(24))
NEAR, WATTS, TIMES = "own price", "(rate(kepler", "(timestamp(kepler"


@pytest.fixture
def prometheus() -> Iterator[ServedPrometheus]:
    """Serve a Prometheus with two nodes' power."""
    with served_prometheus() as served:
        served.series = {
            WATTS: [row("n1", "210.5", "platform"), row("n2", "40", "package")],
            TIMES: [row("n1", str(AT), "platform"), row("n2", str(AT - 30), "package")],
        }
        yield served


def row(name: str, value: str, scope: str) -> dict[str, Any]:
    """Return one series of an answer."""
    return {"metric": {"nodename": name, "scope": scope}, "value": [AT, value]}


def read(served: ServedPrometheus, **settings: Any) -> MeasuredReads:
    """Ask once, at cluster time AT."""
    given = CollectorSettings(prometheus=PrometheusSettings(url=served.url, **settings))

    async def ask() -> MeasuredReads | None:
        return await MeasuredSources(given, LoopClock()).read(AT)

    reads = asyncio.run(ask())
    assert reads is not None
    return reads


def observed(snapshot: Snapshot, settings: CollectorSettings | None = None) -> Interpretation:
    """Interpret a snapshot."""
    return interpret_snapshot(snapshot, settings or CollectorSettings())


def signal(said: Interpretation, name: str) -> Signal:
    """Return a signal by name."""
    return next(one for one in said.signals if one.name == name)


def with_power(snapshot: Snapshot, **ages: float) -> Snapshot:
    """Return the snapshot with 100 W of each named node, measured so many seconds ago."""
    now = snapshot.cluster_time_seconds
    power = MeasuredPower(
        ids=tuple(ages),
        watts=(100.0,) * len(ages),
        sample_time_seconds=tuple(now - age for age in ages.values()),
        scope="platform",
    )
    record = SourceRead(
        source="node_power", ok=True, read_time_seconds=now, server="prometheus", window_seconds=120
    )
    sources = (*snapshot.sources, record)
    return replace(snapshot, sources=sources, measured=Measured(power=power))


def test_power_comes_by_node_with_its_time_and_what_was_measured(
    prometheus: ServedPrometheus,
) -> None:
    """The machine of one, the CPUs of the other."""
    reads = read(prometheus)

    assert reads.power == MeasuredPower(
        ids=("n1", "n2"),
        watts=(210.5, 40.0),
        sample_time_seconds=(AT, AT - 30),
        scope="package+platform",
    )
    assert [(one.source, one.ok, one.items, one.window_seconds) for one in reads.sources] == [
        ("node_power", True, 2, 120.0),
        ("service_requests", True, 0, 120.0),
    ]


def test_a_scope_that_nobody_knows_does_not_travel(prometheus: ServedPrometheus) -> None:
    """A label of a query of one's own may hold any text, such as a name."""
    prometheus.series[WATTS] = [row("n1", "1", "rack of Ann")]

    power = read(prometheus).power

    assert power is not None
    assert power.scope == "own_query"


def test_that_nobody_measures_power_is_no_failure(prometheus: ServedPrometheus) -> None:
    """The model holds then; a Prometheus that refuses is one."""
    prometheus.series = {}
    reads = read(prometheus)
    assert (reads.power, reads.published, reads.sources[0].ok) == (None, None, True)

    prometheus.status, prometheus.body = 403, b""
    refused = read(prometheus).sources[0]
    assert (refused.ok, refused.reason, refused.server) == (False, Reason.FORBIDDEN, "prometheus")


def test_measured_power_goes_before_the_model(look: Look) -> None:
    """And the signal says so, with the time of the oldest measurement and its window."""
    snapshot = look(ScriptedCluster(nodes=[node("n1"), node("n2")]))

    said = observed(with_power(snapshot, n1=5.0, n2=40.0))

    power = signal(said, "power")
    assert said.nodes.power_watts == (100.0, 100.0)
    assert said.totals.energy_watts == 200.0
    assert (power.source, power.measured, power.modelled) == ("prometheus:platform", True, ())
    assert (power.status, power.age_seconds, power.window_seconds) == (SignalStatus.FRESH, 40, 120)


def test_nodes_without_a_fresh_measurement_are_modelled(look: Look) -> None:
    """They are named; a node that the cluster does not have counts for nothing."""
    snapshot = look(ScriptedCluster(nodes=[node("n1"), node("n2"), node("n3")]))

    said = observed(with_power(snapshot, gone=1.0, n1=90.0, n2=91.0))

    power = signal(said, "power")
    assert said.nodes.power_watts == (100.0, 80.0, 80.0)
    assert (power.source, power.modelled) == (
        "prometheus:platform+power_model:node_requests",
        ("n2", "n3"),
    )
    stale = signal(observed(with_power(snapshot, n1=91.0)), "power")
    assert (stale.source, stale.measured) == ("power_model:node_requests", False)
    assert not {"measured", "modelled"} & stale.model_dump().keys()


@pytest.mark.parametrize(
    ("time", "price"),
    [
        ("2026-11-23T22:59:59Z", 23.0),  # Monday, an hour later in Berlin
        ("2026-11-23T23:00:00Z", 100.0),  # the date that is named
        ("2026-11-28T11:00:00Z", 50.0),  # Saturday
        ("2026-07-01T10:00:00Z", 12.0),  # in summer, two hours later
        ("2026-10-25T00:30:00Z", 50.0),  # the hour that comes twice
    ],
)
def test_a_price_holds_for_its_hour_on_the_clock_on_the_wall(time: str, price: float) -> None:
    """Dates go before weekends, and those before the hours of every day."""
    prices = parse_prices(
        {
            "time_zone": "Europe/Berlin",
            "hours": HOURS,
            "weekend": [50.0] * 24,
            "dates": {"2026-11-24": [100.0] * 24},
        }
    )

    assert prices.at(parse_time(time)) == price


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("hours = [1, 2]\ntime_zone = 'UTC'", "hours = 2 prices: give 24, one for each hour"),
        (f"hours = {HOURS}", "time_zone = (none): Field required"),
        (f"hours = {HOURS}\ntime_zone = 'Mars'", "time_zone = Mars: name a time zone such as"),
        (
            f"time_zone = 'UTC'\nhours = {HOURS}\n[dates]\n'1.2.2026' = {HOURS}",
            "'1.2.2026' is no date: write it as 2026-01-31",
        ),
        (f"time_zone = 'UTC'\nhours = {[-1, *HOURS[1:]]}", "hours.0 = -1: Input should be greater"),
        ("hours", "write it as TOML"),
    ],
)
def test_a_file_that_holds_no_prices_is_refused(tmp_path: Path, text: str, line: str) -> None:
    """In one line with field, value and remedy, before anything starts."""
    path = tmp_path / "prices.toml"
    path.write_text(text, encoding="utf-8")
    settings = StackSettings.model_validate(
        {
            "collector": {"energy_price_file": str(path)},
            "dashboard": {"port": 0},
            "nats": {"port": 0},
        }
    )

    with pytest.raises(ConfigError) as refused:
        check_before_start(settings)

    assert str(refused.value).startswith("collector.energy_price_file")
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_price_of_a_query_goes_before_the_file_and_that_before_the_constant(
    prometheus: ServedPrometheus, tmp_path: Path, look: Look
) -> None:
    """A query that fails leaves the file's; each is named by the signal."""
    queries, prices = tmp_path / "queries.toml", tmp_path / "prices.toml"
    queries.write_text(f"[energy_price]\nquery = '{NEAR}'", encoding="utf-8")
    prices.write_text(f"time_zone = 'UTC'\nhours = {[2.0] * 24}", encoding="utf-8")
    prometheus.series[NEAR] = [{"metric": {}, "value": [AT, "0.31"]}]
    settings = CollectorSettings(
        energy_price_file=str(prices),
        prometheus=PrometheusSettings(url=prometheus.url, queries_file=str(queries)),
    )
    snapshot = look(ScriptedCluster(nodes=[node("n1")]))

    def price() -> tuple[float, str, SignalStatus]:
        sources = MeasuredSources(settings, LoopClock())

        async def ask() -> MeasuredReads | None:
            reads = await sources.read(snapshot.cluster_time_seconds)
            return sources.priced(reads, snapshot.cluster_time_seconds)

        reads = asyncio.run(ask())
        assert reads is not None
        said = observed(replace(snapshot, measured=reads.published), settings)
        named = signal(said, "energy_price")
        return said.totals.energy_price, named.source, named.status

    assert price() == (0.31, "prometheus", SignalStatus.FRESH)
    prometheus.series[NEAR] = [{"metric": {"zone": zone}, "value": [AT, "1"]} for zone in "ab"]
    assert price() == (2.0, "price_file", SignalStatus.ASSUMED)
    assert observed(snapshot).totals.energy_price == 0.1
    assert signal(observed(snapshot), "energy_price").source == "settings"


def test_an_old_price_is_stale(look: Look) -> None:
    """A server that has not said one for longer than an hour is not believed."""
    snapshot = look(ScriptedCluster(nodes=[node("n1")]))
    at = snapshot.cluster_time_seconds - 3601.0
    price = EnergyPrice(kwh=0.2, source="prometheus", asked_time_seconds=at)

    said = observed(replace(snapshot, measured=Measured(energy_price=price)))

    assert signal(said, "energy_price").status is SignalStatus.STALE
