"""A real Prometheus on loopback that scrapes the given targets and answers queries."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from bus.ports import free_port
from deploy.grafana.make_prometheus import as_yaml

READY_SECONDS = 900.0
STOP_SECONDS = 900.0
ASK_SECONDS = 900.0
POLL_SECONDS = 0.1
MISSING = "there is no `prometheus`: apt-get install --no-install-recommends prometheus"


class PrometheusFailed(Exception):
    """It did not start, or did not take a query."""


@dataclass(frozen=True, slots=True)
class Series:
    """One series of an answer."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class Prometheus:
    """One that runs."""

    url: str

    def ask(self, expression: str) -> list[Series]:
        """Return the current value of an expression.

        Raises:
            PrometheusFailed: the expression is not valid, or there was no answer.
        """
        query = urlencode({"query": expression})
        try:
            with urlopen(f"{self.url}/api/v1/query?{query}", timeout=ASK_SECONDS) as answer:
                results: Any = json.load(answer)["data"]["result"]
        except (OSError, ValueError) as error:
            raise PrometheusFailed(f"{expression}: {error}") from error
        return [Series(result["metric"], float(result["value"][1])) for result in results]

    @property
    def ready(self) -> bool:
        """Whether it takes queries."""
        try:
            with urlopen(f"{self.url}/-/ready", timeout=ASK_SECONDS) as answer:
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False


def find_prometheus() -> str | None:
    """Return where Prometheus is installed, if it is."""
    return shutil.which("prometheus")


def config_objection(config: Mapping[str, Any], folder: Path) -> str:
    """Return what `promtool` says against a configuration; empty when it is valid.

    Raises:
        PrometheusFailed: there is no promtool.
    """
    promtool = shutil.which("promtool")
    if promtool is None:
        raise PrometheusFailed(MISSING)
    file = folder / "checked.yml"
    file.write_text(as_yaml(config), encoding="utf-8")
    done = subprocess.run(
        [promtool, "check", "config", str(file)], capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()


@asynccontextmanager
async def running_prometheus(
    config: Mapping[str, Any], folder: Path, options: Sequence[str] = ()
) -> AsyncIterator[Prometheus]:
    """Run Prometheus with a configuration and further `options` until the block ends; its files go to `folder`.

    Raises:
        PrometheusFailed: it is not installed, or was not ready within a minute.
    """
    program = find_prometheus()
    if program is None:
        raise PrometheusFailed(MISSING)
    (folder / "prometheus.yml").write_text(as_yaml(config), encoding="utf-8")
    address = f"127.0.0.1:{free_port()}"
    log = (folder / "prometheus.log").open("wb")
    process = await asyncio.create_subprocess_exec(
        program,
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--log.level=warn",
        *options,
        stdout=log,
        stderr=log,
    )
    try:
        running = Prometheus(f"http://{address}")
        await _until_ready(running, process, folder / "prometheus.log")
        yield running
    finally:
        await _stop(process)
        log.close()


async def _until_ready(running: Prometheus, process: asyncio.subprocess.Process, log: Path) -> None:
    try:
        async with asyncio.timeout(READY_SECONDS):
            while not await asyncio.to_thread(lambda: running.ready):
                if process.returncode is not None:
                    raise PrometheusFailed(_last_line(log))
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError as error:
        raise PrometheusFailed(f"not ready within {READY_SECONDS:g} s") from error


def _last_line(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace").strip()[-300:]


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
