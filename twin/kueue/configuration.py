"""Kueue's own Configuration (config.kueue.x-k8s.io/v1beta2), read as far as the twin acts on it.

What belongs to Kueue as a program (its server, its certificates, its metrics) is passed over; what would make it decide
otherwise and is not simulated is refused by name.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from inputs.errors import InputError
from inputs.limited_files import BadFile, read_limited
from inputs.limited_yaml import MOST_BYTES, BadYaml, load_yaml
from inputs.quantities import parse_quantity
from twin.config.kueue import KueueConfig, PodsReadyConfig, Transformation

FIELD = "kueue configuration"
PASSED_OVER = frozenset(
    {
        *("apiVersion", "kind", "namespace", "webhook", "leaderElection", "metrics", "health"),
        *("controller", "internalCertManagement", "clientConnection", "visibilityServer", "tls"),
        *("pprofBindAddress", "integrations"),
    }
)
_DURATION = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{1,9})?(?:h|m|s|ms))+")
_PART = re.compile(r"([0-9.]+)(h|m(?!s)|s|ms)")
_UNITS = {"h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def _seconds(text: object) -> float:
    if not isinstance(text, str) or not _DURATION.fullmatch(text):
        raise ValueError("give a duration such as 30s, 5m or 1h30m")
    return math.fsum(float(n) * _UNITS[unit] for n, unit in _PART.findall(text))


def _quantity(text: object) -> str:
    parse_quantity(str(text))
    return str(text)


Seconds = Annotated[float, BeforeValidator(_seconds)]
Quantity = Annotated[str, BeforeValidator(_quantity)]
Count = Annotated[int, Field(strict=True, ge=0, le=1_000_000_000)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Requeuing(_Model):
    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    backoffLimitCount: Count | None = None  # noqa: N815 - Kueue's own names
    backoffBaseSeconds: Count = 60  # noqa: N815
    backoffMaxSeconds: Count = 3_600  # noqa: N815


class _PodsReady(_Model):
    timeout: Seconds = 1_800.0
    recoveryTimeout: Seconds | None = None  # noqa: N815
    blockAdmission: bool = False  # noqa: N815
    requeuingStrategy: _Requeuing = _Requeuing()  # noqa: N815


class _Transformed(_Model):
    input: str
    strategy: Literal["Retain", "Replace"] = "Retain"
    outputs: dict[str, Quantity] = Field(default_factory=dict)


class _Resources(_Model):
    quotaCheckStrategy: Literal["BlockUndeclared", "IgnoreUndeclared"] = "BlockUndeclared"  # noqa: N815
    excludeResourcePrefixes: tuple[str, ...] = ()  # noqa: N815
    transformations: tuple[_Transformed, ...] = ()


class _Retention(_Model):
    afterFinished: Seconds | None = None  # noqa: N815


class _Policies(_Model):
    workloads: _Retention = _Retention()


def _no_gates(gates: dict[str, bool]) -> dict[str, bool]:
    if gates:
        raise ValueError("feature gates cannot be set here: leave them out")
    return gates


class _Configuration(_Model):
    manageJobsWithoutQueueName: bool = False  # noqa: N815
    waitForPodsReady: _PodsReady | None = None  # noqa: N815
    resources: _Resources = _Resources()
    objectRetentionPolicies: _Policies = _Policies()  # noqa: N815
    featureGates: Annotated[dict[str, bool], AfterValidator(_no_gates)] = Field(  # noqa: N815
        default_factory=dict
    )


def read_configuration(path: Path) -> KueueConfig:
    """Read a file with a Configuration.

    Raises:
        InputError: it cannot be read, or a field of it is wrong or not simulated.
    """
    try:
        document = load_yaml(read_limited(path, MOST_BYTES))
    except OSError as error:
        raise InputError(FIELD, path, f"give a readable file ({error.strerror})") from error
    except BadFile as error:
        raise InputError(FIELD, path, f"keep it below {MOST_BYTES} bytes") from error
    except BadYaml as error:
        raise InputError(FIELD, path, f"write it as YAML: {error}") from error
    return configuration_of(document)


def configuration_of(document: Any) -> KueueConfig:
    """Return the settings that a Configuration object stands for; raises InputError."""
    if not isinstance(document, dict):
        raise InputError(FIELD, type(document).__name__, "give a Configuration object")
    said = {name: value for name, value in document.items() if name not in PASSED_OVER}
    try:
        read = _Configuration.model_validate(said)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = ", ".join(sorted(_Configuration.model_fields))
            raise InputError(
                f"{FIELD}: {place}", _short(first["input"]), f"leave it out: {known} are read"
            ) from error
        raise InputError(f"{FIELD}: {place}", _short(first["input"]), first["msg"]) from error
    resources = read.resources
    return KueueConfig(
        served=True,
        every_job=read.manageJobsWithoutQueueName,
        pods_ready=None if read.waitForPodsReady is None else _pods_ready(read.waitForPodsReady),
        excluded_prefixes=resources.excludeResourcePrefixes,
        transformations=tuple(
            Transformation(one.input, one.strategy == "Retain", tuple(sorted(one.outputs.items())))
            for one in resources.transformations
        ),
        ignore_undeclared=resources.quotaCheckStrategy == "IgnoreUndeclared",
        keep_finished_seconds=read.objectRetentionPolicies.workloads.afterFinished,
    )


def _pods_ready(read: _PodsReady) -> PodsReadyConfig:
    rules = read.requeuingStrategy
    recovery = read.timeout if read.recoveryTimeout is None else read.recoveryTimeout
    return PodsReadyConfig(
        timeout_seconds=read.timeout,
        recovery_seconds=recovery or None,
        block_admission=read.blockAdmission,
        requeue_by=rules.timestamp,
        backoff_limit=rules.backoffLimitCount,
        backoff_base_seconds=rules.backoffBaseSeconds,
        backoff_most_seconds=rules.backoffMaxSeconds,
    )


def _short(value: object) -> str:
    return str(value)[:80]
