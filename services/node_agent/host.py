"""The machine's files: what is read of them, the two kinds that are written, and the file of what has been changed.

Nothing is created in the kernel's trees, and nothing is written but `scaling_max_freq` of a policy and `cpu.max` of the
one cgroup that the settings name; below that cgroup, where the kubelet rules, only names are read.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

from bus.errors import AnotherProcess, ConfigError
from schemas.node_annotations import NodeLimit
from services.node_agent.kept import Kept, read_kept
from services.node_agent.machine import (
    KUBEPODS,
    CpuGroup,
    Machine,
    Policy,
    limit_of,
    parse_group,
)
from services.node_agent.settings import NodeAgentSettings
from services.node_agent.steps import Write

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
KEPT, DAMAGED, LOCK = "kept.json", "kept.damaged", "lock"


class Host:
    """The files of one machine; a context manager, in which no other agent starts."""

    def __init__(self, settings: NodeAgentSettings) -> None:
        """Read and write below the folders that the settings name.

        Raises:
            ConfigError: a folder is not there, or nothing can be kept.
        """
        self._cpu = Path(settings.cpu_folder)
        self._cgroup = Path(settings.cgroup_folder) if settings.cgroup_folder else None
        self._state = Path(settings.state_folder)
        self._lock: int | None = None
        if not self._cpu.is_dir():
            raise ConfigError(
                "cpu_folder", self._cpu, "give the folder where the kernel shows its CPUs"
            )
        try:
            self._state.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                "state_folder", self._state, f"give one that can be written ({error.strerror})"
            ) from error

    def __enter__(self) -> Self:
        """Keep other agents off.

        Raises:
            AnotherProcess: one lives.
            ConfigError: nothing can be written there.
        """
        try:
            self._lock = os.open(self._state / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AnotherProcess(f"another agent holds {self._state / LOCK}") from error
        except OSError as error:
            raise ConfigError(
                "state_folder", self._state, f"give one that can be written ({error.strerror})"
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        """Let others in."""
        if self._lock is not None:
            os.close(self._lock)

    def read_machine(self) -> Machine:
        """Return the machine as it is."""
        group, why = self._read_group()
        return Machine(boot=_boot(), policies=self._read_policies(), group=group, why_no_group=why)

    def write(self, writes: Iterable[Write]) -> dict[str, str]:
        """Write knobs; return what the kernel said of each that it did not take."""
        failed = {}
        for write in writes:
            try:
                _put(self._path(write.knob), write.text)
            except OSError as error:
                failed[write.knob] = f"{write.knob} = {write.text}: {error.strerror or error}"
        return failed

    def read_kept(self) -> tuple[Kept | None, str]:
        """Return what an earlier agent has changed; and why it cannot be read, if so: it is then set aside."""
        path = self._state / KEPT
        try:
            return read_kept(path.read_bytes()), ""
        except FileNotFoundError:
            return None, ""
        except (OSError, ValueError) as error:
            with suppress(OSError):
                path.replace(self._state / DAMAGED)
            return None, f"{path}: {error}"

    def save_kept(self, kept: Kept) -> None:
        """Store what has been changed, so that it is there after a crash of the machine, too.

        Raises:
            OSError: it cannot be stored.
        """
        path, draft = self._state / KEPT, self._state / f"{KEPT}.draft"
        with draft.open("wb") as file:
            file.write(kept.model_dump_json().encode())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        folder = os.open(self._state, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _path(self, knob: str) -> Path:
        if limit_of(knob) is NodeLimit.CLOCK_SCALE:
            return self._cpu / knob
        assert self._cgroup is not None  # a CPU cap is wished for only where there is one
        return self._cgroup / "cpu.max"

    def _read_policies(self) -> tuple[Policy, ...]:
        found = []
        for folder in sorted((self._cpu / "cpufreq").glob("policy[0-9]*"), key=_policy_number):
            with suppress(OSError, ValueError):  # a CPU that goes while we look
                found.append(
                    Policy(
                        name=folder.name,
                        least_khz=int((folder / "cpuinfo_min_freq").read_text()),
                        most_khz=int((folder / "cpuinfo_max_freq").read_text()),
                        limit_khz=int((folder / "scaling_max_freq").read_text()),
                    )
                )
        return tuple(found)

    def _read_group(self) -> tuple[CpuGroup | None, str]:
        folder = self._cgroup
        if folder is None:
            return None, "no cgroup above the kubelet's is named (cgroup_folder)"
        if not folder.is_dir():
            return (
                None,
                f"{folder} is not there; make it before the kubelet starts with it as its cgroupRoot",
            )
        if not (folder / "cgroup.controllers").is_file():
            return None, f"{folder} is no cgroup v2"
        below = [one.name for one in sorted(folder.iterdir()) if one.is_dir()]
        if not any(KUBEPODS.fullmatch(name) for name in below):
            return (
                None,
                f"the kubelet's kubepods is not below {folder}; start it with that as its cgroupRoot",
            )
        if KUBEPODS.fullmatch(folder.name):
            return None, f"{folder} is the kubelet's own; name the one above it"
        try:
            return parse_group((folder / "cpu.max").read_text()), ""
        except FileNotFoundError:
            return (
                None,
                f"{folder} has no CPU controller; enable it in cgroup.subtree_control above",
            )
        except (OSError, ValueError) as error:
            return None, f"{folder}/cpu.max cannot be read: {error}"


def _policy_number(folder: Path) -> int:
    digits = folder.name.removeprefix("policy")
    return int(digits) if digits.isdecimal() else -1


def _boot() -> str:
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _put(path: Path, text: str) -> None:
    """Write a file of the kernel that is there already; the kernel takes a value in one write."""
    file = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)
