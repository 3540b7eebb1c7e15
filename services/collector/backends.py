"""Which Deployment stands behind a Service: the one whose pod template carries what the Service selects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from services.kube_workloads import Deployment, Service


def deployments_behind(
    services: Iterable[Service], deployments: Iterable[Deployment]
) -> Mapping[str, str]:
    """Return `<namespace>/Deployment/<name>` by `<namespace>/<service>`.

    A Service without a selector, and one that selects the pods of none or of several Deployments, is left out.
    """
    by_label: dict[tuple[str, str, str], list[Deployment]] = defaultdict(list)
    for deployment in deployments:
        for label, value in deployment.spec.template.metadata.labels.items():
            by_label[deployment.metadata.namespace, label, value].append(deployment)
    behind: dict[str, str] = {}
    for service in services:
        namespace, selector = service.metadata.namespace, service.spec.selector
        if not selector:
            continue
        likely = by_label.get((namespace, *next(iter(selector.items()))), [])
        chosen = [one.metadata.name for one in likely if _selects(selector, one)]
        if len(chosen) == 1:
            behind[f"{namespace}/{service.metadata.name}"] = f"{namespace}/Deployment/{chosen[0]}"
    return behind


def _selects(selector: Mapping[str, str], deployment: Deployment) -> bool:
    return selector.items() <= deployment.spec.template.metadata.labels.items()
