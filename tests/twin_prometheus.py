"""A twin in a process of its own, and a real Prometheus that scrapes it as docs/twin/metrics.md says."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from proofs.observability.prometheus import (
    MISSING,
    Prometheus,
    find_prometheus,
    running_prometheus,
)

__all__ = ["MISSING", "find_prometheus", "scraped_twin"]


@asynccontextmanager
async def scraped_twin(
    folder: Path, *options: str
) -> AsyncIterator[tuple[dict[str, str], Prometheus]]:
    """Run `python -m twin` with these options, and a Prometheus that scrapes it every second.

    Yields what the twin said when it was ready, and whom to ask.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "twin", *options, "--kubeconfig-dir", str(folder)),
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        said = json.loads(await process.stdout.readline())
        async with running_prometheus(scrape_config(said, folder), folder) as prometheus:
            yield said, prometheus
    finally:
        process.terminate()
        await process.wait()


def scrape_config(said: dict[str, str], folder: Path) -> dict[str, Any]:
    """Return the configuration of the Prometheus, whose certificate authority goes to a file."""
    login = yaml.safe_load(Path(said["admin_kubeconfig"]).read_text("utf-8"))
    server, user = login["clusters"][0]["cluster"], login["users"][0]["user"]
    authority = folder / "authority.pem"
    authority.write_bytes(base64.b64decode(server["certificate-authority-data"]))
    job = {
        "job_name": "twin",
        "scheme": "https",
        "honor_labels": True,
        "authorization": {"credentials": user["token"]},
        "tls_config": {"ca_file": str(authority)},
        "static_configs": [{"targets": [server["server"].removeprefix("https://")]}],
    }
    return {"global": {"scrape_interval": "1s"}, "scrape_configs": [job]}
