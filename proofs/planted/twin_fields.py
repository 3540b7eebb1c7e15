"""Careless changes to what the simulated API checks field by field, and the tests that must notice them."""

from __future__ import annotations

from proofs.planted.defect import Defect

FIELDS = "twin/tests/contract/test_fields.py::test_fields_are_checked_as_on_a_real_server"
REQUESTS = "twin/tests/contract/test_requests.py::"
PARTS = "twin/tests/contract/test_parts.py::"
TWIN_FIELDS = (
    Defect(
        "a probe may do nothing",
        "twin/admission/containers.py",
        '        findings.require(path, "must specify a handler type")\n',
        "",
        f"{FIELDS}[in process-api/v1/pods]",
    ),
    Defect(
        "a selector need not be one",
        "twin/admission/workloads.py",
        '    check_selector(stated, findings, "spec.selector")\n',
        "",
        f"{FIELDS}[in process-apis/apps/v1/deployments]",
    ),
    Defect(
        "a status is written without its metadata",
        "twin/part_writes.py",
        '    return subresource is None or (subresource == "status" and of_status)\n',
        "    return subresource is None and of_status is not None\n",
        f"{PARTS}test_a_status_is_written_with_the_metadata[in process-services]",
    ),
    Defect(
        "an ephemeral container can be changed",
        "twin/admission/ephemeral.py",
        "        elif known[name] != container:\n",
        "        elif not known[name]:\n",
        f"{PARTS}test_ephemeral_containers[in process]",
    ),
)
