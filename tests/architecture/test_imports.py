"""Who may import whom: the contracts of pyproject.toml, held by import-linter in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from importlinter import cli  # noqa: F401 - registers the built-in contract types and readers
from importlinter.application import use_cases
from importlinter.application.user_options import UserOptions

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "pyproject.toml"
INDEPENDENT = "Services never import one another"


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> UserOptions:
    """Return the contracts, without services that have not been written yet."""
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))
    read = use_cases.read_user_options(config_filename=str(CONFIG))
    use_cases._register_contract_types(read)
    for contract in read.contracts_options:
        for key in ("modules", "source_modules"):
            if key in contract:
                contract[key] = [name for name in contract[key] if _exists(name)]
    return read


def _exists(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return "*" in name or (path / "__init__.py").is_file() or path.with_suffix(".py").is_file()


def _broken(options: UserOptions) -> Iterator[str]:
    report = use_cases.create_report(options, cache_dir=None)
    for contract, check in report.get_contracts_and_checks():
        if not check.kept:
            yield f"{contract.name}: {_details(check.metadata)}"


def _details(metadata: dict[str, Any]) -> str:
    """Name the imports at fault; for other kinds of contract, what import-linter gives."""
    arrows = dict.fromkeys(
        f"{link['importer']} -> {link['imported']} (line {link['line_numbers'][0]})"
        for found in metadata.get("invalid_chains", [])
        for chain in found.get("chains", [])
        for link in chain
    )
    return "; ".join(arrows) if arrows else str(metadata)[:1000]


def test_every_import_contract_is_kept(options: UserOptions) -> None:
    """No module imports what the architecture forbids it."""
    assert [] == list(_broken(options))


def test_a_forbidden_import_is_seen(options: UserOptions) -> None:
    """The check can fail: forbidding something that is imported breaks its contract."""
    layers = next(each for each in options.contracts_options if each["type"] == "layers")
    layers["layers"] = list(reversed(layers["layers"]))

    assert any(text.startswith(layers["name"]) for text in _broken(options))


def test_every_service_is_in_the_independence_contract(options: UserOptions) -> None:
    """A new service folder cannot escape the rule that services never import one another."""
    contract = next(each for each in options.contracts_options if each["name"] == INDEPENDENT)
    folders = {
        f"services.{folder.parent.name}" for folder in (ROOT / "services").glob("*/__init__.py")
    }

    assert folders == set(contract["modules"])
