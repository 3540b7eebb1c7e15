"""Which pods a term of pod affinity, or a spreading constraint, is about.

Keys to match (`matchLabelKeys`) take their values from the pod that carries the term, as the API
server does at creation (registry/core/pod/strategy.go) and podtopologyspread/common.go does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from twin.needs import PodTerm
from twin.records import Object
from twin.selectors import matches

NamespaceLabels = Callable[[str], Mapping[str, str]]
"""Labels of a namespace by its name."""


def selector_with_keys(
    selector: Object | None,
    labels: Mapping[str, str],
    keys: tuple[str, ...],
    mismatch_keys: tuple[str, ...] = (),
) -> Object | None:
    """Return `selector` narrowed by the values that `labels` has for the keys."""
    added: list[Object] = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for operator, label_keys in (("In", keys), ("NotIn", mismatch_keys))
        for key in label_keys
        if key in labels
    ]
    if selector is None or not added:
        return selector
    return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *added]}


def term_selector(term: PodTerm, labels: Mapping[str, str]) -> Object | None:
    """Return the selector of a term of a pod with these labels."""
    return selector_with_keys(term.selector, labels, term.label_keys, term.mismatch_label_keys)


def in_namespaces(term: PodTerm, home: str, namespace: str, labels_of: NamespaceLabels) -> bool:
    """True when a term of a pod in namespace `home` is about pods in `namespace`."""
    if not term.namespaces and term.namespace_selector is None:
        return namespace == home
    if namespace in term.namespaces:
        return True
    return term.namespace_selector is not None and matches(
        term.namespace_selector, labels_of(namespace)
    )


def term_matches(
    term: PodTerm,
    carrier: tuple[str, Mapping[str, str]],
    target: tuple[str, Mapping[str, str]],
    labels_of: NamespaceLabels,
) -> bool:
    """True when a term of `carrier` selects `target`; both are (namespace, labels)."""
    if not in_namespaces(term, carrier[0], target[0], labels_of):
        return False
    return matches(term_selector(term, carrier[1]), target[1])
