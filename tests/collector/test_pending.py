"""Why a pod is Pending, from the API's own words."""

from __future__ import annotations

import pytest

from schemas.reasons import PendingClass
from services.pending import cause_counts, pending_class

TAIL = " preemption: 0/5 nodes are available: 5 Preemption is not helpful for scheduling."


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("5 Insufficient cpu.", PendingClass.INSUFFICIENT_CPU),
        ("2 Insufficient cpu, 3 Insufficient memory.", PendingClass.INSUFFICIENT_MEMORY),
        ("5 Insufficient nvidia.com/gpu.", PendingClass.INSUFFICIENT_GPU),
        ("5 Too many pods.", PendingClass.INSUFFICIENT_PODS),
        ("5 node(s) didn't match Pod's node affinity/selector.", PendingClass.SELECTOR),
        ("5 node(s) had untolerated taint {team: a}.", PendingClass.TAINT),
        (
            "1 Insufficient cpu, 4 node(s) had untolerated taint {foresail.dev/capped: true}.",
            PendingClass.TAINT,
        ),
        ("5 node(s) had untolerated taint(s). no new claims to deallocate,", PendingClass.TAINT),
        (
            "5 Insufficient nvidia.com/gpu. no new claims to deallocate,",
            PendingClass.INSUFFICIENT_GPU,
        ),
        ("5 node(s) didn't satisfy plugin(s) [NodeAffinity].", PendingClass.SELECTOR),
        ("5 node(s) were unschedulable.", PendingClass.UNSCHEDULABLE_NODES),
        (
            "3 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, 2 Too many pods.",
            PendingClass.UNSCHEDULABLE_NODES,
        ),
        ("5 node(s) had volume node affinity conflict.", PendingClass.VOLUME),
        ("5 node(s) didn't have free ports for the requested pod ports.", PendingClass.OTHER),
    ],
)
def test_the_cause_of_most_nodes_names_the_class(message: str, expected: PendingClass) -> None:
    """The scheduler counts nodes by cause; the class is the cause with the most nodes."""
    text = f"0/5 nodes are available: {message}{TAIL}"
    assert pending_class(bound=False, reason="Unschedulable", message=text) is expected


def test_all_causes_stay_countable() -> None:
    """Causes of one class add up, those of different classes stay apart."""
    text = (
        "0/9 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 node(s) had "
        f"untolerated taint {{c: d}}, 6 Insufficient cpu.{TAIL}"
    )
    assert cause_counts(text) == {PendingClass.TAINT: 3, PendingClass.INSUFFICIENT_CPU: 6}


@pytest.mark.parametrize(
    ("reason", "message", "expected"),
    [
        ("", "", PendingClass.NOT_YET_TRIED),
        ("SchedulingGated", "Scheduling is blocked", PendingClass.GATED),
        ("SchedulingGated", "Scheduling is blocked (kueue.x-k8s.io/admission)", PendingClass.KUEUE),
        (
            "Unschedulable",
            "pod has unbound immediate PersistentVolumeClaims",
            PendingClass.VOLUME,
        ),
        ("Unschedulable", "something new", PendingClass.OTHER),
    ],
)
def test_other_reasons_without_a_node(reason: str, message: str, expected: PendingClass) -> None:
    """Gates, volumes and pods that were not tried yet have classes of their own."""
    assert pending_class(bound=False, reason=reason, message=message) is expected


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("", PendingClass.STARTING),
        ("ContainerCreating", PendingClass.STARTING),
        ("ImagePullBackOff", PendingClass.IMAGE),
        ("ErrImagePull", PendingClass.IMAGE),
        ("CreateContainerConfigError", PendingClass.OTHER),
    ],
)
def test_reasons_on_a_node(reason: str, expected: PendingClass) -> None:
    """A bound pod waits for its image, for its containers, or for something else."""
    assert pending_class(bound=True, reason=reason, message="") is expected
