"""Everything that everybody may and may not do, tried on a real nats-server.

The checks are generated from the table of identities; `make prove` prints how many there are.
"""

from __future__ import annotations

import asyncio

import pytest

from proofs.identities import matrix
from proofs.identities.checks import Check, Kind, failures
from services.identities import IDENTITIES

pytestmark = [pytest.mark.nats, pytest.mark.slow]

Matrix = tuple[list[Check], int, bool]
NAMES = [identity.name for identity in IDENTITIES]
REFUSAL_GROUPS = {
    "another's subject",
    "a subject beside its own",
    "the live feed",
    "another's heartbeat",
    "another's inbox",
    "no subject of ours",
    "the system",
    "an acknowledgement",
    "listening elsewhere",
    "streams and consumers as before",
    "an injected reply",
    "a login",
}
"""What every identity is refused, whoever it is."""


@pytest.fixture(scope="module")
def matrix_result() -> Matrix:
    """Try everything once, on one server."""
    return asyncio.run(matrix())


def checks_of(matrix_result: Matrix, name: str, kind: Kind) -> list[Check]:
    """Return the checks of one identity and kind."""
    return [check for check in matrix_result[0] if (check.identity, check.kind) == (name, kind)]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_allowed_works(matrix_result: Matrix, name: str) -> None:
    """Each permission has its effect: stored with its expectation checked, as a batch, read, heard."""
    checks = checks_of(matrix_result, name, "permission")

    assert [] == list(failures(checks))
    assert len(checks) >= 4


@pytest.mark.parametrize("name", NAMES)
def test_everything_else_is_refused(matrix_result: Matrix, name: str) -> None:
    """Nothing that belongs to somebody else can be written, read, called or reached by a detour."""
    checks = checks_of(matrix_result, name, "refusal")

    assert [] == list(failures(checks))
    assert {check.group for check in checks} >= REFUSAL_GROUPS


def test_the_harness_sees_what_it_looks_for(matrix_result: Matrix) -> None:
    """With plain permissions inside the log's own account the same reply injections succeed."""
    assert matrix_result[1] > 40


def test_a_client_without_a_name_only_reads(matrix_result: Matrix) -> None:
    """A plain subscriber taps the live feed without a password, and can write nothing."""
    assert matrix_result[2]
