"""Other versions of CPython on this machine, each with exactly the packages of requirements.lock.

Their environments are kept in `.venv/interpreters/`, one per version and lock file, so that only the
first run installs anything. A version that is missing or cannot be set up is reported.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements.lock"
CACHE = ROOT / ".venv" / "interpreters"
SUPPORTED = ("3.11", "3.12", "3.13")
CURRENT = f"{sys.version_info.major}.{sys.version_info.minor}"
OTHER_VERSIONS = tuple(version for version in reversed(SUPPORTED) if version != CURRENT)
INSTALL_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python that can run the stack."""

    version: str
    path: Path

    def __str__(self) -> str:
        return f"CPython {self.version}"


@dataclass(frozen=True, slots=True)
class MissingInterpreter:
    """A version that cannot be tried here, and why."""

    version: str
    reason: str

    def __str__(self) -> str:
        return f"CPython {self.version} ({self.reason})"


def running_interpreter() -> Interpreter:
    """Return the running interpreter."""
    return Interpreter(CURRENT, Path(sys.executable))


def other_interpreter(version: str) -> Interpreter | MissingInterpreter:
    """Return another version with the locked packages, installing them the first time."""
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    folder = CACHE / f"{version}-{digest}"
    ready = Interpreter(version, folder / "bin" / "python")
    if ready.path.exists():
        return ready
    base = _find_python(version)
    if base is None:
        return MissingInterpreter(version, "no such interpreter found")
    return _install(base, folder) or ready


def _find_python(version: str) -> Path | None:
    """Return an interpreter of a version from PATH or from pyenv's folder."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = shutil.which(f"python{version}")
    candidates = [] if named is None else [Path(named)]
    candidates += sorted(pyenv.glob(f"{version}.*/bin/python{version}"))
    return next((path for path in candidates if _is_version(path, version)), None)


def _is_version(path: Path, version: str) -> bool:
    """Say whether this is that version and not, say, pyenv's note that none is chosen."""
    code = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    ran = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
    return ran.stdout.strip() == version


def _install(base: Path, folder: Path) -> MissingInterpreter | None:
    """Build the environment beside its place and move it there; return why that failed, if so."""
    building = folder.with_name(f"{folder.name}.{os.getpid()}")
    locked = ["--require-hashes", "--only-binary", ":all:", "--requirement", str(LOCK)]
    python = str(building / "bin" / "python")
    if find_spec("uv") is None:
        install = [python, "-m", "pip", "--quiet", "install"]
    else:  # does the same in a fifth of the time
        install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python]
    steps = [[str(base), "-m", "venv", str(building)], [*install, *locked]]
    version = folder.name.split("-", 1)[0]
    try:
        for step in steps:
            subprocess.run(
                step, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS
            )
        building.rename(folder)
        for outdated in folder.parent.glob(f"{version}-*"):
            if outdated != folder and "." not in outdated.name.removeprefix(version):
                shutil.rmtree(outdated, ignore_errors=True)
    except subprocess.CalledProcessError as error:
        lines = str(error.stderr).strip().splitlines()
        return MissingInterpreter(
            version, f"packages not installed: {lines[-1] if lines else error}"
        )
    except subprocess.TimeoutExpired:
        return MissingInterpreter(version, f"packages not installed within {INSTALL_SECONDS:g} s")
    except OSError as error:
        # Another process built it first; its environment is identical.
        return (
            None
            if folder.exists()
            else MissingInterpreter(version, f"no environment: {error.strerror}")
        )
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return None
