"""The README and the pages in docs/ name only what exists."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from foresail.flags import FLAGS
from foresail.verbs import verb_module, verbs
from tests.architecture.source_tree import ROOT

README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
SCOPE = ROOT / "twin" / "SCOPE.md"
PAGES = (README, ROOT / "CHANGELOG.md", CONTRIBUTING, SCOPE, *sorted((ROOT / "docs").rglob("*.md")))
COMMAND = re.compile(r"\bforesail ([a-z][a-z-]*)")
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")
TARGET = re.compile(r"^([a-z]+):.*## ", re.MULTILINE)


def _code(text: str) -> str:
    """Return indented blocks and inline code, where commands stand."""
    blocks = [line for line in text.splitlines() if line.startswith("    ")]
    return "\n".join([*blocks, *re.findall(r"`([^`\n]+)`", text)])


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def test_pages_name_only_verbs_that_exist() -> None:
    """Every `foresail VERB` in code is a verb of the command line."""
    unknown = [
        (_name(page), verb)
        for page in PAGES
        for verb in COMMAND.findall(_code(page.read_text(encoding="utf-8")))
        if verb not in verbs()
    ]

    assert [] == unknown


def test_contributing_names_only_files_that_exist() -> None:
    """Every path that a newcomer is sent to is there, of the repository or a folder named before it."""
    text = CONTRIBUTING.read_text(encoding="utf-8")
    paths = re.findall(r"`([a-z_]+/[\w./*-]*)`", text)

    assert len(paths) > 20
    assert [] == [path for path in paths if not any(ROOT.glob(path.rstrip("/")))]


def test_the_readme_shows_every_verb() -> None:
    """No verb has to be guessed."""
    named = set(COMMAND.findall(_code(README.read_text(encoding="utf-8"))))

    assert set(verbs()) == named


def test_the_readmes_flags_exist() -> None:
    """Every flag on a `foresail` line of the README is a flag of that verb."""
    unknown = [
        f"{verb} {flag}"
        for line in README.read_text(encoding="utf-8").splitlines()
        if (match := re.search(r"\bforesail ([a-z-]+)([^`#|]*)", line)) and match[1] in verbs()
        for verb in [match[1]]
        for flag in re.findall(r"--[a-z-]+", match[2])
        if flag not in _flags(verb)
    ]

    assert [] == unknown


def _flags(verb: str) -> str:
    parser = argparse.ArgumentParser()
    verb_module(verb).add_arguments(parser)
    nested = [
        choice.format_help()
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for choice in action.choices.values()
    ]
    known = [flag.flag for flag in FLAGS] if verb == "up" else []
    return "\n".join([parser.format_help(), *nested, *known])


def test_local_links_lead_somewhere() -> None:
    """Every link to a file of the repository names one that exists."""
    broken = [
        (_name(page), target)
        for page in PAGES
        for target, _ in LINK.findall(page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]

    assert [] == broken


def test_the_readme_names_the_commands_of_the_makefile() -> None:
    """`make test` is named, and every make target that the README names exists."""
    named = set(re.findall(r"\bmake ([a-z]+)", _code(README.read_text(encoding="utf-8"))))

    assert {"run", "test", "setup", "bench", "help"} <= named
    assert set() == named - set(TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
