"""Two recordings beside each other: the page says what `foresail diff --clusters` says, and what is missing."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from pathlib import Path

import httpx
import pytest

from foresail.__main__ import main
from foresail.compare_answer import CompareAnswer
from foresail.experiment.arm_recordings import named_recording
from foresail.shown_log import ShownFile
from lab.experiments.results import TrialResult
from lab.live.recorded import axis_of, pair_runs, read_run, stepped
from services.dashboard.app import make_app
from tests.dashboard.test_file_view import RECORDING
from tests.dashboard.test_past import asking, reading

OTHER = RECORDING.with_name("v1.fslog")


async def test_a_recording_beside_itself_differs_in_nothing() -> None:
    """Every lane, every row and every decision is the same; no card calls either better."""
    answer = CompareAnswer(ShownFile(RECORDING), str(RECORDING))
    async with reading() as hub:
        app = make_app(hub, compare=answer)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            told = (await http.get("/api/compare")).json()
    clusters = told["clusters"]

    assert told["same"]
    assert clusters["by_cluster_time"]
    assert clusters["names"] == ["A", "B"]
    for lane in (*clusters["lanes"], *clusters["rows"]):
        assert lane["values"][0] == lane["values"][1]
        assert len(lane["values"][0]) == len(clusters["at"])
    assert any(value is not None for value in clusters["lanes"][3]["values"][0])
    assert {card["verdict"] for card in clusters["scorecards"]} <= {"matched", "not shown"}
    assert (await answer(None, 0)) == told


async def test_without_another_recording_the_page_says_how_to_give_one() -> None:
    """With the command; that there is none is no error."""
    async with reading() as hub, asking(hub) as http:
        answer = await http.get("/api/compare")

    assert "foresail dashboard A --compare B" in answer.json()["nothing"]


def test_recordings_of_other_times_each_begin_at_nothing() -> None:
    """Moved by a day, the second is held beside the first from its own beginning."""
    first, second = read_run(RECORDING, "first"), read_run(RECORDING, "second")
    for points in (second.risk, second.reward):
        points[:] = [(at + 86_400.0, value) for at, value in points]
    moved = [
        type(one)(one.at_seconds + 86_400.0, one.figures, one.money)
        for one in second.history.samples
    ]
    second.history = type(second.history)("second", tuple(moved), ())
    pair = pair_runs(first, second)
    axis = axis_of(pair)
    lanes = [
        stepped(run.lane("watts"), offset, axis)
        for run, offset in zip(pair.runs, pair.offsets, strict=True)
    ]

    assert not pair.by_cluster_time
    assert pair.offsets[1] - pair.offsets[0] == 86_400.0
    assert lanes[0] == lanes[1]
    assert None not in lanes[0]


def test_the_command_says_both_and_who_did_what(capsys: pytest.CaptureFixture[str]) -> None:
    """Sentences, the difference rows and the cards behind what `diff` says anyway."""
    main(["diff", str(OTHER), str(RECORDING), "--clusters"])
    said = capsys.readouterr().out

    assert "cycles that both decided" in said or "No cycle is decided in both" in said
    assert "nobody is called better" in said
    assert "pods pending" in said
    assert "highest pressure" in said


def test_an_arm_is_found_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of an experiment's results: by workload and arm, or by the arm alone where that is enough."""
    (tmp_path / "trials").mkdir()
    (tmp_path / "recordings").mkdir()
    for number, (workload, arm) in enumerate(
        (("shop", "ours"), ("shop", "none"), ("mail", "none"))
    ):
        result = TrialResult(
            fingerprint=f"f{number}", workload=workload, arm=arm, seed=1, metrics={}
        )
        (tmp_path / "trials" / f"f{number}.json").write_text(result.model_dump_json())
        shutil.copy(RECORDING, tmp_path / "recordings" / f"f{number}.fslog")

    assert named_recording(f"{tmp_path}:ours", "FILE").name == "shop/ours, seed 1"
    assert named_recording(f"{tmp_path}:mail/none", "FILE").path.name == "f2.fslog"
    for word, remedy in (
        (f"{tmp_path}:none", "several fit, name one of mail/none, seed 1, shop/none, seed 1"),
        (f"{tmp_path}:theirs", "it has kept"),
        (str(tmp_path), "name an arm of it"),
        ("nowhere.fslog", "give a recording, or FOLDER:ARM"),
    ):
        assert main(["dashboard", str(RECORDING), "--compare", word]) == 2
        assert f"--compare = {word}: {remedy}" in capsys.readouterr().err


def test_a_cut_holds_the_comparison(tmp_path: Path) -> None:
    """An exported file answers it without a server."""
    file = tmp_path / "cut.html"
    words = ["dashboard", str(RECORDING), "--compare", str(RECORDING), "--export", str(file)]
    assert main([*words, "--cycles", "4-5"]) == 0
    packed = re.search(r'id="cut">([^<]+)<', file.read_text())
    assert packed is not None
    cut = json.loads(gzip.decompress(base64.b64decode(packed[1])))

    assert cut["answers"]["/api/compare"]["same"]
