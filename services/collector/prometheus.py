"""What nodes use, from a Prometheus instead of the Metrics Server.

Three questions at a time, in the form of `metrics.k8s.io` afterwards: nothing behind this file knows
who was asked, but the snapshot says so. A question that fails makes the source fail for this cycle.
"""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import msgspec
import urllib3

from bus.errors import ConfigError
from bus.limited_files import BadFile, read_text_limited
from schemas.envelope import rfc3339
from schemas.reasons import Reason
from schemas.snapshot import SourceRead
from services.collector.cluster import ApiList, T
from services.collector.prometheus_settings import PrometheusSettings
from services.collector.reading import ListRead, failed_read
from services.kube_objects import CPU, MEMORY, Meta, NodeMetrics

SERVER = "prometheus"
MOST_BYTES = 32 << 20
"""Of one answer; 5,000 nodes take 0.6 MB."""
MOST_SECRET_BYTES = 1 << 16


class _Sample(msgspec.Struct, frozen=True):
    metric: dict[str, str]
    value: tuple[float, str]


class _Vector(msgspec.Struct, frozen=True):
    result: list[_Sample]


class _Answer(msgspec.Struct, frozen=True):
    """An answer of `/api/v1/query`, or its refusal."""

    data: _Vector | None = None
    error: str = ""


class _Refused(Exception):
    """Why there is no answer, in one sentence."""

    def __init__(self, message: str, reason: Reason = Reason.SOURCE_ERROR) -> None:
        super().__init__(" ".join(message.split()))
        self.reason = reason


class PrometheusMetrics:
    """Answers reads of node metrics (`services.collector.cluster.Lists`)."""

    def __init__(self, settings: PrometheusSettings) -> None:
        """Ask the Prometheus of these settings.

        Raises:
            ConfigError: a file that they name cannot be read.
        """
        self._settings = settings
        try:
            self._headers()
        except _Refused as refused:
            remedy = f"name a readable file in token_file or basic_auth_file ({refused})"
            raise ConfigError("collector.prometheus", settings.url, remedy) from refused
        if settings.ca_file and not Path(settings.ca_file).is_file():
            remedy = "name a file of certificates that exists"
            raise ConfigError("collector.prometheus.ca_file", settings.ca_file, remedy)
        self._pool = urllib3.PoolManager(
            ca_certs=settings.ca_file or None, timeout=settings.timeout_seconds, retries=False
        )

    async def read(self, source: ApiList[T], otherwise_time_seconds: float) -> ListRead[T]:
        """Return the metrics of all nodes, which are what `source` must stand for; never raises for
        what Prometheus or the network does.

        The read counts as of `otherwise_time_seconds`: another server's clock says nothing about the
        cluster's.
        """
        settings = self._settings
        questions = (settings.cpu_cores, settings.memory_bytes, settings.sample_seconds)
        try:
            answers = await asyncio.gather(
                *(asyncio.to_thread(self._ask, question) for question in questions)
            )
        except _Refused as refused:
            record = failed_read(
                source.name, otherwise_time_seconds, refused.reason, f"{SERVER}: {refused}"
            )
            return ListRead(record.model_copy(update={"server": SERVER}))
        items = _node_metrics(*answers)
        record = SourceRead(
            source=source.name,
            ok=True,
            read_time_seconds=otherwise_time_seconds,
            items=len(items),
            server=SERVER,
        )
        return ListRead(record, cast("tuple[T, ...]", items))

    def _ask(self, question: str) -> dict[str, float]:
        """Return the answer's values by node.

        Raises:
            _Refused: there is none, or it is no vector with the label of nodes.
        """
        url = f"{self._settings.url.rstrip('/')}/api/v1/query"
        try:
            response = self._pool.request(
                "POST",
                url,
                fields={"query": question},
                headers=self._headers(),
                encode_multipart=False,
                preload_content=False,
                redirect=False,
            )
            with response:
                body = response.read(MOST_BYTES + 1)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            host = urlsplit(url).netloc
            raise _Refused(f"{host} does not answer ({type(error).__name__})") from error
        if response.status in {401, 403}:
            raise _Refused(f"it answers {response.status}", Reason.FORBIDDEN)
        if len(body) > MOST_BYTES:
            raise _Refused(f"an answer has more than {MOST_BYTES >> 20} MiB")
        return self._values(body, response.status)

    def _values(self, body: bytes, status: int) -> dict[str, float]:
        try:
            answer = msgspec.json.decode(body, type=_Answer)
        except (msgspec.DecodeError, RecursionError) as error:
            raise _Refused(f"it answers {status} without a vector of samples") from error
        if answer.data is None:
            raise _Refused(answer.error or f"it answers {status}")
        label = self._settings.node_label
        named = {
            sample.metric[label]: _number(sample.value[1])
            for sample in answer.data.result
            if label in sample.metric
        }
        values = {node: value for node, value in named.items() if value >= 0}  # NaN is not
        if not values:
            raise _Refused(f"no sample of the answer has the label {label!r} and a value")
        return values

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if self._settings.token_file:
            headers["Authorization"] = f"Bearer {_secret(self._settings.token_file)}"
        elif self._settings.basic_auth_file:
            secret = _secret(self._settings.basic_auth_file)
            headers |= urllib3.make_headers(basic_auth=secret)
        return headers


def _secret(path: str) -> str:
    try:
        return read_text_limited(Path(path), MOST_SECRET_BYTES).strip()
    except (OSError, BadFile) as error:
        raise _Refused(f"{path} cannot be read: {error}") from error


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _node_metrics(
    cores: dict[str, float], memory: dict[str, float], seconds: dict[str, float]
) -> tuple[NodeMetrics, ...]:
    """Return what is known of each node that has a time; what is not known is left out."""
    return tuple(
        NodeMetrics(
            metadata=Meta(name=node),
            timestamp=rfc3339(seconds[node]),
            usage={
                **({CPU: f"{cores[node]:.6f}"} if node in cores else {}),
                **({MEMORY: str(round(memory[node]))} if node in memory else {}),
            },
        )
        for node in sorted(seconds)
        if math.isfinite(seconds[node])
    )
