"""Planned jobs as JSON lines: `{job_id, config, output_json}`, as the predecessors' planner wrote them.

Where jobs are no back-tests, each line has the `payload`, too. A line that cannot be used is a job that ends as
invalid, so that the others run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bus.errors import InputError
from inputs.limited_files import BadFile, read_text_limited
from inputs.limited_json import BadJson, load_json
from lab.sessions.names import object_name
from lab.sessions.payloads import (
    BACKTEST,
    AnyPayload,
    known_names,
    read_payload,
    unknown_name,
)
from schemas.session import PlannedJob

FILE_BYTES = 256 * 1024**2
LINE_BYTES = 128 * 1024


def write_jobs_file(path: Path, payload: AnyPayload, jobs: Iterable[PlannedJob]) -> None:
    """Write jobs, whole or not at all.

    Raises:
        InputError: the file cannot be written.
    """
    extra = {} if payload == BACKTEST else {"payload": payload.model_dump(mode="json")}
    unfinished = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("w", encoding="utf-8") as file:
            for job in jobs:
                line = {"job_id": job.job_id, "config": job.config, "output_json": job.output_json}
                file.write(json.dumps({**line, **extra}, ensure_ascii=False) + "\n")
        unfinished.replace(path)
    except OSError as error:
        remedy = f"give a file that can be written ({error.strerror})"
        raise InputError("--output-jobs-file", path, remedy) from error


def read_jobs_file(path: Path) -> tuple[AnyPayload, tuple[PlannedJob, ...]]:
    """Return what jobs do and the jobs; those that cannot be used say why.

    Raises:
        InputError: the file cannot be read, or holds no job.
    """
    try:
        text = read_text_limited(path, FILE_BYTES)
    except OSError as error:
        remedy = f"give a file of jobs that can be read ({error.strerror})"
        raise InputError("--jobs-file", path, remedy) from error
    except BadFile as error:
        raise InputError("--jobs-file", path, str(error)) from error
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise InputError("--jobs-file", path, "it holds no job; plan some with `session plan`")
    read = [(number, *_read_line(number, line)) for number, line in lines]
    given = next((content["payload"] for _, _, content in read if "payload" in content), None)
    payload = BACKTEST if given is None else read_payload("payload", given)
    checked = [_checked(number, job, content, given, payload) for number, job, content in read]
    return payload, tuple(refuse_collisions(checked))


def refuse_collisions(jobs: Sequence[PlannedJob]) -> list[PlannedJob]:
    """Return the jobs, refused where an id, an object's name or a result's file stands twice."""
    ids: dict[str, str] = {}
    names: dict[str, str] = {}
    outputs: dict[str, str] = {}
    checked = []
    for place, job in enumerate(jobs, start=1):
        if job.refused:
            checked.append(job)
            continue
        name, output = object_name(job.job_id), str(Path(job.output_json))
        why = ""
        if job.job_id in ids:
            why = f"job_id {job.job_id} stands twice; give each job its own"
        elif name in names:
            why = f"job_id {job.job_id} and {names[name]} are one name, {name}; choose another"
        elif output in outputs:
            why = f"output_json {job.output_json} is that of {outputs[output]}, too"
        if why:
            double = f"{job.job_id} (job {place})" if job.job_id in ids else job.job_id
            checked.append(job.model_copy(update={"job_id": double, "refused": why}))
            continue
        ids[job.job_id] = names[name] = outputs[output] = job.job_id
        checked.append(job)
    return checked


def _read_line(number: int, line: str) -> tuple[PlannedJob, Mapping[str, Any]]:
    """Return a job and its whole line; a job that says why where it is none."""
    job_id, content, why = f"line-{number}", {}, ""
    try:
        content = load_json(line, most_bytes=LINE_BYTES)
    except BadJson as error:
        why = f"it is no JSON ({error})"
    if not why and not isinstance(content, dict):
        why, content = "write an object with job_id, config and output_json", {}
    if not why:
        for name, form in (("job_id", str), ("config", dict), ("output_json", str)):
            value = content.get(name)
            if not isinstance(value, form) or (form is str and not value):
                what = "an object" if form is dict else "a text"
                why = why or f"{name} = {value!r:.60}: give {what}"
    given = content.get("job_id")
    if isinstance(given, str) and given:
        job_id = given
    if why:
        return _refused(job_id, number, why), content
    made = PlannedJob(job_id=job_id, config=content["config"], output_json=content["output_json"])
    return made, content


def _checked(
    number: int,
    job: PlannedJob,
    content: Mapping[str, Any],
    payload_given: object,
    payload: AnyPayload,
) -> PlannedJob:
    if job.refused:
        return job
    extra = sorted(content.keys() - {"job_id", "config", "output_json", "payload"})
    why = f"{extra[0]}: no field of a job; leave it out" if extra else ""
    if content.get("payload") != payload_given:
        why = why or "payload: all jobs of a file do the same; give it to every line, or to none"
    why = why or unknown_name(job.config, known_names(payload))
    return job if not why else _refused(job.job_id, number, why, job)


def _refused(job_id: str, number: int, why: str, job: PlannedJob | None = None) -> PlannedJob:
    config = {} if job is None else job.config
    output = "" if job is None else job.output_json
    text = f"line {number}: {why}"
    return PlannedJob(job_id=job_id, config=config, output_json=output, refused=text)
