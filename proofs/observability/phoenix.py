"""Arize Phoenix, a third-party trace server: it takes OTLP over HTTP, stores spans in a database
and returns them over REST.

`phoenix` on PATH is used; otherwise the pinned version is installed once into `.cache/` beside this
file, from the package index that this machine uses.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from bus.ports import free_port
from proofs.observability.expected_traces import CollectedSpan

VERSION = "20.26.1"
CACHE = Path(__file__).parent / ".cache" / f"phoenix-{VERSION}"
INSTALL_SECONDS = 900.0
READY_SECONDS = 600.0
STOP_SECONDS = 15.0
ASK_SECONDS = 30.0
PAGE = 1_000


class PhoenixFailed(Exception):
    """It could not be installed, or did not start."""


@dataclass(frozen=True)
class Phoenix:
    """One that runs."""

    url: str

    @property
    def ready(self) -> bool:
        """Whether it takes spans."""
        try:
            with urlopen(f"{self.url}/healthz", timeout=ASK_SECONDS) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def spans(self) -> list[CollectedSpan]:
        """Return every span it holds; none before the first came."""
        return list(self._spans())

    def _spans(self) -> Iterator[CollectedSpan]:
        cursor = ""
        while True:
            parameters = urlencode({"limit": PAGE, **({"cursor": cursor} if cursor else {})})
            where = f"{self.url}/v1/projects/default/spans?{parameters}"
            with urlopen(where, timeout=ASK_SECONDS) as answer:
                page: dict[str, Any] = json.load(answer)
            yield from (_span(content) for content in page["data"])
            cursor = page.get("next_cursor") or ""
            if not cursor:
                return


def _span(content: dict[str, Any]) -> CollectedSpan:
    return CollectedSpan(
        trace=content["context"]["trace_id"],
        span=content["context"]["span_id"],
        parent=content["parent_id"] or "",
        name=content["name"],
        start=content["start_time"],
        end=content["end_time"],
        attributes=content["attributes"],
    )


def phoenix_command() -> str:
    """Return Phoenix's command, installed first where it is missing.

    Raises:
        PhoenixFailed: it cannot be installed.
    """
    own_copy = CACHE / "bin" / "phoenix"
    command = shutil.which("phoenix") or (str(own_copy) if own_copy.exists() else "")
    if command:
        return command
    uv = str(Path(sys.executable).with_name("uv"))
    try:
        for words in (
            ("venv", "--quiet", "--clear", "--python", sys.executable, str(CACHE)),
            ("pip", "install", "--quiet", "--python", str(CACHE), f"arize-phoenix=={VERSION}"),
        ):
            subprocess.run(
                [uv, *words], check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS
            )
    except subprocess.CalledProcessError as error:
        shutil.rmtree(CACHE, ignore_errors=True)
        last = (error.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise PhoenixFailed(f"it cannot be installed: {last[:200]}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        shutil.rmtree(CACHE, ignore_errors=True)
        raise PhoenixFailed(f"it cannot be installed: {error}") from error
    return str(own_copy)


def _last_line(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace").strip()[-300:]


@asynccontextmanager
async def running_phoenix(folder: Path) -> AsyncIterator[Phoenix]:
    """Run Phoenix until the block ends; its database goes to `folder`.

    Raises:
        PhoenixFailed: it cannot be installed, or was not ready within ten minutes.
    """
    command = await asyncio.to_thread(phoenix_command)
    port, grpc_port = free_port(), free_port()
    log = (folder / "phoenix.log").open("wb")
    process = await asyncio.create_subprocess_exec(
        command,
        "serve",
        env={
            **os.environ,
            "PHOENIX_HOST": "127.0.0.1",
            "PHOENIX_PORT": str(port),
            "PHOENIX_GRPC_PORT": str(grpc_port),
            "PHOENIX_WORKING_DIR": str(folder),
            "PHOENIX_TELEMETRY_ENABLED": "false",
        },
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
    )
    try:
        running = Phoenix(f"http://127.0.0.1:{port}")
        async with asyncio.timeout(READY_SECONDS):
            while not await asyncio.to_thread(lambda: running.ready):
                if process.returncode is not None:
                    raise PhoenixFailed(f"it ended: {_last_line(folder / 'phoenix.log')}")
                await asyncio.sleep(0.5)
        yield running
    except TimeoutError as error:
        raise PhoenixFailed(f"not ready within {READY_SECONDS:g} s") from error
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), STOP_SECONDS)
            except TimeoutError:
                process.kill()
                await process.wait()
        log.close()
