"""A real Prometheus that scrapes a live twin, asked what dashboards ask.

The twin is started as a user starts it, with a Service that people use, its autoscaler and a Job, at speed 60.
Prometheus scrapes its `/metrics` over TLS with the administrator's token, as docs/twin/metrics.md says. Each query
of dashboards.toml has to be answered with numbers, and with the series that the twin's own PromQL answers with.
"""

from __future__ import annotations

import asyncio
import base64
import json
import math
import os
import ssl
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import yaml

from proofs.observability.panels import AGAIN_SECONDS
from proofs.observability.prometheus import (
    ASK_SECONDS,
    Prometheus,
    PrometheusFailed,
    running_prometheus,
)
from proofs.results import ROOT

DASHBOARDS = Path(__file__).with_name("dashboards.toml")
AT_REST = (
    'kube_job_complete{job_name="once"} == 1'
    ' unless on() count(rate(container_cpu_usage_seconds_total{pod=~"once-.*"}[5m]))'
)
"""Answered once the Job is done and no rate knows it: Prometheus forgets after five minutes of its own clock."""
OF_THE_SCRAPER = frozenset({"targets down"})
"""Queries of `up`, which each Prometheus writes about its own targets."""
SCRAPE_SECONDS = 1.0
STOP_SECONDS = 60.0
REST_SECONDS = 300.0
ANSWER_SECONDS = 180.0
WORKLOAD = """\
record,name,cpu_millicores,memory_bytes,time_seconds,kind,cpu_request_millicores,memory_request_bytes,replicas,traffic
node,n1,8000,34359738368,,,,,,
node,n2,8000,34359738368,,,,,,
arrival,web,,,0,service,500,268435456,2,constant requests_per_second=40
"""
_CPU = {"type": "Utilization", "averageUtilization": 70}
_SLEEP = {"name": "c", "image": "i", "command": ["sleep", "30"]}
OBJECTS: Mapping[str, Mapping[str, Any]] = {
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers": {
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2,  # as many as there are: series stay the same
            "maxReplicas": 2,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": _CPU}}],
        },
    },
    "/apis/batch/v1/namespaces/default/jobs": {
        "metadata": {"name": "once"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [_SLEEP]}}},
    },
}
"""What is created beside the workload, by its path: a Job of a workload would be gone some minutes after its end."""


@dataclass(frozen=True, slots=True)
class LiveTwin:
    """A twin that serves, and what its administrator needs to ask it."""

    address: str
    token: str
    authority: Path
    """File of the certificate authority."""

    def ask(self, query: str) -> list[dict[str, Any]]:
        """Return the vector that the twin's own PromQL answers with.

        Raises:
            PrometheusFailed: the query was refused, or there was no answer.
        """
        answered = self._request(f"/api/v1/query?{urlencode({'query': query})}")
        result: list[dict[str, Any]] = answered["data"]["result"]
        return result

    def create(self, path: str, body: Mapping[str, Any]) -> None:
        """Create an object; raises PrometheusFailed when it was refused."""
        self._request(path, json.dumps(body).encode())

    def _request(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = Request(self.address + path, body, headers)
        context = ssl.create_default_context(cafile=str(self.authority))
        try:
            with urlopen(request, timeout=ASK_SECONDS, context=context) as found:
                answered: dict[str, Any] = json.load(found)
        except (OSError, ValueError) as error:
            raise PrometheusFailed(f"{path}: {error}") from error
        return answered


@dataclass(frozen=True, slots=True)
class ScrapedAnswer:
    """How one query went."""

    name: str
    objection: str
    """Why the real Prometheus' answer does not count; empty when it does."""
    difference: str
    """How its series differ from those of the twin's own answer; empty when they do not."""

    @property
    def open(self) -> bool:
        """Whether it may still come out well."""
        return bool(self.objection or self.difference)


def dashboard_queries() -> dict[str, str]:
    """Return what dashboards ask, by what it shows."""
    found: dict[str, str] = tomllib.loads(DASHBOARDS.read_text(encoding="utf-8"))
    return found


@asynccontextmanager
async def live_twin(folder: Path) -> AsyncIterator[LiveTwin]:
    """Run `foresail twin up` until the block ends; its files go to `folder`.

    Raises:
        PrometheusFailed: it did not start.
    """
    (folder / "web.csv").write_text(WORKLOAD, encoding="utf-8")
    flags = ["--workload", "web.csv", "--weather", "off", "--speed", "60", "--seed", "7"]
    flags += ["--state", "state", "--json"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("FORESAIL_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "foresail", "twin", "up", *flags),
        cwd=folder,
        env={**own, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        line = await process.stdout.readline()
        if not line:
            raise PrometheusFailed("`foresail twin up` ended before it served")
        place = json.loads(line)
        yield _login(place["address"], Path(place["kubeconfig"]), folder)
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()


def _login(address: str, kubeconfig: Path, folder: Path) -> LiveTwin:
    content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    authority = folder / "ca.pem"
    encoded = content["clusters"][0]["cluster"]["certificate-authority-data"]
    authority.write_bytes(base64.b64decode(encoded))
    return LiveTwin(address, content["users"][0]["user"]["token"], authority)


def scrape_config(twin: LiveTwin) -> dict[str, Any]:
    """Return the configuration of a Prometheus that scrapes a twin."""
    job = {
        "job_name": "twin",
        "scheme": "https",
        "honor_labels": True,
        "authorization": {"credentials": twin.token},
        "tls_config": {"ca_file": str(twin.authority)},
        "static_configs": [{"targets": [twin.address.removeprefix("https://")]}],
    }
    return {"global": {"scrape_interval": f"{SCRAPE_SECONDS:g}s"}, "scrape_configs": [job]}


async def scraped_answers(folder: Path) -> list[ScrapedAnswer]:
    """Ask a real Prometheus about a live twin until all is answered, or three minutes have passed.

    Raises:
        PrometheusFailed: one of the two did not start.
    """
    loop = asyncio.get_running_loop()
    queries = dashboard_queries()
    async with live_twin(folder) as twin, AsyncExitStack() as stack:
        for path, body in OBJECTS.items():
            await asyncio.to_thread(twin.create, path, body)
        await _wait_for_rest(twin)
        scraping = running_prometheus(scrape_config(twin), folder)
        prometheus = await stack.enter_async_context(scraping)
        deadline = loop.time() + ANSWER_SECONDS
        answers: dict[str, ScrapedAnswer] = {}
        open_names = list(queries)
        while True:
            for name in open_names:
                answers[name] = await asyncio.to_thread(
                    _compare, name, queries[name], prometheus, twin
                )
            open_names = [name for name in open_names if answers[name].open]
            if not open_names or loop.time() > deadline:
                return list(answers.values())
            await asyncio.sleep(AGAIN_SECONDS)


async def _wait_for_rest(twin: LiveTwin) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + REST_SECONDS
    while not await asyncio.to_thread(twin.ask, AT_REST):
        if loop.time() > deadline:
            raise PrometheusFailed(f"the Job of the twin was not done within {REST_SECONDS:g} s")
        await asyncio.sleep(0.2)


def _compare(name: str, query: str, prometheus: Prometheus, twin: LiveTwin) -> ScrapedAnswer:
    try:
        series = prometheus.ask(query)
        if all(math.isnan(one.value) for one in series):
            return ScrapedAnswer(name, "no number" if series else "no data", "")
        if name in OF_THE_SCRAPER:
            return ScrapedAnswer(name, "", "")
        theirs = {labels_text(one.labels) for one in series}
        ours = {labels_text(one["metric"]) for one in twin.ask(query)}
    except PrometheusFailed as error:
        return ScrapedAnswer(name, str(error), "")
    odd = sorted(ours ^ theirs)
    difference = f"{len(theirs)} series there, {len(ours)} here, such as {odd[0]}" if odd else ""
    return ScrapedAnswer(name, "", difference)


def labels_text(labels: Mapping[str, str]) -> str:
    """Return labels as one text, in order of their names."""
    return json.dumps(labels, sort_keys=True)
