"""The wheel: built from this checkout without a network, complete, and able to start by itself."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.architecture.source_tree import PACKAGES, ROOT, tracked_files

pytestmark = pytest.mark.slow
DATA_FOLDERS = ("schemas/exported/", "twin/workloads/fitted/", "services/dashboard/static/")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel with the installed backend, so that nothing is downloaded."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "hatchling",
            "build",
            "--target",
            "wheel",
            "--directory",
            str(folder),
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


def _names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_every_module_and_data_file(wheel: Path) -> None:
    """Everything tracked under the packages travels, Python or not."""
    tracked = {path.relative_to(ROOT).as_posix() for path in tracked_files()}
    names = {
        name
        for name in tracked
        if name.startswith(DATA_FOLDERS)
        or (
            (name.endswith(".py") and name.split("/")[0] in PACKAGES)
            and not name.startswith("twin/tests/")
        )
    }

    assert set() == names - _names(wheel)
    assert any(name.startswith(DATA_FOLDERS[0]) for name in names)


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    """Tests, documents and state stay out; only the packages and their metadata travel."""
    tops = {name.split("/")[0] for name in _names(wheel)}

    assert set() == {top for top in tops - set(PACKAGES) if not top.endswith(".dist-info")}


def test_the_installed_wheel_starts_away_from_its_sources(wheel: Path, tmp_path: Path) -> None:
    """Installed into an empty folder, the command line prints its help."""
    target = tmp_path / "installed"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(target), str(wheel)], check=True, cwd=tmp_path)
    helped = subprocess.run(
        [sys.executable, "-P", "-c", _start_from(target)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (helped.returncode, helped.stderr)
    assert "usage: foresail" in helped.stdout


def _start_from(target: Path) -> str:
    """Return a script that runs `foresail --help` from `target` and nowhere else."""
    return f"""
import sys
sys.path = [{str(target)!r}] + [p for p in sys.path if p != {str(ROOT)!r}]
import foresail
assert foresail.__file__.startswith({str(target)!r}), foresail.__file__
from foresail.__main__ import main
main(["--help"])
"""
