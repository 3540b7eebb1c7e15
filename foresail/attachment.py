"""How to attach any NATS client to a stack's log, read-only: a line that is ready to run.

The password never reaches the terminal, a log or a command line: it stands in a file that only this
user can read, as the variables that the `nats` command and our own examples take.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from bus.errors import InputError
from bus.exit_codes import ExitCode
from bus.logins import read_logins, write_private
from foresail.output import console, print_json
from foresail.stack.state_folder import StackFile, StateFolder
from schemas import subjects

READER = "reader"
FILE = "reader.env"
"""In the world's folder, beside `logins.json`."""


def show_attachment(state: StateFolder, stack: StackFile, *, as_json: bool) -> ExitCode:
    """Print how to attach.

    Raises:
        InputError: no stack runs, so nobody listens.
    """
    details = attachment(state, stack)
    if as_json:
        print_json(details)
        return ExitCode.GOOD
    out = console()
    out.print("Everything that is stored, as it comes (read-only):\n")
    out.print(f"  {details['command']}\n", markup=False)
    if details["login_file"]:
        out.print(
            f"{details['login_file']} holds address, user and password of `{READER}`, who may read and\n"
            "write nothing; only you can read it. On the stack's own server the name may be left out:\n",
            markup=False,
        )
    else:
        out.print("The server is yours: use a login of it that may read.\n")
    out.print(f"  {details['short_command']}\n", markup=False)
    out.print(
        "Less of it: live.foresail.<cluster>.decision, .outcome.>, .proposal.safety; heartbeats, which are\n"
        f"not stored: {details['health_subject']}. Without the nats command: examples/tap_with_nats_py.py,\n"
        "or `foresail tap`.",
        markup=False,
    )
    return ExitCode.GOOD


def attachment(state: StateFolder, stack: StackFile) -> dict[str, Any]:
    """Return address, subjects, login file and commands; the file is written when there is a login.

    Raises:
        InputError: no stack runs.
    """
    if not stack.running:
        raise InputError("--nats", str(state.path), "no stack runs; start one with `foresail up`")
    subject = subjects.live(subjects.pattern(stack.cluster, (">",)))
    file = _login_file(state, stack) if stack.embedded else None
    short = f"nats sub --server {stack.nats_url} {shlex.quote(subject)}"
    load = "" if file is None else f"set -a; . {shlex.quote(str(file))}; set +a; "
    return {
        "server": stack.nats_url,
        "subject": subject,
        "health_subject": subjects.health(stack.cluster, "*"),
        "user": READER if file is not None else None,
        "login_file": None if file is None else str(file),
        "command": f"{load}nats sub {shlex.quote(subject)}" if load else short,
        "short_command": short,
    }


def _login_file(state: StateFolder, stack: StackFile) -> Path | None:
    """Write the reader's login for other programs; None when the server asks for none."""
    folder = state.incarnation(stack.incarnation)
    login = read_logins(folder).get(READER)
    if login is None:
        return None
    variables = {
        "NATS_URL": stack.nats_url,
        "NATS_USER": login.user,
        "NATS_PASSWORD": login.password,
        "NATS_INBOX_PREFIX": login.inbox_prefix,
    }
    path = folder / FILE
    lines = (f"{name}={shlex.quote(value or '')}\n" for name, value in variables.items())
    write_private(path, "".join(lines))
    return path
