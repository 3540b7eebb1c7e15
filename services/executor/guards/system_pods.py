"""system_pods: nothing in a protected namespace (kube-system first of all) is touched, and no static pod
is removed, whatever else is named.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, found_check

ALWAYS = "kube-system"
"""Protected even where the settings leave it out."""


def check(question: Question) -> GuardCheck:
    """Fail when something protected would be written or removed."""
    return found_check(
        "system_pods", dict.fromkeys(_system_pods(question)), Reason.PROTECTED, "objects"
    )


def _system_pods(question: Question) -> Iterator[str]:
    protected = {*question.settings.protected_namespaces, ALWAYS}
    for reach in question.reaches:
        if reach.namespace in protected:
            yield f"{reach.key} is in a protected namespace"
        for pod in reach.pods:
            if pod.removed and pod.static:
                yield f"{pod.key} is a static pod"
            elif pod.removed and pod.namespace in protected:
                yield f"{pod.key} is in a protected namespace"


GUARDS = (Guard("system_pods", Needs.REACH, 10, check, each_write=True),)
