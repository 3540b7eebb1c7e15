"""The accounts part of nats.conf, made from the table of identities.

Permissions inside one account check the subject that is published, never the reply subject nor the
body, so a reader there can have the server write into the log (docs/identities.md). Here every
identity lives in an account of its own. The account MAIN, which holds the stream, lets each in through
imports only: its own subjects as services (the server replaces the reply subject), direct get and
the stream's state as services, the live feed as a stream. Heartbeats go from account to account.

    python -m services.identities --cluster twin --incarnation i1 --out FOLDER

writes server/accounts.conf (for nats-server to include) and NAME/login.env for each process, every
one in a folder of its own, so that each can be mounted where it belongs and nowhere else.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bus.errors import ConfigError
from bus.exit_codes import ExitCode
from bus.identities import Identity, table_of_names
from bus.login import API, IMPORTED_API, INBOX, Login
from bus.logins import Logins, env_lines, new_logins, read_login, write_private
from bus.streams import StreamDeclaration
from schemas import subjects

MAIN = "MAIN"
"""The account that holds the stream."""
SERVER = "server"
"""The folder of what nats-server reads."""
LOGIN_FILE = "login.env"

REPLAY_READERS = frozenset(("dashboard", "reader", "recorder", "replayer"))
"""Identities that read a replay beside the main log: those that only look, none that acts."""
Logs = Sequence[tuple[str, str]]
"""Clusters with the names of their logs: the main one, then a replay."""
Identities = Sequence[Identity]
ANYBODY = "reader"
"""The identity of a client that gives no name: it may read, as anybody on the same machine could
before, and write nothing.
"""


def accounts_conf(
    cluster: str,
    stream: str,
    logins: Logins,
    *,
    anonymous: bool = True,
    replay: tuple[str, str] | None = None,
) -> str:
    """Return the accounts of one cluster's log as nats-server reads them.

    Args:
        cluster: whose log it is.
        stream: the log's name.
        logins: one for each identity; the agents are those that have one.
        anonymous: take clients without a name as `reader`; not where strangers can connect.
        replay: cluster and stream of a replay that stands beside the log.
    """
    logs = [(cluster, stream), *([] if replay is None else [replay])]
    identities = table_of_names(logins)
    members = [identity for identity in identities if not identity.administers]
    accounts = [_main_account(identities, logs, logins)]
    accounts += [_member_account(member, identities, logs, logins) for member in members]
    first = f"no_auth_user: {ANYBODY}\n" if anonymous else ""
    return f"{first}accounts {{\n" + "".join(accounts) + "}\n"


def _main_account(identities: Identities, logs: Logs, logins: Logins) -> str:
    bootstrap = next(identity for identity in identities if identity.administers)
    user = _user(bootstrap, logins, [f"{API}.>"], [f"{logins[bootstrap.name].inbox_prefix}.>"])
    exports = [
        line for number, log in enumerate(logs) for line in _exports(identities, *log, number > 0)
    ]
    return _account(MAIN, user, exports, [], head="jetstream: enabled")


def _exports(identities: Identities, cluster: str, stream: str, beside: bool) -> Iterator[str]:
    readers = [identity.name for identity in identities if _may_read(identity, beside)]
    for identity in identities:
        for subject in identity.subjects(cluster):
            yield _entry("service", subject, [identity.name])
    for call, more in _read_calls(stream).items():
        yield _entry("service", f"{API}.{call}", readers, more)
    yield _entry("stream", _live_pattern(cluster), readers)


def _may_read(identity: Identity, beside: bool) -> bool:
    """Say whether an identity reads a log; `beside`: it is a replay beside the main one."""
    return identity.reads and (not beside or identity.name in REPLAY_READERS)


def _member_account(identity: Identity, identities: Identities, logs: Logs, logins: Logins) -> str:
    cluster = logs[0][0]
    publish, subscribe = [], [f"{logins[identity.name].inbox_prefix}.>"]
    imports, exports = [], []
    if identity.reads:
        subscribe.append(subjects.live(f"{subjects.ROOT}.>"))
    for number, (name, stream) in enumerate(logs):
        for subject in identity.subjects(name):
            publish.append(subject)
            imports.append(_import("service", MAIN, subject))
        if not _may_read(identity, number > 0):
            continue
        for call in _read_calls(stream):
            publish.append(f"{IMPORTED_API}.{call}")
            imports.append(_import("service", MAIN, f"{API}.{call}", f"{IMPORTED_API}.{call}"))
        imports.append(_import("stream", MAIN, _live_pattern(name)))
    if identity.sends_heartbeats:
        publish.append(subjects.health(cluster, identity.name))
        hearing = [identity.name for identity in identities if identity.receives_heartbeats]
        exports.append(_entry("stream", subjects.health(cluster, identity.name), hearing))
    if identity.receives_heartbeats:
        subscribe.append(subjects.health(cluster, "*"))
        for other in identities:
            if other.sends_heartbeats:
                heartbeat = subjects.health(cluster, other.name)
                imports.append(_import("stream", other.name, heartbeat))
    if identity.name == ANYBODY:
        subscribe.append(f"{INBOX}.>")
    return _account(identity.name, _user(identity, logins, publish, subscribe), exports, imports)


def _read_calls(stream: str) -> dict[str, str]:
    """Return the calls of readers with the form of their answer.

    The server remembers who asked for a stream of answers until that inbox is given up, so the call
    with one answer, the newest event of a subject, is an export of its own.
    """
    return {
        f"STREAM.INFO.{stream}": "",
        f"STREAM.MSG.GET.{stream}": "",
        f"DIRECT.GET.{stream}": "response_type: stream",
        f"DIRECT.GET.{stream}.>": "",
    }


def _live_pattern(cluster: str) -> str:
    return subjects.live(subjects.pattern(cluster, (">",)))


def _account(
    name: str, user: str, exports: Sequence[str], imports: Sequence[str], head: str = ""
) -> str:
    lines = [f"  {json.dumps(name)} {{"]
    lines += [f"    {head}"] if head else []
    lines += [f"    users: [\n      {user}\n    ]"]
    for kind, entries in (("exports", exports), ("imports", imports)):
        if entries:
            lines += [f"    {kind}: [", *(f"      {entry}" for entry in entries), "    ]"]
    return "\n".join([*lines, "  }\n"])


def _user(
    identity: Identity, logins: Logins, publish: Sequence[str], subscribe: Sequence[str]
) -> str:
    # An empty list of what is allowed would mean everything.
    may = {"allow": list(publish)} if publish else {"deny": [">"]}
    permissions = {"publish": may, "subscribe": {"allow": list(subscribe)}}
    password = logins[identity.name].password
    fields = {"user": identity.name, "password": password, "permissions": permissions}
    return json.dumps(fields)


def _entry(kind: str, subject: str, accounts: Sequence[str], more: str = "") -> str:
    tail = f", {more}" if more else ""
    return f"{{ {kind}: {json.dumps(subject)}, accounts: {json.dumps(list(accounts))}{tail} }}"


def _import(kind: str, account: str, subject: str, name: str = "") -> str:
    source = json.dumps({"account": account, "subject": subject})
    tail = f", to: {json.dumps(name)}" if name else ""
    return f"{{ {kind}: {source}{tail} }}"


def main(arguments: Sequence[str], identities: Identities) -> int:
    """Write the accounts and one login per identity."""
    parser = argparse.ArgumentParser(prog="python -m services.identities", description=__doc__)
    parser.add_argument("--cluster", required=True)
    parser.add_argument("--incarnation", required=True)
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER")
    parser.add_argument(
        "--anonymous", action="store_true", help="take clients without a name as reader"
    )
    parser.add_argument("--keep", action="store_true", help="keep passwords that are there")
    parser.add_argument("--group", action="store_true", help="let this user's group read, too")
    options = parser.parse_args(arguments)
    mode = 0o640 if options.group else 0o600
    logins = new_logins(identities)
    try:
        logins |= _read_existing_logins(options.out, identities) if options.keep else {}
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return ExitCode.BAD_INPUT
    stream = StreamDeclaration.of(options.cluster, options.incarnation).name
    conf = accounts_conf(options.cluster, stream, logins, anonymous=options.anonymous)
    try:
        _write(options.out / SERVER / "accounts.conf", conf, mode)
        for name, login in logins.items():
            _write(options.out / name / LOGIN_FILE, env_lines(login), mode)
    except OSError as error:
        why = f"name a folder that can be written ({error.filename}: {error.strerror})"
        sys.stderr.write(f"{ConfigError('--out', options.out, why)}\n")
        return ExitCode.BAD_INPUT
    return ExitCode.GOOD


def _read_existing_logins(folder: Path, identities: Identities) -> dict[str, Login]:
    files = {identity.name: folder / identity.name / LOGIN_FILE for identity in identities}
    return {name: read_login(file) for name, file in files.items() if file.exists()}


def _write(path: Path, text: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_private(path, text)
    path.chmod(mode)


if __name__ == "__main__":
    sys.exit(
        "error: run `python -m services.identities` with the same options; it knows the agents"
    )
