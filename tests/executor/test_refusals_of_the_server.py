"""What the API server means by a refusal: a right that is missing, a rule of the cluster, or a namespace that goes."""

from __future__ import annotations

import pytest

from schemas.reasons import Reason
from services.cluster import ClusterRefused
from services.executor.cluster import apply_operation
from services.executor.refusals import reason_of
from tests.executor.api_server import ApiServer
from tests.executor.plant import nothing_forbidden
from tests.executor.test_plan_only import LACKS, NODE
from tests.executor.test_writes import CAP

QUOTA = 'pods "web-1" is forbidden: exceeded quota: team, requested: pods=1, used: pods=9, limited: pods=9'
ENDING = 'resourcequotas "foresail-cap" is forbidden: namespace shop is being terminated'
WEBHOOK = 'admission webhook "drain.example.com" denied the request: {} is drained by its operator'
POLICY = (
    "web is forbidden: ValidatingAdmissionPolicy 'freeze' with binding 'all' denied request: no"
)


@pytest.mark.parametrize(
    ("status", "message", "causes", "expected"),
    [
        (403, LACKS, (), Reason.FORBIDDEN),
        (403, WEBHOOK, (), Reason.ADMISSION_DENIED),
        (500, WEBHOOK, (), Reason.ADMISSION_DENIED),
        (422, POLICY, (), Reason.ADMISSION_DENIED),
        (403, POLICY, (), Reason.ADMISSION_DENIED),
        (403, "pods is forbidden: node is not ready", (), Reason.ADMISSION_DENIED),
        (403, ENDING, ("NamespaceTerminating",), Reason.TARGET_GONE),
        (403, QUOTA, (), Reason.QUOTA_EXHAUSTED),
        (422, "spec.replicas: Invalid value: -1", (), Reason.INVALID),
        (500, "failed calling webhook: timeout", (), Reason.API_ERROR),
        (429, "busy", (), Reason.THROTTLED),
        (429, "budget", ("DisruptionBudget",), Reason.PDB),
    ],
)
def test_a_refusal_is_called_what_it_is(
    status: int, message: str, causes: tuple[str, ...], expected: Reason
) -> None:
    """Nobody looks for a missing right where a webhook, a policy, a quota or a deletion is the cause."""
    assert reason_of(ClusterRefused(status, "Forbidden", message, causes=causes)) is expected


@pytest.mark.parametrize("dry_run", [True, False])
async def test_what_admission_denies_is_refused_in_shadow_mode_too(dry_run: bool) -> None:
    """A dry run that is denied says that the real write would be; it is no plan that merely lacks a right."""
    server = ApiServer()
    server.add(NODE, spec={})
    operation = CAP.model_copy(update={"name": "node-1", "uid": "u", "resource_version": ""})
    server.fail("PATCH", NODE, ClusterRefused(403, "Forbidden", WEBHOOK))
    done = await apply_operation(server, operation, dry_run=dry_run, check_guards=nothing_forbidden)
    assert (done.status, done.reason) == ("refused", Reason.ADMISSION_DENIED)
