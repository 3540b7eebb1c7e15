"""Every process of a real stack can be asked how it is, by scrapers that know nothing of NATS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

pytestmark = [pytest.mark.nats, pytest.mark.twin, pytest.mark.slow, pytest.mark.timeout(180)]


def answer(port: int, path: str) -> tuple[int, str]:
    """Ask one process; 0 when nobody answers."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except OSError:
        return 0, ""
    finally:
        connection.close()


def numbers(port: int) -> Iterator[tuple[str, float]]:
    """Yield every sample of one process."""
    for family in text_string_to_metric_families(answer(port, "/metrics")[1]):
        for sample in family.samples:
            yield sample.name, sample.value


def test_every_process_is_ready_and_can_be_scraped(
    cli: Any, wait_until: Callable[..., Any]
) -> None:
    """`status` names a port for each process; all get ready, and the numbers tell the same story."""
    cli.start("up", "--workload", "idle", "--nodes", "5", "--interval", "1s", "--dashboard-port=0")
    wait_until((cli.state / "stack.json").exists, 60, "the stack is up")
    status = wait_until(lambda: _listening(cli), 60, "every process tells its port")
    ports: dict[str, int] = status["health"]
    for name, port in ports.items():
        wait_until(lambda port=port: answer(port, "/readyz")[0] == 200, 60, f"{name} is ready")
        assert 200 == answer(port, "/healthz")[0]

    referee = ports["referee"]
    wait_until(
        lambda: sum(
            value for name, value in numbers(referee) if name == "foresail_decisions_total"
        ),
        30,
        "a decision is counted",
    )
    wait_until(
        lambda: any(
            process.get("lag") == 0 for process in cli.json("status")["processes"].values()
        ),
        30,
        "heartbeats tell the lag",
    )
    assert {*status["processes"], "twin"} == set(ports)
    assert dict(numbers(ports["twin"]))["foresail_twin_cluster_time_seconds"] > 0


def _listening(cli: Any) -> Any:
    status = cli.json("status")
    return status if status["health"] else None
