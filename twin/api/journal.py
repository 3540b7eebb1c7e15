"""The twin's journal: what cannot be computed again from seed and workload, on disk.

The engine is deterministic, so a world is its seed, its workload, and what clients wrote and when.
Every request that changed the cluster is one line, given to the operating system before it is
answered. Time marks are written ahead of time: the engine never passes the newest mark, so a
restarted twin that continues from it never shows a time or a resourceVersion older than one that a
client has seen. A checkpoint (`checkpoint.py`) says how much of the journal it holds, so that only
the rest is re-run; the journal alone is always enough.

Guarantee: a twin killed at any moment and started again on its journal is in the state it would
have been in. What a client sent and got no answer to may be lost. A last line that a kill cut off
is ignored. A power failure may lose what the operating system had not written yet.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from inputs.errors import ConfigError, ForesailError
from twin.api.messages import JSON, Request
from twin.api.router import Router
from twin.config.access import Authorization
from twin.config.health import Weather
from twin.config.kueue import KueueConfig
from twin.config.provisioning import ProvisioningConfig
from twin.engine import Engine
from twin.faults import read_scenario
from twin.webhooks.answers import WebhookAnswers

FORMAT = 1
_MOST_HEAD_BYTES = 65_536
MARK_SECONDS = 0.5
"""Wall seconds that a time mark reaches ahead; a restart skips at most so much."""


class JournalUnwritable(ForesailError):
    """The journal cannot be written; the twin must end, since it could not keep its word."""


@dataclass(frozen=True, slots=True)
class WorldKey:
    """What a journal belongs to; replayed on anything else it would give other states."""

    seed: int
    nodes: int
    workload: str
    """Name of a fitted model, or `sha256:` and the digest of a workload file."""
    start_time_seconds: float
    scenario: str = ""
    """`sha256:` and the digest of the scenario that is played from the start; empty: none."""
    provisioning: str = ""
    """The provisioner, and the digest of its settings and machines; empty: none."""
    weather: Weather = "off"
    authorization: Authorization = "identities"
    local_image: str = ""
    """Image whose containers are processes; empty: none."""
    kueue: str = ""
    without: tuple[str, ...] = ()
    """Parts of the control plane that are left out."""
    server_objects: bool = False
    """Whether what an API server makes for itself is there; worlds of older versions have it not."""

    @classmethod
    def of(
        cls,
        seed: int,
        nodes: int,
        workload: str,
        start_time_seconds: float,
        scenario: Path | None = None,
        provisioning: ProvisioningConfig | None = None,
        weather: Weather = "off",
        authorization: Authorization = "identities",
        local_image: str = "",
        kueue: KueueConfig | None = None,
        without: tuple[str, ...] = (),
        *,
        server_objects: bool = False,
    ) -> Self:
        """Name a world; a workload that is a file, and a scenario, are named by their content.

        Raises InputError for a scenario that cannot be read.
        """
        path = Path(workload)
        if path.is_file():
            workload = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
        given = ""
        if scenario is not None:
            document = json.dumps(read_scenario(scenario).document(), sort_keys=True)
            given = f"sha256:{hashlib.sha256(document.encode()).hexdigest()}"
        rents = ""
        if provisioning is not None and provisioning.provisioner != "none":
            document = json.dumps(asdict(provisioning), sort_keys=True)
            digest = hashlib.sha256(document.encode()).hexdigest()
            rents = f"{provisioning.provisioner}:{digest}"
        queues = ""
        if kueue is not None and kueue.served:
            document = json.dumps(asdict(kueue), sort_keys=True)
            queues = f"sha256:{hashlib.sha256(document.encode()).hexdigest()}"
        return cls(
            seed,
            nodes,
            workload,
            start_time_seconds,
            given,
            rents,
            weather,
            authorization,
            local_image,
            queues,
            without,
            server_objects,
        )

    def line(self) -> dict[str, Any]:
        """Return the journal's first line."""
        return {
            "journal": FORMAT,
            "seed": self.seed,
            "nodes": self.nodes,
            "workload": self.workload,
            "start_time_seconds": self.start_time_seconds,
            **({"scenario": self.scenario} if self.scenario else {}),
            **({"provisioning": self.provisioning} if self.provisioning else {}),
            **({"weather": self.weather} if self.weather != "off" else {}),
            **({"authorization": self.authorization} if self.authorization != "identities" else {}),
            **({"local_image": self.local_image} if self.local_image else {}),
            **({"kueue": self.kueue} if self.kueue else {}),
            **({"without": list(self.without)} if self.without else {}),
            **({"server_objects": True} if self.server_objects else {}),
        }


class Journal:
    """One open journal: `replay` first, then `reserve` time and `note` writes."""

    def __init__(self, path: Path, world: WorldKey) -> None:
        """Open or begin the journal of a world.

        Raises:
            ConfigError: it cannot be written, is damaged, or belongs to another world.
        """
        self._path = path
        self._marked = 0.0
        self._size = 0
        self.failure: JournalUnwritable | None = None
        """Why the journal cannot be written any more."""
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            self._size = _whole_lines(path)
            os.ftruncate(self._file, self._size)
        except OSError as error:
            raise ConfigError(
                "--journal", path, f"choose a file that can be written ({error.strerror})"
            ) from error
        first = next(self._lines(), None)
        if first is None:
            self._append(world.line())
        elif first != world.line():
            raise ConfigError(
                "--journal",
                path,
                "it belongs to another seed, node count, workload, scenario, authorization, Kueue, way to run "
                "commands, choice of parts or objects, or start time; give those, or a new file",
            )

    @property
    def size_bytes(self) -> int:
        """How long the journal is now."""
        return self._size

    @property
    def marked(self) -> float:
        """The newest time mark: cluster time that the engine may reach."""
        return self._marked

    def replay(
        self,
        engine: Engine,
        *,
        until: float = math.inf,
        after_bytes: int = 0,
        marked: float = 0.0,
    ) -> int:
        """Bring a fresh engine to where the journal ends, or to an earlier engine time; return how
        many writes were re-run.

        An engine that a checkpoint was restored to gets what comes after the first `after_bytes`,
        in which the newest time mark was `marked`.
        """
        router, writes, marked = Router(engine), 0, max(engine.now, marked)
        for number, line in enumerate(self._lines(after_bytes), start=1):
            at = float(line.get("t", 0.0))
            if (number == 1 and not after_bytes) or at > until:
                continue
            if "m" in line:
                _advance(engine, at)
                router.handle(request_of(line))
                writes += 1
            else:  # a mark is later than the writes that follow it
                marked = max(marked, at)
        _advance(engine, marked if until == math.inf else until)
        self._marked = engine.now
        return writes

    def reserve(self, until: float, ahead_seconds: float) -> None:
        """Before the engine passes the newest mark: write one `ahead_seconds` of cluster time
        beyond `until`.

        Raises:
            JournalUnwritable: it cannot be written, now or at an earlier write.
        """
        if self.failure is not None:
            raise self.failure
        if until > self._marked:
            self._marked = until + ahead_seconds
            self._append({"t": self._marked})

    def note(self, at: float, request: Request, user: str = "admin") -> None:
        """Keep a request of `user` that changed the cluster at engine time `at`, before it is answered.

        Raises:
            JournalUnwritable: it is not kept, so it must not be answered as done.
        """
        heard = request.webhook_answers
        answers = {"w": heard.document()} if heard is not None and heard.answers else {}
        self._append(
            {
                "t": at,
                "u": user,
                "m": request.method,
                "p": request.path,
                "q": dict(request.query),
                "c": request.headers.get("content-type", JSON),
                "b": base64.b64encode(request.body).decode(),
                **answers,
            }
        )

    def sync(self) -> None:
        """Have what is written on the disk itself, before a checkpoint counts on it.

        Raises:
            JournalUnwritable: the disk refused.
        """
        try:
            os.fsync(self._file)
        except OSError as error:
            self.failure = JournalUnwritable(f"{self._path.name}: {error.strerror}")
            raise self.failure from error

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _append(self, line: dict[str, Any]) -> None:
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        try:
            written = os.write(self._file, data)
        except OSError as error:
            self.failure = JournalUnwritable(f"{self._path.name}: {error.strerror}")
            raise self.failure from error
        if written != len(data):
            self.failure = JournalUnwritable(f"{self._path.name}: no room for a whole line")
            raise self.failure
        self._size += written

    def _lines(self, after_bytes: int = 0) -> Iterator[dict[str, Any]]:
        with self._path.open("rb") as file:
            before = file.read(after_bytes).count(b"\n")
            for number, data in enumerate(file, start=before + 1):
                try:
                    line = json.loads(data)
                    if number > 1:
                        float(line["t"])
                except (ValueError, TypeError, KeyError) as error:
                    raise ConfigError(
                        "--journal", self._path, f"line {number} is damaged; give a new file"
                    ) from error
                yield line


def _advance(engine: Engine, until: float) -> None:
    """As the served twin does: never twice to the same moment, which could reorder two writes."""
    if until > engine.now:
        engine.advance(until)


def request_of(line: dict[str, Any]) -> Request:
    """Return the request that a line keeps."""
    headers = {"content-type": line["c"], "accept": JSON}
    webhook_answers = WebhookAnswers.read(line["w"]) if "w" in line else None
    body = base64.b64decode(line["b"])
    return Request(line["m"], line["p"], line["q"], headers, body, webhook_answers=webhook_answers)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a journal's first line settles for whoever continues its world."""

    start_seconds: float
    """When the cluster's time starts, seconds since the Unix epoch."""
    server_objects: bool


def recorded_world(path: Path) -> Recorded | None:
    """Return what a journal settles; None where there is no journal, or one that says nothing."""
    try:
        with path.open("rb") as file:
            head = json.loads(file.readline(_MOST_HEAD_BYTES))
        return Recorded(float(head["start_time_seconds"]), bool(head.get("server_objects")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # opening the journal says what is wrong with it


def _whole_lines(path: Path) -> int:
    """Return the size of a file in bytes without a torn last line."""
    size = 0
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                size += len(line)
    return size
