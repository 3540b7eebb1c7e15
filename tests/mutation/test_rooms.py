"""mutmut is led through a room: what no test notices is counted, what was tried is not tried again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bus.errors import InputError
from proofs.__main__ import main
from proofs.mutation import chosen, prove, rows_of, workspace
from proofs.mutation.workspace import Room, read_rooms
from proofs.row import CI, ProofSize
from tests.architecture.source_tree import ROOT

ROOMS = read_rooms()
FILES = {
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
    "conftest.py": 'def pytest_addoption(parser): parser.addoption("--pure", action="store_true")\n',
    "shop/__init__.py": "",
    "shop/price.py": "LIMIT = 3\n",
    "shop/till/__init__.py": "",
    "shop/till/sum.py": "from shop.price import LIMIT\n\ndef total(one, other):\n    return one + other\n\n"
    "def is_dear(price):\n    return price > LIMIT\n",
    "tests/test_sum.py": "from shop.till.sum import is_dear, total\n\n"
    "def test_total(): assert total(1, 2) == 3\n\ndef test_is_dear():\n    assert is_dear(5)\n",
}


@pytest.fixture
def till(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    """A repository with one room, whose tests do not try what a price at the limit is."""
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    monkeypatch.setattr(workspace, "ROOT", tmp_path)
    monkeypatch.setattr(workspace, "WORK", tmp_path / "build")
    room = Room("till", Path("shop/till"), ["tests"], 1.0)
    monkeypatch.setattr("proofs.mutation.read_rooms", lambda: [room])
    return room


@pytest.mark.slow
def test_a_change_that_no_test_notices_is_counted(till: Room) -> None:
    """Its module and room are short of it; with the missing test, and that file named, all are noticed."""
    module, room = prove(CI)

    assert module.what == "shop.till.sum"
    assert 0 < module.held < module.tried == room.tried
    assert "survived" in module.detail
    assert not room.holds

    tests = workspace.ROOT / "tests" / "test_sum.py"
    tests.write_text(FILES["tests/test_sum.py"] + "    assert not is_dear(3)\n", encoding="utf-8")
    again = next(prove(ProofSize(0, 0, 0.0, only=till.code / "sum.py")))
    assert again.held == again.tried == module.tried


def test_a_room_is_judged_by_what_was_tried() -> None:
    """Mutants that hang are noticed, those that no test reaches are not tried, and the share is the room's."""
    room = Room("till", Path("shop/till"), [], 0.75)
    counted = Counter({"killed": 2, "timeout": 1, "survived": 1, "no tests": 9})

    *_, whole = rows_of(room, room.code, {"shop.till.sum": counted})
    assert (whole.tried, whole.held, whole.least) == (4, 3, 3)
    assert whole.holds
    counted["survived"] += 1
    *_, whole = rows_of(room, room.code, {"shop.till.sum": counted})
    assert not whole.holds


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_and_its_tests_are_there(room: Room) -> None:
    """A folder that was moved is moved in rooms.toml, too."""
    assert (ROOT / room.code).is_dir()
    assert all((ROOT / tests).exists() for tests in room.tests)


@pytest.mark.parametrize("only", ["services/referee", "services/executor/guards/budget.py"])
def test_a_part_of_a_room_can_be_tried(only: str) -> None:
    """A whole room, or a file in one."""
    [(room, part)] = chosen(Path(only))

    assert part.is_relative_to(room.code)


@pytest.mark.parametrize("only", ["twin", "services/referee/gone.py", "bus/../twin"])
def test_what_is_in_no_room_is_refused(
    only: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line with the rooms' names, exit code 2."""
    monkeypatch.chdir(ROOT)
    with pytest.raises(InputError, match="services/referee"):
        chosen(Path(only))
    assert main(["mutation", "--only", only]) == 2
    assert capsys.readouterr().err.count("\n") == 1
