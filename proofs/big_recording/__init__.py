"""`verify` and `diff` of a recording of two million events: right to its end, in bounded memory.

The recording is a run on virtual time with every layer in it, so that `verify` has something to
compute. Each verb is a process of its own, on the whole and on its first tenth; a copy with one late
decision changed is what `diff` must find. The result of every finished step is stored in the
recording's folder, so an interrupted proof can be resumed there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from proofs.big_recording.altered import last_decision, write_altered
from proofs.row import Row

PART = "big_recording"
EVENTS_A_CYCLE = 20.8
"""On three nodes without exerciser; with those of the untouched world."""
MOST_GROWTH = 1.5
"""Peak memory on the whole over that on its first tenth."""
REPOSITORY = Path(__file__).parents[2]
MEBIBYTE = 1024**2


@dataclass(frozen=True, slots=True)
class FinishedCommand:
    """One command that ended."""

    code: int
    seconds: float
    """Wall."""
    cpu_seconds: float
    peak_bytes: int
    answer: dict[str, Any]
    """What it printed with `--json`; empty where nothing."""

    def __str__(self) -> str:
        """Return its figures."""
        memory = f"{self.peak_bytes / MEBIBYTE:.0f} MiB"
        return f"{self.seconds:.0f} s, {self.cpu_seconds:.0f} s of processor, peak {memory}"


def prove_recording(folder: Path, events: int, recording: Path | None, seed: int) -> Iterator[Row]:
    """Record about so many events, or take `recording`; yield a row for each verb."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = recording or _record(folder, events, seed)
    part, copy = folder / "tenth.fslog", folder / "altered.fslog"
    cycle, cycles = _prepare_copy(folder, whole, copy)
    if not part.exists():
        last = str(max(1, cycles // 10))
        _step(folder, "cut", "recording", "cut", str(whole), str(part), "--cycle", f"1..{last}")
    small = _step(folder, "verify-tenth", "verify", str(part), "--json")
    large = _step(folder, "verify", "verify", str(whole), "--json")
    yield verify_row(large, small)
    small = _step(folder, "diff-tenth", "diff", str(part), str(part), "--json")
    large = _step(folder, "diff", "diff", str(whole), str(copy), "--json")
    yield diff_row(large, small, cycle)


def verify_row(whole: FinishedCommand, part: FinishedCommand) -> Row:
    """Every compared event is equal, and memory does not grow with the length."""
    layers = whole.answer.get("layers", {}).values()
    compared = whole.answer.get("compared", 0)
    equal = sum(layer["equal"] for layer in layers) if whole.code == 0 else 0
    grown = whole.peak_bytes / max(1, part.peak_bytes)
    what = f"verify of {whole.answer.get('messages', 0):,} events: those compared are equal"
    detail = f"{whole}; {grown:.2f} times that of the first tenth"
    return Row(PART, what, compared, equal if grown <= MOST_GROWTH else 0, detail)


def diff_row(whole: FinishedCommand, part: FinishedCommand, cycle: int) -> Row:
    """One difference is found, in the cycle that was changed, and memory does not grow."""
    answer = whole.answer
    differing = [difference["cycle"] for difference in answer.get("differing", ())]
    decided = sum(answer.get("decisions", {}).values())
    right = whole.code == 1 and differing == [cycle] and answer["decisions"]["same"] == decided - 1
    grown = whole.peak_bytes / max(1, part.peak_bytes)
    sizes = " and ".join(f"{side['messages']:,}" for side in answer.get("sides", ()))
    what = f"diff of {sizes} events: decisions judged right"
    detail = f"{whole}; {grown:.2f} times that of the first tenth; differs: cycles {differing[:3]}"
    return Row(PART, what, decided, decided if right and grown <= MOST_GROWTH else 0, detail)


def _record(folder: Path, events: int, seed: int) -> Path:
    path = folder / f"run-{events}-{seed}.fslog"
    if not path.exists():
        unfinished = folder / f"unfinished-{time.time_ns()}.fslog"
        flags = ["--virtual-time", "--for", f"{events / EVENTS_A_CYCLE:.0f}s", "--nodes", "3"]
        flags += ["--interval", "1s", "--seed", str(seed), "--json", "--record", str(unfinished)]
        _step(folder, "record", "up", *flags)
        unfinished.rename(path)
    return path


def _prepare_copy(folder: Path, whole: Path, copy: Path) -> tuple[int, int]:
    """Write the altered copy; return its altered cycle and how many cycles there are about."""
    note = folder / "altered.json"
    if not note.exists():
        copy.unlink(missing_ok=True)
        cycle = write_altered(whole, copy, last_decision(whole))
        note.write_text(json.dumps({"cycle": cycle}), encoding="utf-8")
    cycle = json.loads(note.read_bytes())["cycle"]
    return cycle, cycle


def _step(folder: Path, name: str, *words: str) -> FinishedCommand:
    """Run one verb in a process of its own, or return what it came to before."""
    stored_result = folder / f"step-{name}.json"
    if stored_result.exists():
        return FinishedCommand(**json.loads(stored_result.read_bytes()))
    done = _run_verb(folder, name, words)
    if done.code not in {0, 1}:
        stderr = (folder / f"{name}.err").read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"foresail {words[0]} ended with {done.code}: {stderr[-300:]}")
    stored_result.write_text(json.dumps(asdict(done)), encoding="utf-8")
    return done


def _run_verb(folder: Path, name: str, words: Sequence[str]) -> FinishedCommand:
    began = time.monotonic()
    printed = folder / f"{name}.out"
    with printed.open("wb") as out, (folder / f"{name}.err").open("wb") as err:
        child = subprocess.Popen(
            [sys.executable, "-m", "foresail", *words],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    text = printed.read_text(encoding="utf-8")
    return FinishedCommand(
        child.returncode,
        round(time.monotonic() - began, 1),
        round(usage.ru_utime + usage.ru_stime, 1),
        usage.ru_maxrss * 1024,
        json.loads(text) if text.startswith("{") and words[0] in {"verify", "diff"} else {},
    )
