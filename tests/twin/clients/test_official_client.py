"""The two newest major versions of the official client work on the embedded cluster unchanged."""

from __future__ import annotations

import pytest

from tests.twin.clients.conftest import Run

INSTALLED = ""
BEFORE = "kubernetes==36.0.3"


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.timeout(300)  # a first run installs the client
@pytest.mark.parametrize("package", [INSTALLED, BEFORE])
def test_the_official_client_works(run_program: Run, package: str) -> None:
    """Every served kind decodes into its models; watches, paging, scale, eviction, conflicts, apply
    and its dynamic client do what they do on a real server.
    """
    seen = run_program("official_program.py", package)
    assert seen["version"].startswith("36." if package else "37.")
    assert seen["server"].endswith("+foresail")
    assert seen["kinds"] == 10
    assert seen["rollout"]["ready"] == seen["rollout"]["scale"] == 3
    assert "ADDED" in seen["rollout"]["events"]
    assert seen["decoded"]["list_node"] == 8
    assert seen["decoded"]["list_pod_for_all_namespaces"] > 3
    assert seen["conflict"] == 409
    assert seen["evicted"] == [0, 0, 429]
    assert seen["paged"] is True
    expected = {"applied": "1", "patched": {"a": "1", "b": "2"}, "events": ["ADDED"], "gone": 404}
    assert seen["dynamic"] == expected
    assert seen["metrics"] == 8
    assert seen["cordoned"] is True
