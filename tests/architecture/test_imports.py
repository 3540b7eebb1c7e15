"""Who may import whom: the contracts of pyproject.toml, held by import-linter in this process."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from importlinter import cli  # noqa: F401 - registers the built-in contract types and readers
from importlinter.application import use_cases
from importlinter.application.user_options import UserOptions

from schemas.agents import agent_names
from tests.architecture.source_tree import PACKAGES, ROOT, python_files

CONFIG = ROOT / "pyproject.toml"
INDEPENDENT = "Services never import one another"
SHELLS = "services.*.service -> **"


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


def _broken_contracts(options: UserOptions) -> Iterator[str]:
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
    assert [] == list(_broken_contracts(options))


def test_a_forbidden_import_is_seen(options: UserOptions) -> None:
    """The check can fail: forbidding something that is imported breaks its contract."""
    layers = next(each for each in options.contracts_options if each["type"] == "layers")
    layers["layers"] = list(reversed(layers["layers"]))

    assert any(text.startswith(layers["name"]) for text in _broken_contracts(options))


def test_every_service_is_in_the_independence_contract(options: UserOptions) -> None:
    """A new service folder cannot escape the rule that services never import one another."""
    contract = next(each for each in options.contracts_options if each["name"] == INDEPENDENT)
    folders = {
        f"services.{folder.parent.name}" for folder in (ROOT / "services").glob("*/__main__.py")
    }

    assert folders == set(contract["modules"])


def test_an_impure_file_that_is_not_named_as_a_shell_is_seen(options: UserOptions) -> None:
    """A file in services/ that knows the bus or a loop breaks a contract unless it is named."""
    pure = next(
        each for each in options.contracts_options if each["name"].startswith("Services are")
    )
    pure["ignore_imports"] = [ignored for ignored in pure["ignore_imports"] if ignored != SHELLS]

    broken = [text for text in _broken_contracts(options) if text.startswith(pure["name"])]

    assert len(broken) == 1
    assert "services.executor.service -> " in broken[0]


def test_a_shell_that_pure_code_imports_is_seen(options: UserOptions) -> None:
    """Taking a shell off the list of those that may import shells breaks the contract."""
    shells = next(each for each in options.contracts_options if "imports no shell" in each["name"])
    shells["allowed_importers"] = [
        importer for importer in shells["allowed_importers"] if importer != "services.*.service"
    ]

    assert any(text.startswith(shells["name"]) for text in _broken_contracts(options))


def test_every_list_of_packages_is_the_same() -> None:
    """A new top-level package is built, typed, and held by the contracts, or by none."""
    config = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["tool"]
    layers = next(each for each in config["importlinter"]["contracts"] if each["type"] == "layers")
    names = {name for layer in layers["layers"] for name in re.split(r"\s*[:|]\s*", layer)}

    assert names == set(PACKAGES)
    assert names == set(config["importlinter"]["root_packages"])
    assert names == set(config["mypy"]["packages"])
    built = {*config["hatch"]["build"]["targets"]["wheel"]["packages"], "inputs", "twin"}
    assert names == built  # the two last ones by twin/pyproject.toml, see test_wheel


def test_the_image_holds_every_package() -> None:
    """The image is built from all packages: one is neither forgotten nor ignored."""
    built = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    assert [] == [name for name in PACKAGES if f"COPY {name} {name}\n" not in built]
    assert [] == [name for name in PACKAGES if f"!{name}" not in ignored]


def test_nobody_but_the_registry_reads_the_agents_folders() -> None:
    """An agent's folder is found, never named: no other module imports one."""
    agents = tuple(f"services.agents.{name}" for name in agent_names())
    named = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in python_files(*PACKAGES)
        if "services/agents/" not in path.as_posix()
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip().startswith(
            tuple(f"{word} {agent}" for word in ("from", "import") for agent in agents)
        )
    ]

    assert [] == named
