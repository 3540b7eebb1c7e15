"""The standard workload format (SWF) of the Parallel Workloads Archive, version 2: 18 numbers a line.

Used: submit time, run time, processors (the larger of allocated and requested), requested time as the estimate (the run
time where it is -1, as for models), status (0 and 5: failed or cancelled). A line without a run time or processors
is left out. The machine is what the header says: MaxProcs, else MaxNodes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from inputs.errors import InputError
from lab.learning.jobs import JobStream, Outcome, ordered_stream
from lab.learning.workloads.lublin import lublin_quota, rigid_job

FIELDS = 18
_HEADER = re.compile(r";\s*(MaxProcs|MaxNodes):\s*(\d+)")
_FAILED = frozenset({"0", "5"})
MOST_BYTES = 500_000_000


def read_swf(path: Path) -> JobStream:
    """Read all jobs of a file.

    Raises:
        InputError: there is no such file, it is too large, a line has not 18 numbers, no job is left, or the header
            does not say how large the machine is.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError("SWF file", path, f"give one of at most {MOST_BYTES} bytes")
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise InputError("SWF file", path, f"give a readable file ({error.strerror})") from None
    header = {
        found[1]: int(found[2]) for line in lines if (found := _HEADER.match(line)) is not None
    }
    machine = header.get("MaxProcs", 0) or header.get("MaxNodes", 0)
    if machine < 1:
        raise InputError("SWF file", path, "its header has neither MaxProcs nor MaxNodes; add one")
    jobs = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith(";"):
            continue
        values = _numbers(text, path, number)
        processors, seconds = int(max(values[4], values[7])), values[3]
        if processors < 1 or seconds <= 0:
            continue
        estimate = values[8] if values[8] > 0 else seconds
        job = rigid_job(
            f"swf-{int(values[0])}", values[1], min(processors, machine), seconds, estimate
        )
        failed = text.split()[10] in _FAILED
        jobs.append(replace(job, outcome=Outcome.FAILED) if failed else job)
    if not jobs:
        raise InputError(
            "SWF file", path, "no line has a run time and processors; give another file"
        )
    return ordered_stream(path.stem, jobs, lublin_quota(machine))


def _numbers(text: str, path: Path, number: int) -> list[float]:
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    if len(values) != FIELDS:
        raise InputError(f"{path}, line {number}", text[:80], f"give {FIELDS} numbers")
    return values
