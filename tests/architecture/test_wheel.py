"""The wheels of Foresail and of the twin: built without a network, complete, and able to start by themselves."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.architecture.source_tree import PACKAGES, ROOT, tracked_files

pytestmark = pytest.mark.slow
DATA_FOLDERS = ("schemas/exported/", "twin/workloads/fitted/", "services/dashboard/static/")
OF_TWIN = ("inputs", "twin")
OF_FORESAIL = tuple(name for name in PACKAGES if name not in OF_TWIN)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build both wheels with the installed backend, so that nothing is downloaded."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--wheel-dir", str(folder), "./twin", "."]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return {path.name.split("-")[0]: path for path in folder.glob("*.whl")}


def _names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.mark.parametrize(
    ("name", "packages"), [("foresail", OF_FORESAIL), ("foresail_twin", OF_TWIN)]
)
def test_a_wheel_holds_every_module_and_data_file(
    name: str, packages: tuple[str, ...], wheels: dict[str, Path]
) -> None:
    """Everything tracked under its packages travels, Python or not."""
    tracked = {path.relative_to(ROOT).as_posix() for path in tracked_files()}
    expected = {
        file
        for file in tracked
        if file.split("/")[0] in packages
        and (file.endswith(".py") or file.startswith(DATA_FOLDERS))
        and not file.startswith(("twin/tests/", "twin/hatch_build.py"))
    }

    assert set() == expected - _names(wheels[name])
    assert any(file.startswith(DATA_FOLDERS) for file in expected)


@pytest.mark.parametrize(
    ("name", "packages"), [("foresail", OF_FORESAIL), ("foresail_twin", OF_TWIN)]
)
def test_a_wheel_holds_nothing_else(
    name: str, packages: tuple[str, ...], wheels: dict[str, Path]
) -> None:
    """Tests, documents and state stay out; only its packages and their metadata travel."""
    held = _names(wheels[name])

    assert set() == {
        file for file in held if file.split("/")[0] not in packages and ".dist-info/" not in file
    }
    assert not any(file.startswith("twin/tests/") for file in held)


@pytest.mark.parametrize(
    ("names", "main", "usage"),
    [
        (("foresail", "foresail_twin"), "foresail", "usage: foresail"),
        (("foresail_twin",), "twin", "usage: python -m twin"),
    ],
)
def test_what_is_installed_starts_away_from_its_sources(
    names: tuple[str, ...], main: str, usage: str, wheels: dict[str, Path], tmp_path: Path
) -> None:
    """Installed into an empty folder, both command lines print their help; the twin without Foresail."""
    target = tmp_path / "installed"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    given = [str(wheels[name]) for name in names]
    subprocess.run([*install, "--target", str(target), *given], check=True, cwd=tmp_path)
    helped = subprocess.run(
        [sys.executable, "-P", "-c", _start_from(target, main)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (helped.returncode, helped.stderr)
    assert usage in helped.stdout


def test_an_editable_twin_copies_nothing(tmp_path: Path) -> None:
    """What `make setup` installs points to the tree: a copy would stay as it was when a file is edited."""
    command = [sys.executable, "-P", "-m", "hatchling", "build", "--target", "wheel:editable"]
    command += ["--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT / "twin", check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    pointers = [name for name in _names(wheel) if ".dist-info/" not in name]

    assert [".pth"] == [Path(name).suffix for name in pointers]


def _start_from(target: Path, main: str) -> str:
    """Return a script that runs `python -m MAIN --help` from `target` and nowhere else."""
    return f"""
import sys
sys.path = [{str(target)!r}] + [p for p in sys.path if p != {str(ROOT)!r}]
import {main}
assert {main}.__file__.startswith({str(target)!r}), {main}.__file__
from {main}.__main__ import main
main(["--help"])
"""
