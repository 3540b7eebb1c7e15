"""The two newest major versions of the official client work on the embedded cluster unchanged."""

from __future__ import annotations

import pytest

from twin.tests.clients.conftest import Run

INSTALLED = ""
BEFORE = "kubernetes==36.0.3"


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.parametrize("package", [INSTALLED, BEFORE])
def test_the_official_client_works(run_program: Run, package: str) -> None:
    """Every served kind decodes into its models; watches, paging, scale, eviction, conflicts, apply
    and its dynamic client do what they do on a real server.
    """
    result = run_program("official_program.py", package)
    assert result["version"].startswith("36." if package else "37.")
    assert result["server"].endswith("+foresail")
    assert result["kinds"] == 10
    assert result["rollout"]["ready"] == result["rollout"]["scale"] == 3
    assert "ADDED" in result["rollout"]["events"]
    assert result["decoded"]["list_node"] == 8
    assert result["decoded"]["list_pod_for_all_namespaces"] > 3
    assert result["conflict"] == 409
    assert result["evicted"] == [0, 0, 429]
    assert result["paged"] is True
    expected = {"applied": "1", "patched": {"a": "1", "b": "2"}, "events": ["ADDED"], "gone": 404}
    assert result["dynamic"] == expected
    assert result["metrics"] == 8
    assert result["cordoned"] is True
