"""What other settings would have decided, asked by the page of a recording."""

from __future__ import annotations

import json

import httpx
import pytest

from foresail.__main__ import main
from foresail.shown_log import ShownFile
from foresail.what_if_answers import WhatIfAnswers
from services.dashboard.app import make_app
from tests.dashboard.test_file_view import RECORDING
from tests.dashboard.test_past import asking, reading


async def test_it_says_what_the_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    """The same figures and differing decisions; asked again it is not computed again."""
    words = ["agents.safety.throttle_risk=0.65"]
    main(["what-if", str(RECORDING), "--set", words[0], "--json"])
    said = json.loads(capsys.readouterr().out)
    answers = WhatIfAnswers(ShownFile(RECORDING))
    answer = await answers(words, 0)

    assert {name: said[name] for name in ("figures", "decisions", "differing")} == {
        name: answer[name] for name in ("figures", "decisions", "differing")
    }
    assert said["decisions"]["same"] < sum(said["decisions"].values())
    assert await answers(["agents.safety.throttle_risk_ratio=0.65"], 0) is answer


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("agents.safety.throttle_risk", "write it as"),
        ("agents.safety.throtle=0.6", "use one of"),
        ("agents.risk_model=/etc/passwd", "this page changes numbers"),
        ("executor.mode=active", "this page changes numbers"),
        ("agents.safety.throttle_risk=0.99", "throttle_risk_ratio"),
        ("", "write it as"),
    ],
)
async def test_what_cannot_be_changed_here_is_one_line(change: str, complaint: str) -> None:
    """Nothing that names a file is taken from a page, and what the command refuses is refused with its words."""
    async with reading() as hub:
        app = make_app(hub, WhatIfAnswers(ShownFile(RECORDING)))
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            answer = await http.get("/api/what-if", params={"set": change})

    assert (400, True) == (answer.status_code, complaint in answer.json()["error"])


async def test_a_running_stack_computes_nothing() -> None:
    """There it is said how to get an answer."""
    async with reading() as hub, asking(hub) as http:
        answer = await http.get("/api/what-if?set=agents.safety.throttle=0.6")

    assert 404 == answer.status_code
    assert "foresail dashboard FILE" in answer.json()["error"]
