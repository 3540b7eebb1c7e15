"""What samples of the twin cost.

    python -m benchmarks.twin_samples [--size 1000,10000]

A still cluster of Deployments runs for ten minutes of cluster time with and without a scraper; then queries are
timed, all in CPU time. Its rows are those of docs/twin/metrics.md.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from benchmarks.machine import parser, report
from twin.__main__ import RARE_COLLECTIONS
from twin.port.engine import Engine
from twin.port.settings import TwinConfig
from twin.port.workloads import NodeShape
from twin.promql.failures import QueryFailed
from twin.promql.queries import range_query
from twin.samples.scraper import SampleSettings, Scraper

SIZES = ((100, 1_500), (1_000, 10_000))
"""Nodes and pods."""
SECONDS = 600.0
REPLICAS = 100
GIB = 2**30
HEAVY = (
    '{job=~".+"}',
    "container_memory_rss",
    "count by (pod, phase) (kube_pod_status_phase)",
    "sort(kube_pod_info)",
    "stddev_over_time(container_memory_rss[5m])",
    "+".join(["up"] * 250),
    r'up{job=~"(\\pL{10}){10}"}',
)
QUERIES = (
    "sum by (namespace) (rate(container_cpu_usage_seconds_total[5m]))",
    "sum by (phase) (kube_pod_status_phase)",
)


def cluster(nodes: int, pods: int, seed: int) -> Engine:
    """Return a cluster whose pods all run."""
    engine = Engine(TwinConfig(kube_events=False), seed)
    engine.add_nodes([NodeShape(f"n{i}", 32_000, 128 * GIB, 0, {}) for i in range(nodes)])
    resources = {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"cpu": "1"}}
    pod = {"containers": [{"name": "c", "image": "i", "resources": resources}]}
    for number in range(pods // REPLICAS):
        labels = {"app": f"d{number}"}
        template = {"metadata": {"labels": labels}, "spec": pod}
        spec = {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": template}
        engine.store.create(
            "deployments", "default", {"metadata": {"name": f"d{number}"}, "spec": spec}
        )
    engine.advance(engine.now + 300.0)
    return engine


def measure(nodes: int, pods: int, seed: int) -> dict[str, Any]:
    """Return one row."""
    engine = cluster(nodes, pods, seed)
    began = time.process_time()
    engine.advance(engine.now + SECONDS)
    plain = time.process_time() - began
    engine = cluster(nodes, pods, seed)
    scraper = Scraper(engine, SampleSettings(most_bytes=1 << 30))
    began = time.process_time()
    scraper.advance(engine, scraper.next_at)
    first = time.process_time() - began
    began = time.process_time()
    scraper.advance(engine, engine.now + SECONDS)
    each = (time.process_time() - began - plain) / (SECONDS / 15.0)
    asked = " / ".join(f"{_asked(scraper, engine.now, query):.2f}" for query in QUERIES)
    wait = _longest_wait(scraper, engine.now)
    return {
        "nodes": nodes,
        "pods": pods,
        "series": scraper.store.series,
        "first scrape, s": round(first, 2),
        "a scrape, ms": round(each * 1e3),
        "MB": round(scraper.store.bytes / 1e6),
        "longest piece, ms": round(_longest_piece(scraper, engine) * 1e3),
        "queries, s": asked,
        "wait, ms": round(wait * 1e3),
    }


def _asked(scraper: Scraper, now: float, query: str) -> float:
    began = time.process_time()
    answer: Any = range_query(
        scraper.store, query, round((now - SECONDS) * 1e3), round(now * 1e3), 15_000
    )
    assert answer["result"], query
    return time.process_time() - began


def _longest_piece(scraper: Scraper, engine: Engine) -> float:
    began, longest = time.process_time(), 0.0
    for _ in scraper.pieces(engine, scraper.next_at, engine.advance):
        longest = max(longest, time.process_time() - began)
        began = time.process_time()
    return longest


def _longest_wait(scraper: Scraper, now: float) -> float:
    """Return the most CPU seconds that the process takes before another thread has its turn, over queries of
    every kind, those that are refused for their work included.
    """
    longest = 0.0
    with ThreadPoolExecutor(1) as asker:
        for query in (*QUERIES, *HEAVY):
            asked = asker.submit(_ask_or_be_refused, scraper, now, query)
            while not asked.done():
                began = time.process_time()
                time.sleep(0.002)
                longest = max(longest, time.process_time() - began)
    return longest


def _ask_or_be_refused(scraper: Scraper, now: float, query: str) -> None:
    with suppress(QueryFailed):
        moments = (round((now - SECONDS) * 1e3), round(now * 1e3), 15_000)
        range_query(scraper.store, query, *moments)


def main() -> int:
    """Measure the sizes and print a row for each."""
    flags = parser(__doc__)
    flags.set_defaults(seed=7)
    flags.add_argument("--size", type=_size, action="append", metavar="NODES,PODS",
                       help="instead of 100,1500 and 1000,10000")  # fmt: skip
    options = flags.parse_args()
    gc.freeze()
    gc.set_threshold(*RARE_COLLECTIONS)
    rows = [measure(nodes, pods, options.seed) for nodes, pods in options.size or SIZES]
    report("samples of the twin", options, rows)
    return 0


def _size(text: str) -> tuple[int, int]:
    nodes, _, pods = text.partition(",")
    try:
        return int(nodes), int(pods)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text}: give nodes and pods, such as 100,1500"
        ) from error


if __name__ == "__main__":
    sys.exit(main())
