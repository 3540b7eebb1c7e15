"""Write deploy/grafana/prometheus.yml: `python -m deploy.grafana.make_prometheus`.

With `--state FOLDER` nothing is written: the configuration that scrapes the stack running there is
printed, for a Prometheus on the same machine. Both say `job` of a process by its name, which is what
the dashboard's panels are grouped by.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from schemas.agents import agent_names

CONFIG = Path(__file__).with_name("prometheus.yml")
ALERTS = Path(__file__).with_name("alerts.yml")
"""Rules for containers; a Prometheus of one's own names the file in its `rule_files`."""
PORT = 9100
SCRAPE_SECONDS = 5.0
CONTAINERS = (
    "twin",
    "collector",
    "inference",
    *(f"agent-{name}" for name in agent_names()),
    "referee",
    "executor",
    "scoreboard",
    "untouched",
    "dashboard",
)
"""Services of docker-compose.yml under its default profile."""
OPTIONAL = {
    "collector-kubeconfig": "collector",
    "executor-kubeconfig": "executor",
    "exerciser": "exerciser",
    "tracing": "tracing",
}
"""Services of other profiles and the job each is; looked up by name, so an absent one is no target."""
HEAD = """\
# Written by `python -m deploy.grafana.make_prometheus`: scrapes every container of docker-compose.yml
# under the name of its process.
"""


def scraping(
    targets: Mapping[str, str],
    *,
    looked_up: Mapping[str, str] | None = None,
    seconds: float = SCRAPE_SECONDS,
) -> dict[str, Any]:
    """Return a Prometheus configuration.

    Args:
        targets: host:port of each process by its name.
        looked_up: names that DNS may know, with the process' name; on `PORT`.
        seconds: between two scrapes.
    """
    fixed = [{"targets": [where], "labels": {"job": name}} for name, where in targets.items()]
    jobs: list[dict[str, Any]] = [{"job_name": "foresail", "static_configs": fixed}]
    for host, name in (looked_up or {}).items():
        found = [{"names": [host], "type": "A", "port": PORT, "refresh_interval": "15s"}]
        renamed = [{"target_label": "job", "replacement": name}]
        jobs.append({"job_name": host, "dns_sd_configs": found, "relabel_configs": renamed})
    every = {"scrape_interval": f"{round(seconds * 1000)}ms"}
    return {"global": every, "scrape_configs": jobs}


def local_scraping(stack_file: Path, seconds: float = SCRAPE_SECONDS) -> dict[str, Any]:
    """Return the configuration for a stack on this machine from its `stack.json`.

    Raises:
        OSError: there is no such file.
    """
    health: dict[str, int] = json.loads(stack_file.read_bytes())["health"]
    targets = {name: f"127.0.0.1:{port}" for name, port in sorted(health.items())}
    return scraping(targets, seconds=seconds)


def text() -> str:
    """Return the content of deploy/grafana/prometheus.yml."""
    targets = {name: f"{name}:{PORT}" for name in CONTAINERS}
    config = {"rule_files": [ALERTS.name], **scraping(targets, looked_up=OPTIONAL)}
    return HEAD + as_yaml(config)


def as_yaml(config: Mapping[str, Any]) -> str:
    """Return a configuration as Prometheus reads it."""
    return yaml.safe_dump(dict(config), sort_keys=False)


def main(arguments: list[str]) -> int:
    """Write the file for containers, or print the one for a running stack."""
    parser = argparse.ArgumentParser(prog="python -m deploy.grafana.make_prometheus")
    parser.add_argument("--state", type=Path, metavar="FOLDER", help="the stack's state folder")
    given = parser.parse_args(arguments)
    if given.state is None:
        CONFIG.write_text(text(), encoding="utf-8")
        return 0
    try:
        config = local_scraping(given.state / "stack.json")
    except (OSError, ValueError, KeyError):
        sys.stderr.write(
            f"error: --state = '{given.state}': no stack runs there; start one with `foresail up`\n"
        )
        return 2
    sys.stdout.write(as_yaml(config))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
