"""The same samples in a real Prometheus and in the twin's evaluator, and what differs between answers."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import subprocess
import tomllib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

from proofs.observability.prometheus import (
    ASK_SECONDS,
    MISSING,
    Prometheus,
    PrometheusFailed,
    running_prometheus,
)
from proofs.queries.samples import START, SampleSet, Set, open_metrics, samples
from twin.promql.failures import QueryFailed
from twin.promql.queries import instant_query, range_query

QUERIES = Path(__file__).with_name("queries.toml")
RELATIVE = 1e-9
ROUNDED = {"sum(memory_bytes) / count(memory_bytes) - avg(memory_bytes)": 1e-6}
"""Queries whose answer is zero but for rounding, of numbers of 1e9, and how large that may be."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query at one time or over one range; seconds since the start of the samples."""

    text: str
    begin: float
    end: float
    step: float
    """0: an instant query."""

    def __str__(self) -> str:
        """Return it as a person reads it."""
        when = f"at {self.begin:g}" if not self.step else f"{self.begin:g} to {self.end:g}"
        return f"{self.text} {when}"


def read_queries(path: Path = QUERIES) -> Iterator[Query]:
    """Yield every query at every time of a table."""
    for group in tomllib.loads(path.read_text(encoding="utf-8"))["group"]:
        for text in group["queries"]:
            if "every" in group:
                yield Query(text, group["from"], group["to"], group["every"])
            else:
                yield from (Query(text, at, at, 0) for at in group["at"])


@asynccontextmanager
async def loaded_prometheus(folder: Path, series: Set) -> AsyncIterator[Prometheus]:
    """Run a Prometheus that holds these samples and scrapes nothing.

    Raises:
        PrometheusFailed: it is not installed, or does not take them.
    """
    promtool = shutil.which("promtool")
    if promtool is None:
        raise PrometheusFailed(MISSING)
    text = folder / "samples.txt"
    text.write_text(open_metrics(series), encoding="utf-8")
    command = [
        promtool,
        "tsdb",
        "create-blocks-from",
        "openmetrics",
        str(text),
        str(folder / "data"),
    ]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise PrometheusFailed(done.stderr.strip()[-300:])
    config = {"global": {"evaluation_interval": "1m"}}
    kept = ("--storage.tsdb.retention.time=100y",)
    async with running_prometheus(config, folder, kept) as prometheus:
        yield prometheus


def ask_prometheus(prometheus: Prometheus, query: Query) -> dict[str, Any]:
    """Return the whole answer, refusals included."""
    begin = START + query.begin
    words: dict[str, Any] = {"query": query.text}
    if query.step:
        words |= {"start": begin, "end": START + query.end, "step": query.step}
        path = "query_range"
    else:
        words |= {"time": begin}
        path = "query"
    try:
        url = f"{prometheus.url}/api/v1/{path}?{urlencode(words)}"
        with urlopen(url, timeout=ASK_SECONDS) as answer:
            content: dict[str, Any] = json.load(answer)
    except HTTPError as error:
        content = json.load(error)
    return content


def ask_twin(source: SampleSet, query: Query) -> dict[str, Any]:
    """Return the evaluator's answer in the same form."""
    begin, end = (round((START + at) * 1_000) for at in (query.begin, query.end))
    try:
        if query.step:
            data = range_query(source, query.text, begin, end, round(query.step * 1_000))
        else:
            data = instant_query(source, query.text, begin)
    except QueryFailed as error:
        return {"status": "error", "errorType": error.kind, "error": str(error)}
    return {"status": "success", "data": data}


def difference(query: Query, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Return what differs between two answers; empty when nothing does."""
    if theirs["status"] != "success" or ours["status"] != "success":
        if theirs["status"] == ours["status"] and theirs["errorType"] == ours["errorType"]:
            return ""
        return f"Prometheus: {_summary(theirs)}; the twin: {_summary(ours)}"
    theirs, ours = theirs["data"], ours["data"]
    if theirs["resultType"] != ours["resultType"]:
        return f"{theirs['resultType']} there, {ours['resultType']} here"
    if theirs["resultType"] in ("scalar", "string"):
        return _unequal([theirs["result"]], [ours["result"]])
    if query.text.startswith("sort") and not query.step:
        order = [[one["metric"] for one in side["result"]] for side in (theirs, ours)]
        if order[0] != order[1]:
            return f"order {order[0]} there, {order[1]} here"
    there, here = _by_labels(theirs["result"]), _by_labels(ours["result"])
    if there.keys() != here.keys():
        odd = sorted(there.keys() ^ here.keys())
        return f"{len(there)} series there, {len(here)} here, such as {odd[0]}"
    for labels, points in there.items():
        if found := _unequal(points, here[labels], ROUNDED.get(query.text, 0.0)):
            return f"{labels}: {found}"
    return ""


def _by_labels(result: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {
        json.dumps(one["metric"], sort_keys=True): one.get("values", [one.get("value")])
        for one in result
    }


def _unequal(theirs: Sequence[Any], ours: Sequence[Any], absolute: float = 0.0) -> str:
    if [point[0] for point in theirs] != [point[0] for point in ours]:
        return f"{len(theirs)} points there, {len(ours)} here, at other times"
    for (at, there), (_, here) in zip(theirs, ours, strict=True):
        a, b = float(there), float(here)
        if math.isnan(a) and math.isnan(b):
            continue
        if not math.isclose(a, b, rel_tol=RELATIVE, abs_tol=absolute) and a != b:
            return f"{there} there, {here} here at {at - START:g}"
    return ""


def _summary(answer: Mapping[str, Any]) -> str:
    if answer["status"] != "success":
        return f"{answer['errorType']}: {answer['error']}"
    return f"{answer['data']['resultType']} of {len(answer['data']['result'])}"


async def differences(folder: Path) -> tuple[int, list[str]]:
    """Return how many queries were compared and what differed.

    Raises:
        PrometheusFailed: there is none to compare with.
    """
    series = samples()
    source, wrong, count = SampleSet(series), [], 0
    async with loaded_prometheus(folder, series) as prometheus:
        for query in read_queries():
            count += 1
            theirs = await asyncio.to_thread(ask_prometheus, prometheus, query)
            if found := difference(query, theirs, ask_twin(source, query)):
                wrong.append(f"{query}: {found}")
    return count, wrong
