"""Careless changes to what the simulated API checks field by field, and the tests that must notice them."""

from __future__ import annotations

from proofs.planted.defect import Defect

FIELDS = "tests/twin/contract/test_fields.py::test_fields_are_checked_as_on_a_real_server"
REQUESTS = "tests/twin/contract/test_requests.py::"
NULLS = "tests/twin/contract/test_nulls.py::"
FLOWS = "tests/twin/contract/test_flow_control.py::"
PARTS = "tests/twin/contract/test_parts.py::"
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
        "a later deletion policy is not heard",
        "twin/admission/deletion.py",
        "    if policy is not None:\n",
        "    if policy is not None and record.deletion_at is None:\n",
        f"{REQUESTS}test_a_later_policy_replaces_the_earlier_one[in process]",
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
    Defect(
        "what a patch adds comes last",
        "twin/api/patching.py",
        "    if order is None:  # items",
        "    if order is None and not live:  # items",
        f"{REQUESTS}test_new_items_of_a_strategic_patch_come_in_its_order[in process]",
    ),
    Defect(
        "a null that is applied takes away",
        "twin/api/field_sets.py",
        "    if before and application is None:\n        return live\n",
        "",
        f"{NULLS}test_null_instead_of_what_is_there_takes_nothing_away[in process]",
    ),
    Defect(
        "a null in a list is nothing",
        "twin/api/schema/checking.py",
        " or element.message is not None\n",
        "\n",
        f"{NULLS}test_a_null_in_a_list_is_an_empty_item",
    ),
    Defect(
        "an event can be rewritten",
        "twin/admission/events.py",
        "        if before != after:\n",
        "        if before and not after:\n",
        'tests/twin/contract/test_events.py::test_what_an_event_says_stays[in process-change0-message-"other"]',
    ),
    Defect(
        "a flow schema may be about everybody and more",
        "twin/admission/flow_control.py",
        '    if "*" in names and len(names) > 1:\n',
        "    if not names:\n",
        f"{FLOWS}test_a_schema_that_is_refused",
    ),
    Defect(
        "a kubelet chooses the quality of service",
        "twin/admission/pod_status.py",
        '    if status.setdefault("qosClass", qos) != qos:\n',
        '    if status.setdefault("qosClass", qos) is None:\n',
        f"{FLOWS}test_a_status_of_a_pod_that_is_refused",
    ),
    Defect(
        "a namespace that goes takes the simulation with it",
        "twin/controllers/loop.py",
        "        except ApiError:  # such as",
        "        except KeyError:  # such as",
        "tests/twin/controllers/test_terminating.py::test_a_service_in_a_namespace_that_goes",
    ),
    Defect(
        "an item that is applied twice is told by its list alone",
        "twin/api/typed_values.py",
        "        if (place.keys or place.is_set) and inner in seen:\n",
        "        if place.is_set and inner in seen:\n",
        "tests/twin/contract/test_applied_types.py::test_a_pod_of_other_types",
    ),
    Defect(
        "a list of custom resources has no end",
        "twin/api/listing.py",
        '{"continue": "", **metadata}',
        "{**metadata}",
        "tests/twin/contract/test_custom_resources.py::test_objects_live_as_others_do[in process]",
    ),
)
