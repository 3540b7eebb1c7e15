"""What pods request, as whole numbers: millicores of `cpu`, whole units of everything else.

Source: concepts/workload.md of Kueue ("Requests values adjustment"), administer_cluster_quotas.md (excluded prefixes,
transformations). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from decimal import ROUND_CEILING, Decimal

from inputs.quantities import cpu_text, memory_text, parse_millicores, parse_quantity, parse_whole
from twin.admission import limit_ranges
from twin.config.kueue import KueueConfig
from twin.records import Object

Amounts = dict[str, int]
PODS = "pods"
_BINARY = ("memory", "storage", "hugepages-")


def amount_of(resource: str, quantity: str | float) -> int:
    """Return a quantity as a whole number, rounded up; raises ValueError for another text."""
    return parse_millicores(quantity) if resource == "cpu" else parse_whole(quantity)


def amount_text(resource: str, amount: int) -> str:
    """Return an amount as a canonical quantity."""
    if resource == "cpu":
        return cpu_text(amount) if amount >= 0 else f"{amount}m"
    if any(word in resource for word in _BINARY):
        return memory_text(amount)
    return str(amount)


def texts(amounts: Mapping[str, int]) -> dict[str, str]:
    """Return amounts as quantities, by resource."""
    return {name: amount_text(name, amounts[name]) for name in sorted(amounts)}


def amounts_of(quantities: Mapping[str, str | float] | None) -> Amounts:
    """Return quantities as whole numbers, by resource."""
    return {name: amount_of(name, text) for name, text in (quantities or {}).items()}


def pod_requests(template_spec: Object, ranges: Iterable[Object], config: KueueConfig) -> Amounts:
    """Return what one pod counts as: with a LimitRange's defaults, limits where there are no
    requests, overhead, and the configuration's exclusions and transformations.
    """
    spec = deepcopy(template_spec)
    limit_ranges.fill(spec, ranges, {})
    total: Amounts = {}
    for container in spec.get("containers") or ():
        total = _added(total, _requests(container))
    started: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _requests(container)
        if container.get("restartPolicy") == "Always":
            total, started = _added(total, own), _added(started, own)
        else:
            needed = _added(started, own)
            total = {
                name: max(total.get(name, 0), needed.get(name, 0)) for name in {**total, **needed}
            }
    if spec.get("resources"):
        total |= _requests(spec)
    return _counted(_added(total, amounts_of(spec.get("overhead"))), config)


def _requests(part: Object) -> Amounts:
    resources = part.get("resources") or {}
    return amounts_of({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _added(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _counted(amounts: Amounts, config: KueueConfig) -> Amounts:
    """Leave excluded resources out and turn others into what they count as."""
    rules = {rule.resource: rule for rule in config.transformations}
    counted: dict[str, Decimal] = {}
    for name, amount in amounts.items():
        if any(name.startswith(prefix) for prefix in config.excluded_prefixes):
            continue
        value = Decimal(amount) / 1_000 if name == "cpu" else Decimal(amount)
        rule = rules.get(name)
        shares = () if rule is None else rule.outputs
        if rule is None or rule.kept:
            counted[name] = counted.get(name, Decimal(0)) + value
        for output, each in shares:
            counted[output] = counted.get(output, Decimal(0)) + value * parse_quantity(each)
    return {
        name: int((value * 1_000 if name == "cpu" else value).to_integral_value(ROUND_CEILING))
        for name, value in counted.items()
    }
