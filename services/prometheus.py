"""A Prometheus, asked over its HTTP API: instants and ranges of PromQL.

Nothing is tried again and no redirect followed: who asks does so every few seconds.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import urllib3

from bus.errors import ConfigError
from inputs.limited_files import BadFile, read_text_limited, read_toml
from schemas.reasons import Reason
from services.prometheus_queries import FIELD, Query, parse_queries
from services.prometheus_settings import PrometheusSettings

SERVER = "prometheus"
"""Its name as the source of a signal."""
MOST_BYTES = 32 << 20
"""Of one answer; usage of 5,000 nodes takes 0.6 MB."""
MOST_SECRET_BYTES = 1 << 16
MOST_CONNECTIONS = 8
"""Kept open; as many questions are asked at a time at most."""
_INSTANT, _RANGE = "/api/v1/query", "/api/v1/query_range"


class Sample(msgspec.Struct, frozen=True):
    """A value of an answer."""

    labels: dict[str, str]
    value: float
    """NaN where it is no number."""
    time_seconds: float
    """Of a range the time of the newest point, else when the query was evaluated (Prometheus' clock)."""


class _Vector(msgspec.Struct, frozen=True):
    metric: dict[str, str]
    value: tuple[float, str] = (0.0, "NaN")
    """Absent in a series of native histograms, which is no number."""


class _Matrix(msgspec.Struct, frozen=True):
    metric: dict[str, str]
    values: list[tuple[float, str]] = []


class _Data(msgspec.Struct, frozen=True):
    result: msgspec.Raw
    result_type: str = msgspec.field(default="vector", name="resultType")


class _Answer(msgspec.Struct, frozen=True):
    """An answer, or its refusal."""

    data: _Data | None = None
    error: str = ""


class PrometheusRefused(Exception):
    """Why there is no answer, in one sentence."""

    def __init__(self, message: str, reason: Reason = Reason.SOURCE_ERROR) -> None:
        """Say it on one line."""
        super().__init__(" ".join(message.split()))
        self.reason = reason


class PrometheusServer:
    """Asks the Prometheus of the settings."""

    def __init__(self, settings: PrometheusSettings) -> None:
        """Look at the files that the settings name.

        Raises:
            ConfigError: one cannot be read, or holds no queries.
        """
        self._settings = settings
        self.queries = read_queries(settings)
        """By purpose (`services.prometheus_queries.PURPOSES`)."""
        try:
            self._headers()
        except PrometheusRefused as refused:
            remedy = f"name a readable file in token_file or basic_auth_file ({refused})"
            raise ConfigError("collector.prometheus", settings.url, remedy) from refused
        if settings.ca_file and not Path(settings.ca_file).is_file():
            remedy = "name a file of certificates that exists"
            raise ConfigError("collector.prometheus.ca_file", settings.ca_file, remedy)
        self._pool = urllib3.PoolManager(
            ca_certs=settings.ca_file or None,
            timeout=settings.timeout_seconds,
            retries=False,
            maxsize=MOST_CONNECTIONS,
        )

    async def ask(self, query: Query, replaced: Mapping[str, str] | None = None) -> list[Sample]:
        """Return the answer's series with a value each; none of them may be there.

        Args:
            query: what is asked.
            replaced: placeholders of the query, such as `$pods`, and what they stand for.

        Raises:
            PrometheusRefused: there is no answer, or none of that form.
        """
        text = query.text
        for placeholder, meaning in (replaced or {}).items():
            text = text.replace(placeholder, meaning)
        if not query.range_seconds:
            return _instant(await self._request(_INSTANT, {"query": text}))
        end = await self.time_seconds()
        fields = {
            "query": text,
            "start": repr(end - query.range_seconds),
            "end": repr(end),
            "step": f"{query.step_seconds:g}",
        }
        return _reduced(await self._request(_RANGE, fields), query)

    async def ask_range(
        self, query: Query, begin: float, end: float, step_seconds: float
    ) -> list[tuple[dict[str, str], list[tuple[float, float]]]]:
        """Return labels and (Unix seconds, value) of each series between two times, NaN where a value is no number.

        A rate is asked over a whole step.

        Raises:
            PrometheusRefused: there is no answer, or none of that form.
        """
        window = {"window_seconds": step_seconds} if query.window_seconds else {}
        fields = {
            "query": query.model_copy(update=window).text,
            "start": repr(begin),
            "end": repr(end),
            "step": f"{step_seconds:g}",
        }
        data = await self._request(_RANGE, fields)
        return [
            (one.metric, [(at, _number(text)) for at, text in one.values])
            for one in _decoded(data.result, list[_Matrix])
        ]

    async def time_seconds(self) -> float:
        """Return the server's clock, Unix seconds.

        Raises:
            PrometheusRefused: it does not answer.
        """
        data = await self._request(_INSTANT, {"query": "time()"})
        number = _number(_decoded(data.result, tuple[float, str])[1])
        if not math.isfinite(number):
            raise PrometheusRefused("time() is no number")
        return number

    async def _request(self, path: str, fields: Mapping[str, str]) -> _Data:
        return await asyncio.to_thread(self._ask, path, fields)

    def _ask(self, path: str, fields: Mapping[str, str]) -> _Data:
        url = f"{self._settings.url.rstrip('/')}{path}"
        try:
            response = self._pool.request(
                "POST",
                url,
                fields=dict(fields),
                headers=self._headers(),
                encode_multipart=False,
                preload_content=False,
                redirect=False,
            )
            with response:
                body = response.read(MOST_BYTES + 1)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            host = urlsplit(url).netloc
            raise PrometheusRefused(f"{host} does not answer ({type(error).__name__})") from error
        if response.status in {401, 403}:
            raise PrometheusRefused(f"it answers {response.status}", Reason.FORBIDDEN)
        if len(body) > MOST_BYTES:
            raise PrometheusRefused(f"an answer has more than {MOST_BYTES >> 20} MiB")
        try:
            answer = msgspec.json.decode(body, type=_Answer)
        except (msgspec.DecodeError, RecursionError) as error:
            raise PrometheusRefused(f"it answers {response.status} without samples") from error
        if answer.data is None:
            raise PrometheusRefused(answer.error or f"it answers {response.status}")
        return answer.data

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if self._settings.token_file:
            headers["Authorization"] = f"Bearer {_secret(self._settings.token_file)}"
        elif self._settings.basic_auth_file:
            secret = _secret(self._settings.basic_auth_file)
            headers |= urllib3.make_headers(basic_auth=secret)
        return headers


def read_queries(settings: PrometheusSettings) -> dict[str, Query]:
    """Return the query of each purpose, with those of `queries_file`.

    Raises:
        ConfigError: the file cannot be read, or does not hold queries.
    """
    if not settings.queries_file:
        return parse_queries(settings)
    try:
        tables: dict[str, Any] = read_toml(Path(settings.queries_file))
    except OSError as error:
        remedy = f"give a file that can be read ({error.strerror})"
        raise ConfigError(FIELD, settings.queries_file, remedy) from error
    except BadFile as error:
        raise ConfigError(FIELD, settings.queries_file, f"write it as TOML ({error})") from error
    return parse_queries(settings, tables)


def values_by(
    samples: list[Sample], keys: tuple[str, ...], labels: Mapping[str, str]
) -> dict[tuple[str, ...], float]:
    """Return the value of each sample that has all labels and a value of zero or more.

    Args:
        samples: an answer.
        keys: our names of the labels that tell values apart.
        labels: their names in the answer, where they are others.

    Raises:
        PrometheusRefused: there are samples, and none of them is one of these.
    """
    names = [labels.get(key, key) for key in keys]
    found = {
        tuple(sample.labels[name] for name in names): sample.value
        for sample in samples
        if all(name in sample.labels for name in names) and 0 <= sample.value < math.inf
    }
    if samples and not found:
        raise PrometheusRefused(no_value(names))
    return found


def no_value(names: list[str]) -> str:
    """Say which labels no sample has beside a value."""
    shown = " and ".join(repr(name) for name in names) or "none"
    return f"no sample of the answer has the label {shown} and a value"


def _instant(data: _Data) -> list[Sample]:
    if data.result_type == "scalar":
        at, text = _decoded(data.result, tuple[float, str])
        return [Sample({}, _number(text), at)]
    vector = _decoded(data.result, list[_Vector])
    return [Sample(one.metric, _number(one.value[1]), one.value[0]) for one in vector]


def _reduced(data: _Data, query: Query) -> list[Sample]:
    """Return one value of each series of a range; of one without a number, none."""
    samples = []
    for series in _decoded(data.result, list[_Matrix]):
        points = [(at, _number(text)) for at, text in series.values]
        known = [(at, value) for at, value in points if math.isfinite(value)]
        if not known:
            continue
        numbers = [value for _, value in known]
        value = {
            "newest": numbers[-1],
            "mean": math.fsum(numbers) / len(numbers),
            "largest": max(numbers),
        }[query.take]
        samples.append(Sample(series.metric, value, known[-1][0]))
    return samples


def _decoded(raw: msgspec.Raw, kind: Any) -> Any:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise PrometheusRefused("its answer is no vector of samples") from error


def _secret(path: str) -> str:
    try:
        return read_text_limited(Path(path), MOST_SECRET_BYTES).strip()
    except (OSError, BadFile) as error:
        raise PrometheusRefused(f"{path} cannot be read: {error}") from error


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
