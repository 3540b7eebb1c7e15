"""A policy that does harm on purpose, in a virtual run of the whole stack: it ends in shadow by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.breaker_trips import read_trips
from benchmarks.harmful_policy import GUARDS_OFF, planted
from bus.recording import open_recording
from foresail.__main__ import main
from schemas.proposal import Proposal, UntouchedDraw
from schemas.registry import decode

HEAD = (
    "record,name,cpu_millicores,memory_bytes,time_seconds,kind,cpu_request_millicores,"
    "memory_request_bytes,replicas,duration_seconds,traffic,request_cpu_seconds,request_cv"
)
MOST_CYCLES = 30
"""Of 15 s each: executions that need new pods are verified after five minutes."""


def small_world(folder: Path) -> Path:
    """Write five machines and three Services that they bear with ease."""
    nodes = [f"node,n{number},4000,17179869184,,,,,,,,," for number in range(5)]
    traffic = "daily low=5 high=10 peak_hour=4,0.02,1"
    services = [
        f"arrival,web-{number},,,0,service,500,536870912,2,,{traffic}" for number in range(3)
    ]
    path = folder / "small.csv"
    path.write_text("\n".join([HEAD, *nodes, *services]) + "\n", encoding="utf-8")
    return path


def read_draws(recording: Path) -> list[UntouchedDraw]:
    """Return every draw of untouched targets of a recording."""
    proposals = (
        decode(message.subject, message.headers, message.data).data
        for message in open_recording(recording)
        if ".proposal." in message.subject
    )
    drawn = (one.untouched for one in proposals if isinstance(one, Proposal))
    return [draw for draw in drawn if draw is not None]


@pytest.mark.parametrize("harmful", [True, False])
def test_only_the_harmful_policy_ends_in_shadow(tmp_path: Path, harmful: bool) -> None:
    """Within the stated number of cycles, and `verify` computes every change, and every draw of untouched targets,
    again; the sound one never trips.
    """
    recording, settings = tmp_path / "run.fslog", tmp_path / "off.toml"
    settings.write_text(f"{GUARDS_OFF}[agents.value]\nuntouched_ratio = 0.4\n", encoding="utf-8")
    command = (
        f"up --virtual-time --json --interval 15 --speed 1 --profile foresail --seed 7 --for 8m --nodes 5"
        f" --workload {small_world(tmp_path)} --record {recording} --state {tmp_path / 's'} --config {settings}"
    )
    if not harmful:
        assert main(command.split()) == 0
        assert read_trips(recording)["trips"] == 0
        return
    with planted():
        assert main(command.split()) == 0
        assert main(["verify", str(recording)]) == 0
    left = {one.action.target.name for draw in read_draws(recording) for one in draw.left}
    assert 0 < len(left) < 3, "a workload or two, for the whole epoch"
    found = read_trips(recording)
    assert found["first"] in {"replicate: worse", "all: harm"}
    assert 0 < found["cycle"] <= MOST_CYCLES
