"""Measured or given values besides the API server: power of nodes, and the price of energy.

A Prometheus is asked every `metrics_seconds`; a file of prices is read once, and says what holds at the time of
each look.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from pathlib import Path

from bus.clock import Clock
from bus.errors import ConfigError
from inputs.limited_files import BadFile, read_toml
from schemas.measured import EnergyPrice, MeasuredPower, PowerScope
from schemas.snapshot import SourceRead
from services.collector.cluster import SERVICES, Lists
from services.collector.energy_prices import FIELD, EnergyPrices, parse_prices
from services.collector.observe import is_watched
from services.collector.reading import CycleReads, MeasuredReads, failed_read
from services.collector.request_counters import RequestCounters, with_requests
from services.collector.service_rates import ServiceRates, service_rates
from services.collector.settings import CollectorSettings
from services.kube_workloads import Service
from services.prometheus import SERVER, PrometheusRefused, PrometheusServer, values_by
from services.prometheus_queries import (
    DURATIONS,
    NODE,
    OF_DURATIONS,
    OF_REQUESTS,
    POWER,
    POWER_SAMPLE,
    PRICE,
    REQUESTS,
)

SCOPE = "scope"
"""Label of a query of power that says what was measured."""
SERVICE_REQUESTS = "service_requests"
PRICE_FILE = "price_file"


class MeasuredSources:
    """Reads what the settings name; nothing where they name nothing."""

    def __init__(self, settings: CollectorSettings, clock: Clock, *, ask: bool = True) -> None:
        """Look at the files that the settings name; `ask` says whether a Prometheus is asked at all.

        Raises:
            ConfigError: one cannot be read, or does not hold what it should.
        """
        self._settings = settings
        self._clock = clock
        self._prices = read_prices(settings.energy_price_file)
        url = settings.prometheus.url if ask else ""
        self._server = PrometheusServer(settings.prometheus) if url else None
        self._newest: tuple[float, MeasuredReads] | None = None
        self.requests = RequestCounters()
        """What was counted of Services so far."""

    async def read(self, time_seconds: float) -> MeasuredReads | None:
        """Return what a Prometheus says now; never raises for what it or the network does."""
        if self._server is None:
            return None
        now = self._clock.monotonic()
        if self._newest is None or now - self._newest[0] >= self._settings.metrics_seconds:
            reads = await _ask(self._server, time_seconds, self._settings.namespaces)
            self._newest = (now, reads)
        return self._newest[1]

    async def services(self, lists: Lists, time_seconds: float) -> tuple[Service, ...]:
        """Return the Services, whose selectors say who answers; none where nobody is asked for requests."""
        if self._server is None:
            return ()
        return (await lists.read(SERVICES, time_seconds)).items

    def complete(
        self, reading: CycleReads, services: tuple[Service, ...], time_seconds: float
    ) -> CycleReads:
        """Return the reads of a look at a cluster time with what follows from them: the file's price, and the
        requests of Services.
        """
        reading = replace(reading, measured=self.priced(reading.measured, time_seconds))
        return with_requests(reading, self.requests, services, time_seconds)

    def priced(self, reads: MeasuredReads | None, time_seconds: float) -> MeasuredReads | None:
        """Return the reads with the file's price at a cluster time, where no server says one."""
        if self._prices is None or (reads is not None and reads.energy_price is not None):
            return reads
        price = EnergyPrice(kwh=self._prices.at(time_seconds), source=PRICE_FILE)
        return replace(reads or MeasuredReads(), energy_price=price)


def read_prices(file: str) -> EnergyPrices | None:
    """Return the prices of a file; None where none is named.

    Raises:
        ConfigError: it cannot be read, or holds no prices.
    """
    if not file:
        return None
    try:
        return parse_prices(read_toml(Path(file)))
    except OSError as error:
        remedy = f"give a file that can be read ({error.strerror})"
        raise ConfigError(FIELD, file, remedy) from error
    except BadFile as error:
        raise ConfigError(FIELD, file, f"write it as TOML ({error})") from error


async def _ask(
    server: PrometheusServer, time_seconds: float, namespaces: tuple[str, ...]
) -> MeasuredReads:
    (power_read, power), (price_read, price), (rates_read, rates) = await asyncio.gather(
        _power(server, time_seconds),
        _price(server, time_seconds),
        _rates(server, time_seconds, namespaces),
    )
    prices = () if price_read is None else (price_read,)
    return MeasuredReads((power_read, *prices, rates_read), power, price, rates)


async def _power(
    server: PrometheusServer, time_seconds: float
) -> tuple[SourceRead, MeasuredPower | None]:
    """Return the power of each node with a value and a time; that nobody measures any is no failure."""
    watts_of, time_of = server.queries[POWER], server.queries[POWER_SAMPLE]
    try:
        samples, times = await asyncio.gather(server.ask(watts_of), server.ask(time_of))
        watts = values_by(samples, (NODE,), watts_of.labels)
        seconds = values_by(times, (NODE,), time_of.labels)
    except PrometheusRefused as refused:
        return _failed("node_power", time_seconds, refused), None
    known = sorted(watts.keys() & seconds.keys())
    record = SourceRead(
        source="node_power",
        ok=True,
        read_time_seconds=time_seconds,
        items=len(known),
        server=SERVER,
        window_seconds=watts_of.covered_seconds or None,
    )
    if not known:
        return record, None
    power = MeasuredPower(
        ids=tuple(node for (node,) in known),
        watts=tuple(watts[key] for key in known),
        sample_time_seconds=tuple(seconds[key] for key in known),
        scope=_scope({sample.labels.get(SCOPE, "") for sample in samples}),
    )
    return record, power


def _scope(labels: set[str]) -> PowerScope:
    """Return what was measured; a label of an unknown word is anybody's text and does not travel."""
    if labels == {"platform"}:
        return "platform"
    if labels == {"package"}:
        return "package"
    return "package+platform" if labels == {"package", "platform"} else "own_query"


async def _price(
    server: PrometheusServer, time_seconds: float
) -> tuple[SourceRead | None, EnergyPrice | None]:
    """Return the price of a kWh; None where no query asks for it."""
    query = server.queries.get(PRICE)
    if query is None:
        return None, None
    try:
        prices = [sample.value for sample in await server.ask(query)]
        if len(prices) != 1 or not math.isfinite(prices[0]):
            raise PrometheusRefused(f"the answer has {len(prices)} prices; ask for one number")
    except PrometheusRefused as refused:
        return _failed("energy_price", time_seconds, refused), None
    record = SourceRead(
        source="energy_price", ok=True, read_time_seconds=time_seconds, items=1, server=SERVER
    )
    price = EnergyPrice(kwh=max(0.0, prices[0]), source=SERVER, asked_time_seconds=time_seconds)
    return record, price


async def _rates(
    server: PrometheusServer, time_seconds: float, namespaces: tuple[str, ...]
) -> tuple[SourceRead, ServiceRates | None]:
    """Return the requests of Services; that nobody counts any is no failure."""
    asked, within = server.queries[REQUESTS], server.queries[DURATIONS]
    try:
        requests, durations = await asyncio.gather(server.ask(asked), server.ask(within))
        rates = service_rates(
            {
                key: rate
                for key, rate in values_by(requests, OF_REQUESTS, asked.labels).items()
                if is_watched(key[0], namespaces)
            },
            values_by(durations, OF_DURATIONS, within.labels),
            asked.covered_seconds,
        )
    except PrometheusRefused as refused:
        return _failed(SERVICE_REQUESTS, time_seconds, refused), None
    record = SourceRead(
        source=SERVICE_REQUESTS,
        ok=True,
        read_time_seconds=time_seconds,
        items=len(rates.services),
        server=SERVER,
        window_seconds=rates.window_seconds or None,
    )
    return record, rates if rates.services else None


def _failed(name: str, time_seconds: float, refused: PrometheusRefused) -> SourceRead:
    read = failed_read(name, time_seconds, refused.reason, f"{SERVER}: {refused}")
    return read.model_copy(update={"server": SERVER})
