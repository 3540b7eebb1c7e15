"""What the server answers is what the page takes it for: its TypeScript types, as a JSON Schema, hold over recordings.

`answer_types.json` is made of web/src/lib/answers.ts by `make web`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jsonschema

from foresail.compare_answer import CompareAnswer
from foresail.shown_log import ShownFile
from foresail.what_if_answers import WhatIfAnswers
from tests.dashboard.test_file_view import RECORDING
from tests.dashboard.test_past import asking, reading

TYPES = Path(__file__).with_name("answer_types.json")


async def answers() -> AsyncIterator[tuple[str, Any]]:
    """Yield each address, and what is answered there over a recording."""
    async with reading() as hub, asking(hub) as http:
        node = (await http.get("/api/state")).json()["sections"]["node_names"][0]
        known = (await http.get("/api/workloads")).json()["workloads"]
        asked = {
            "/api/state": "/api/state",
            "/api/moment": "/api/moment?cycle=5",
            "/api/outline": "/api/outline",
            "/api/cycles/CYCLE": "/api/cycles/13",
            "/api/decisions": "/api/decisions?lost=efficiency",
            "/api/incidents": "/api/incidents",
            "/api/log": "/api/log?cycle=5",
            "/api/log/search": "/api/log/search?where=cycle == 5",
            "/api/nodes/NODE": f"/api/nodes/{node}",
            "/api/measures": "/api/measures?by=power",
            "/api/workloads": "/api/workloads",
            "/api/workloads/WORKLOAD": f"/api/workloads/{known[0]['name']}" if known else "",
            "/api/models": "/api/models",
            "/api/runs": "/api/runs",
            "/api/settings": "/api/settings",
        }
        for name, address in asked.items():
            if address:
                yield name, (await http.get(address)).json()
    yield "/api/compare", await CompareAnswer(ShownFile(RECORDING), str(RECORDING))(None, 0)
    yield (
        "/api/what-if",
        await WhatIfAnswers(ShownFile(RECORDING))(["agents.safety.throttle_risk=0.65"], 0),
    )


async def test_each_answer_has_the_pages_type() -> None:
    """Every address of the page; a field that is missing or of another kind is named."""
    schema = json.loads(TYPES.read_text(encoding="utf-8"))
    types = schema["definitions"]["Answers"]["properties"]
    found = [one async for one in answers()]
    wrong = []
    for name, answer in found:
        validator = jsonschema.Draft7Validator(
            {**types[name], "definitions": schema["definitions"]}
        )
        wrong += [
            f"{name}{error.json_path}: {error.message[:120]}"
            for error in validator.iter_errors(answer)
        ]

    assert wrong == []
    assert {name for name, _ in found} >= set(types) - {"/api/workloads/WORKLOAD"}
