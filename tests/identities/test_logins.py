"""Passwords stay where they belong."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from bus.errors import ConfigError, InputError
from bus.login import ANONYMOUS, Login
from bus.logins import FILE, new_logins, read_login, read_logins, store_logins
from bus.nats_conf import accounts_conf, main
from services.identities import BY_NAME, IDENTITIES

GENERATE = ["--cluster", "twin", "--incarnation", "compose", "--out"]


def test_logins_are_kept_for_their_owner_alone(tmp_path: Path) -> None:
    """The file can be read back, and by nobody else."""
    logins = new_logins(IDENTITIES)
    path = store_logins(logins, tmp_path)

    assert read_logins(tmp_path) == logins
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)


def test_every_start_has_other_passwords() -> None:
    """No password is used twice, neither by two identities nor in two starts."""
    passwords = [
        login.password
        for logins in (new_logins(IDENTITIES), new_logins(IDENTITIES))
        for login in logins.values()
    ]

    assert len(set(passwords)) == 2 * len(IDENTITIES)
    assert all(len(password or "") >= 32 for password in passwords)


def test_a_password_is_not_in_what_is_logged() -> None:
    """The text of a login, in a log line or a traceback, does not hold its password."""
    login = new_logins(IDENTITIES)["referee"]

    assert login.password
    assert login.password not in repr(login)


def test_a_login_travels_by_environment() -> None:
    """A process finds in its environment what the stack gave it, and nothing is said by default."""
    for login in (*new_logins(IDENTITIES).values(), ANONYMOUS):
        assert Login.from_environment(login.environment()) == login
    assert {} == ANONYMOUS.environment()


def test_no_file_means_no_accounts(tmp_path: Path) -> None:
    """A server of somebody else's has no logins of ours."""
    assert {} == read_logins(tmp_path)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """What cannot be read is one clear line."""
    (tmp_path / FILE).write_text("{")

    with pytest.raises(InputError, match=FILE):
        read_logins(tmp_path)


def test_the_generator_writes_what_containers_need(tmp_path: Path) -> None:
    """`python -m services.identities` writes the accounts and one login a process, all private; a process
    finds its own by the file's name alone.
    """
    assert 0 == main([*GENERATE, str(tmp_path)], IDENTITIES)
    logins = {name: read_login(tmp_path / name / "login.env") for name in BY_NAME}
    referee = {"FORESAIL_NATS_LOGIN_FILE": str(tmp_path / "referee" / "login.env")}

    conf = (tmp_path / "server" / "accounts.conf").read_text()
    assert conf == accounts_conf("twin", "FORESAIL_twin_compose", logins, anonymous=False)
    assert Login.from_environment(referee) == logins["referee"] != logins["executor"]
    assert "referee" == logins["referee"].user
    assert {0o600} == {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("*/*")}


def test_passwords_are_kept_on_request(tmp_path: Path) -> None:
    """A second run makes new passwords, unless it is told to keep those that are there."""
    main([*GENERATE, str(tmp_path)], IDENTITIES)
    first = (tmp_path / "server" / "accounts.conf").read_text()
    main([*GENERATE, str(tmp_path), "--keep"], IDENTITIES)
    text = (tmp_path / "server" / "accounts.conf").read_text()
    main([*GENERATE, str(tmp_path)], IDENTITIES)

    assert first == text != (tmp_path / "server" / "accounts.conf").read_text()


def test_a_login_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """One line says which variable, which file, and what to do."""
    with pytest.raises(ConfigError, match=r"FORESAIL_NATS_LOGIN_FILE.*absent\.env"):
        Login.from_environment({"FORESAIL_NATS_LOGIN_FILE": str(tmp_path / "absent.env")})


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The generator ends with 2 and one line that names the folder and what is wrong with it."""
    (tmp_path / "server").write_text("a file where a folder belongs")

    assert 2 == main([*GENERATE, str(tmp_path)], IDENTITIES)
    output = capsys.readouterr().err
    assert 1 == output.count("\n")
    assert "--out" in output
    assert "server" in output
