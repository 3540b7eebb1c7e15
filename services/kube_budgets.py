"""PodDisruptionBudgets: which pods they cover, and how many of those may go now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from services.kube_objects import KubeStruct, Meta

PATH = "/apis/policy/v1/poddisruptionbudgets"


class Requirement(KubeStruct, frozen=True):
    """spec.selector.matchExpressions[]."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(KubeStruct, frozen=True):
    """spec.selector."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()


class BudgetSpec(KubeStruct, frozen=True):
    """spec of a PodDisruptionBudget."""

    selector: LabelSelector | None = None


class BudgetStatus(KubeStruct, frozen=True):
    """status of a PodDisruptionBudget."""

    disruptions_allowed: int = 0


class PodDisruptionBudget(KubeStruct, frozen=True):
    """A PodDisruptionBudget."""

    metadata: Meta = Meta()
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()

    def covers(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Say whether it selects a pod; without a selector it selects none, with an empty one all of its namespace."""
        selector = self.spec.selector
        if selector is None or namespace != self.metadata.namespace:
            return False
        return selector.match_labels.items() <= labels.items() and all(
            _meets(requirement, labels) for requirement in selector.match_expressions
        )


def covering(
    budgets: Iterable[PodDisruptionBudget], namespace: str, labels: Mapping[str, str]
) -> list[PodDisruptionBudget]:
    """Return the budgets that cover a pod; the API refuses to evict one that several cover."""
    return [budget for budget in budgets if budget.covers(namespace, labels)]


def _meets(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Say whether labels meet a requirement; an operator that is not known is taken to be met."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return True
