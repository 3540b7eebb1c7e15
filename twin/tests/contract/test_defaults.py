"""What clients get back for what they write: defaults, canonical amounts, columns, and refusals of what cannot be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from twin.tests.contract.faces import MERGE, STRATEGIC, Face, Place, pod
from twin.tests.contract.object_rows import COLUMNS, DEFAULTS, LISTED, ROWS, columns_of, made_of

MADE: dict[str, Any] = json.loads(DEFAULTS.read_text(encoding="utf-8"))
SHOWN: dict[str, Any] = json.loads(COLUMNS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0].rpartition('/')[2]} {row[1]}")
def test_objects_are_completed(place: Place, row: tuple[str, str, dict[str, Any]]) -> None:
    """An object that is created has the defaults, and only those, that a real server fills in."""
    path, name, _ = row
    answer = made_of(place.face, place.namespace, row)
    _remove(place, path, name)
    assert answer == MADE[f"{path} {name}"]


def _remove(place: Place, path: str, name: str) -> None:
    """Take away what no namespace takes with it."""
    if "namespaces" not in path:
        made = name.replace("{}", place.namespace)
        assert place.face.ask("DELETE", f"{path}/{made}").status == 200


@pytest.mark.parametrize("path", LISTED, ids=lambda path: path.rpartition("/")[2])
def test_tables_have_the_columns_of_a_real_server(face: Face, path: str) -> None:
    """`kubectl get` shows the columns that it shows of a real server, in their order."""
    assert columns_of(face, "default", path) == SHOWN[path]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("1000m", "1"), ("0.5", "500m"), (2, "2"), ("1.5Gi", "1536Mi"), ("1024Mi", "1Gi"), ("0.5Ki", "512"),
        ("1000", "1k"), ("1e3", "1e3"), ("100e1", "1e3"), ("1.1Ki", "1126400m"), ("0", "0"),
        ("1500000", "1500k"), ("1Ei", "1Ei"), ("2048Ti", "2Pi"), ("12E", "12E"), ("0.0015", "2m"),
    ],
)  # fmt: skip
def test_amounts_are_canonical(place: Place, given: Any, shown: str) -> None:
    """An amount is written back in the largest unit that needs no fraction."""
    name = f"q{abs(hash(str(given)))}"
    body = {"metadata": {"name": name}, "spec": {"hard": {"requests.storage": given}}}
    made = place.make("resourcequotas", body)
    assert made["spec"]["hard"]["requests.storage"] == shown


@pytest.mark.parametrize("given", ["1 Gi", "", "1GiB", "one"])
def test_what_is_no_amount_is_refused(place: Place, given: str) -> None:
    """A text that is no quantity is 400, since the object cannot be read."""
    body = {"metadata": {"name": "q"}, "spec": {"hard": {"cpu": given}}}
    answer = place.ask("POST", "resourcequotas", body=body)
    assert (answer.status, answer.reason) == (400, "BadRequest")
    assert "quantities must match the regular expression" in answer.body["message"]


WRONG = [
    (
        {"volumeMounts": [{"name": "nope", "mountPath": "/x"}]},
        "spec.containers[0].volumeMounts[0].name",
        'Not found: "nope"',
        "FieldValueNotFound",
    ),
    (
        {"volumeMounts": [{"name": "v", "mountPath": "/x"}, {"name": "v", "mountPath": "/x"}]},
        "spec.containers[0].volumeMounts[1].mountPath",
        'Invalid value: "/x": must be unique',
        "FieldValueInvalid",
    ),
    (
        {"volumeMounts": [{"name": "v"}]},
        "spec.containers[0].volumeMounts[0].mountPath",
        "Required value",
        "FieldValueRequired",
    ),
]


@pytest.mark.parametrize(("part", "field", "message", "reason"), WRONG, ids=str)
def test_mounts_need_volumes(
    place: Place, part: dict[str, Any], field: str, message: str, reason: str
) -> None:
    """A mount of a volume that the pod does not have is 422 with its field."""
    body = pod("p", volumes=[{"name": "v", "emptyDir": {}}])
    body["spec"]["containers"][0] |= part
    answer = place.ask("POST", "pods", body=body)
    assert answer.status == 422, answer.text
    causes = answer.body["details"]["causes"]
    assert causes == [{"reason": reason, "message": message, "field": field}]


@pytest.mark.parametrize("kind", [STRATEGIC, MERGE])
def test_conditions_of_others_stay(place: Place, kind: str) -> None:
    """Conditions that clients write into the status of a pod and of a node are kept there."""
    place.make("pods", pod("p"))
    name = f"node-{place.namespace}"
    face = place.face
    assert face.ask("POST", "/api/v1/nodes", body={"metadata": {"name": name}}).status == 201
    mine = {"type": "example.com/Mine", "status": "True", "reason": "Because", "message": "so"}
    for path in (place.path("pods", "p"), f"/api/v1/nodes/{name}"):
        body = {"status": {"conditions": [mine]}}
        assert face.ask("PATCH", f"{path}/status", body=body, content_type=kind).status == 200
        shown = face.ask("GET", path).body["status"]["conditions"]
        (kept,) = [one for one in shown if one["type"] == mine["type"]]
        assert {**kept, **mine} == kept
    assert face.ask("DELETE", f"/api/v1/nodes/{name}").status == 200
