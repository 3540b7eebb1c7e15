"""`foresail recording redact FILE OUT`: replace names of nodes, pods, namespaces, labels and users."""

from __future__ import annotations

import argparse
import secrets
from dataclasses import asdict
from pathlib import Path

from bus.errors import InputError
from bus.exit_codes import ExitCode, verdict
from foresail.output import console, print_json
from foresail.progress import reading
from schemas.wording import count_text

LEAST_SALT_BYTES = 16

EXAMPLES = (
    ("recording redact run.fslog share.fslog", "names become meaningless; decisions stay the same"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a recording")
    parser.add_argument("out", metavar="OUT", type=Path, help="a new file")
    parser.add_argument(
        "--salt-file",
        type=Path,
        metavar="SALT",
        help="file of 16 bytes or more; the same salt gives the same names "
        "(default: random bytes that are not stored)",
    )
    parser.add_argument(
        "--model",
        metavar="DIR",
        help="folder of the model that the recording names, when it is not shipped",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Redact.

    Raises:
        InputError: the salt cannot be read or is too short.
    """
    from lab.recordings.redact import redact  # noqa: PLC0415 - loads inference and its models

    changes = {} if arguments.model is None else {"inference.model": arguments.model}
    salt = _salt(arguments.salt_file)
    with reading(arguments.file, "redacting") as on_message:
        made = redact(arguments.file, arguments.out, salt, changes, on_message=on_message)
    if arguments.json:
        print_json({"file": arguments.out.name, **asdict(made)})
    else:
        out = console()
        out.print(
            f"{count_text(made.messages, 'message')} in {arguments.out.name}, {count_text(made.names, 'name')} replaced"
        )
        if made.damage:
            out.print(f"the source is damaged: {made.damage}", markup=False)
    return verdict(nothing_compared=made.messages == 0, cut_off=bool(made.damage))


def _salt(path: Path | None) -> bytes:
    if path is None:
        return secrets.token_bytes(2 * LEAST_SALT_BYTES)
    try:
        salt = path.read_bytes()
    except OSError as error:
        remedy = f"give a file that can be read ({error.strerror})"
        raise InputError("--salt-file", path, remedy) from error
    if len(salt) < LEAST_SALT_BYTES:
        remedy = f"give {LEAST_SALT_BYTES} bytes or more: head -c 32 /dev/urandom > {path.name}"
        raise InputError("--salt-file", path, remedy)
    return salt
