"""Prometheus' HTTP API over the twin's own samples: what Grafana, adapters and promtool ask.

Answers and refusals have Prometheus' shapes (`status`, `data`, `errorType`, `error`): 400 for what is wrong with
the request, 422 for what cannot be evaluated, 503 when no samples are kept. Times are cluster times.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import promql_parser as ast

from twin.api.messages import Request, Response, respond
from twin.promql.evaluator import LOOKBACK_MS, matchers_of
from twin.promql.failures import Budget, QueryFailed
from twin.promql.parsing import parse
from twin.promql.queries import instant_query, range_query
from twin.promql.values import Labels, Matcher
from twin.samples.store import SampleStore, kept_labels
from twin.timestamps import unix

PROMETHEUS_VERSION = "2.42.0"
"""The version that the evaluator is compared with."""
MOST_FORM_BYTES = 64 << 10
MOST_PARAMETERS = 100
_STATUS = {"bad_data": 400, "execution": 422, "unavailable": 503}
_READY = {
    "/-/ready": b"Prometheus Server is Ready.\n",
    "/-/healthy": b"Prometheus Server is Healthy.\n",
}
_VALUES = re.compile(r"^/api/v1/label/([^/]+)/values$")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_DURATION = re.compile(
    r"(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?"
)
_UNITS = (31_536_000.0, 604_800.0, 86_400.0, 3_600.0, 60.0, 1.0, 0.001)
_FURTHEST = 9_000_000_000.0
_EMPTY: Mapping[str, Any] = {
    "/api/v1/rules": {"groups": []},
    "/api/v1/alerts": {"alerts": []},
    "/api/v1/query_exemplars": [],
}
"""What a Prometheus without rules and exemplars answers."""


@dataclass(frozen=True, slots=True)
class _Words:
    """The parameters of a request, of its query and of its form."""

    pairs: Sequence[tuple[str, str]]
    now: float

    def get(self, name: str, default: str = "") -> str:
        """Return the first value of a parameter."""
        return next((value for key, value in self.pairs if key == name), default)

    def all(self, name: str) -> list[str]:
        """Return all values of a parameter."""
        return [value for key, value in self.pairs if key == name]

    def moment(self, name: str, default: float | None = None) -> int:
        """Return a time in milliseconds: unix seconds or RFC 3339."""
        text = self.get(name)
        if not text and default is not None:
            return round(default * 1_000)
        seconds = _number(text)
        if seconds is None:
            try:
                seconds = unix(text)
            except ValueError:
                seconds = math.nan
        if not abs(seconds) <= _FURTHEST:
            raise _bad_parameter(name, f'cannot parse "{text}" to a valid timestamp')
        return round(seconds * 1_000)

    def duration(self, name: str) -> int:
        """Return a duration in milliseconds: seconds or such as 1m30s."""
        text = self.get(name)
        seconds = _number(text)
        if seconds is None:
            found = _DURATION.fullmatch(text) if text else None
            if found is None:
                raise _bad_parameter(name, f'cannot parse "{text}" to a valid duration')
            parts = zip(found.groups(), _UNITS, strict=True)
            seconds = math.fsum(int(part[:12]) * unit for part, unit in parts if part)
        if not abs(seconds) <= _FURTHEST:
            raise _bad_parameter(name, f'cannot parse "{text}" to a valid duration')
        return round(seconds * 1_000)

    @property
    def lookback_ms(self) -> int:
        """How old a sample may be."""
        return self.duration("lookback_delta") if self.get("lookback_delta") else LOOKBACK_MS

    @property
    def limit(self) -> int:
        """How many results are wanted at most; 0: all."""
        number = _number(self.get("limit") or "0")
        if number is None or not 0 <= number <= _FURTHEST:
            raise _bad_parameter("limit", "a whole number of 0 or more is needed")
        return int(number)


def is_prometheus(path: str) -> bool:
    """Say whether a path is one of Prometheus' API."""
    return path in _HANDLERS or path in _EMPTY or path in _READY or bool(_VALUES.match(path))


def answer_prometheus(store: SampleStore | None, request: Request, now: float) -> Response:
    """Answer one request; never raises. It may run beside the thread that scrapes."""
    if request.path in _READY and request.method == "GET" and store is not None:
        return Response(200, _READY[request.path], "text/plain; charset=utf-8")
    try:
        if request.method not in ("GET", "POST"):
            raise QueryFailed(
                f"the method {request.method} is not served; use GET or POST", "bad_data"
            )
        if store is None:
            raise QueryFailed(
                "no samples are kept: start the twin with --metrics-scrape-seconds 15",
                "unavailable",
            )
        words = _Words(_parameters(request), now)
        data = _data(store, request.path, words)
    except QueryFailed as error:
        content = {"status": "error", "errorType": error.kind, "error": str(error)}
        return respond(_STATUS[error.kind], content)
    answer: dict[str, Any] = {"status": "success", "data": data}
    if store.warnings:
        answer["warnings"] = store.warnings
    return respond(200, answer)


def _data(store: SampleStore, path: str, words: _Words) -> Any:
    if path in _EMPTY:
        return _EMPTY[path]
    if found := _VALUES.match(path):
        return _label_values(store, found[1], words)
    return _HANDLERS[path](store, words)


def _parameters(request: Request) -> list[tuple[str, str]]:
    if len(request.body) > MOST_FORM_BYTES:
        raise QueryFailed(f"the form is longer than {MOST_FORM_BYTES} bytes", "bad_data")
    pairs = list(request.parameters or request.query.items())
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if request.method == "POST" and request.body:
        if kind != "application/x-www-form-urlencoded":
            raise QueryFailed(f'a form is needed, not "{kind[:64]}"', "bad_data")
        try:
            text = request.body.decode("utf-8")
            form = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_PARAMETERS)
        except ValueError as error:
            raise QueryFailed(f"the form cannot be read: {error}", "bad_data") from error
        pairs = [*form, *pairs]  # as Go's ParseForm has it
    return pairs


def _query(store: SampleStore, words: _Words) -> Any:
    data = instant_query(
        store, words.get("query"), words.moment("time", words.now), lookback_ms=words.lookback_ms
    )
    return _limited_data(data, words.limit)


def _query_range(store: SampleStore, words: _Words) -> Any:
    data = range_query(
        store,
        words.get("query"),
        words.moment("start"),
        words.moment("end"),
        words.duration("step"),
        lookback_ms=words.lookback_ms,
    )
    return _limited_data(data, words.limit)


def _limited_data(data: dict[str, Any], limit: int) -> dict[str, Any]:
    if limit and data["resultType"] in ("vector", "matrix"):
        return {**data, "result": data["result"][:limit]}
    return data


def _found(store: SampleStore, words: _Words, *, needed: bool = False) -> Iterable[Labels]:
    """Yield the label sets that the `match[]` of a request select, of all time without one."""
    selectors = [_matchers(text) for text in words.all("match[]")]
    if needed and not selectors:
        raise QueryFailed("no match[] parameter provided", "bad_data")
    begin, end = words.moment("start", -_FURTHEST), words.moment("end", _FURTHEST)
    budget = Budget()
    for labels in store.labels(selectors or [[]], begin, end):
        budget.spend(0)
        yield labels


def _matchers(text: str) -> list[Matcher]:
    tree = parse(text)
    if not isinstance(tree, ast.VectorSelector):
        raise _bad_parameter("match[]", f'"{text[:200]}" is no selector of series')
    return matchers_of(tree)


def _series(store: SampleStore, words: _Words) -> Any:
    return _limited(kept_labels(_found(store, words, needed=True)), words.limit)


def _label_names(store: SampleStore, words: _Words) -> Any:
    return _limited(
        sorted({name for labels in _found(store, words) for name in labels}), words.limit
    )


def _label_values(store: SampleStore, label: str, words: _Words) -> Any:
    if not _LABEL.fullmatch(label):
        raise QueryFailed(f'invalid label name: "{label[:200]}"', "bad_data")
    values = {labels[label] for labels in _found(store, words) if label in labels}
    return _limited(sorted(values), words.limit)


def _metadata(store: SampleStore, words: _Words) -> Any:
    wanted = words.get("metric")
    return {
        name: [{"type": family.kind, "help": family.help, "unit": ""}]
        for name, family in _limited(sorted(store.exporters.families.items()), words.limit)
        if not wanted or name == wanted
    }


def _build(_: SampleStore, __: _Words) -> Any:
    return {
        "version": PROMETHEUS_VERSION,
        "revision": "foresail-twin",
        "branch": "",
        "buildUser": "",
        "buildDate": "",
        "goVersion": "",
    }


def _limited(found: list[Any], limit: int) -> list[Any]:
    return found[:limit] if limit else found


_HANDLERS: Mapping[str, Callable[[SampleStore, _Words], Any]] = {
    "/api/v1/query": _query,
    "/api/v1/query_range": _query_range,
    "/api/v1/series": _series,
    "/api/v1/labels": _label_names,
    "/api/v1/metadata": _metadata,
    "/api/v1/status/buildinfo": _build,
}


def _number(text: str) -> float | None:
    try:
        return float(text) if len(text) <= 64 else None
    except ValueError:
        return None


def _bad_parameter(name: str, why: str) -> QueryFailed:
    return QueryFailed(f'invalid parameter "{name}": {why}', "bad_data")
