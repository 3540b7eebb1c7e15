"""A maintained manifest linter (checkov) finds nothing in an installation that docs/install.md does not explain."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from deploy.manifests.overlays import OVERLAYS
from tests.install.renderers import DEPLOY, ROOT, run
from twin.tests.kubectl.conftest import packaged_kubectl

pytestmark = pytest.mark.slow
EXPLAINED = re.compile(r"^\| (CKV\w+) \|", re.MULTILINE)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_finding_is_explained(overlay: str, tmp_path: Path) -> None:
    """Hundreds of checks pass; those that do not stand in the page with their reason."""
    checkov = shutil.which("checkov")
    if checkov is None:
        pytest.skip("no checkov on PATH: uv tool install checkov")
    rendered = run(packaged_kubectl(), "kustomize", DEPLOY / "kustomize" / "overlays" / overlay)
    file = tmp_path / "rendered.yaml"
    file.write_text(rendered.stdout, encoding="utf-8")
    flags = ("--framework", "kubernetes", "--quiet", "--skip-download", "--output", "json")
    found = json.loads(run(checkov, "--file", file, *flags).stdout)
    failed = {one["check_id"] for one in found["results"]["failed_checks"]}
    explained = set(EXPLAINED.findall((ROOT / "docs" / "install.md").read_text(encoding="utf-8")))
    assert failed - explained == set()
    assert found["summary"]["passed"] > 500
