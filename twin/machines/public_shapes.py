"""A small table of public cloud shapes, with source and date.

Prices are on-demand Linux prices of one region, in US dollars an hour. Spot prices move by the minute;
the table takes a fixed part of the on-demand price, which is our own choice. Power follows the
coefficients of Cloud Carbon Footprint (watts per virtual core idle and busy, and per GiB of memory).
Boot times are our own choice within what Hao et al. measured (arXiv 2107.03467, 2021).
"""

from __future__ import annotations

from dataclasses import dataclass

from twin.config.provisioning import MachineType

GIB = 2**30
SPOT_RATIO = 0.35  # of the on-demand price: our own choice, spot prices move
MEMORY_WATTS_PER_GIB = 0.392  # Cloud Carbon Footprint, methodology: 0.000392 kWh per GB and hour


@dataclass(frozen=True, slots=True)
class _Cloud:
    """What all shapes of one provider share."""

    source: str
    zones: tuple[str, ...]
    idle_watts_per_core: float
    busy_watts_per_core: float
    boot_seconds: float


_AWS = _Cloud(
    "EC2 us-east-1, 2026-02-09 (aws/karpenter-provider-aws, zz_generated.pricing_aws.go)",
    ("us-east-1a", "us-east-1b", "us-east-1c"),
    0.74,
    3.50,
    45.0,
)
_GCP = _Cloud(
    "Compute Engine us-central1, 2025 list prices (cloud.google.com/compute/vm-instance-pricing)",
    ("us-central1-a", "us-central1-b", "us-central1-c"),
    0.71,
    4.26,
    60.0,
)
_ROWS: tuple[tuple[_Cloud, str, int, int, int, float], ...] = (
    # provider, name, virtual cores, GiB, GPUs, dollars an hour
    (_AWS, "c6i.large", 2, 4, 0, 0.085),
    (_AWS, "m5.large", 2, 8, 0, 0.096),
    (_AWS, "c6i.xlarge", 4, 8, 0, 0.17),
    (_AWS, "m5.xlarge", 4, 16, 0, 0.192),
    (_AWS, "c6i.2xlarge", 8, 16, 0, 0.34),
    (_AWS, "m5.2xlarge", 8, 32, 0, 0.384),
    (_AWS, "c6i.4xlarge", 16, 32, 0, 0.68),
    (_AWS, "m5.4xlarge", 16, 64, 0, 0.768),
    (_AWS, "m5.8xlarge", 32, 128, 0, 1.536),
    (_AWS, "g4dn.xlarge", 4, 16, 1, 0.526),
    (_AWS, "g5.2xlarge", 8, 32, 1, 1.212),
    (_GCP, "e2-standard-2", 2, 8, 0, 0.067006),
    (_GCP, "e2-standard-4", 4, 16, 0, 0.134012),
    (_GCP, "e2-standard-8", 8, 32, 0, 0.268024),
    (_GCP, "n2-standard-16", 16, 64, 0, 0.776944),
)


def public_shapes() -> tuple[MachineType, ...]:
    """Return the table, in order of provider and size."""
    return tuple(_shape(*row) for row in _ROWS)


def default_shapes() -> tuple[MachineType, ...]:
    """Return what is rented unless a file says otherwise: the shapes of the first provider alone, since
    no cluster mixes two.
    """
    return tuple(_shape(*row) for row in _ROWS if row[0] is _AWS)


def _shape(
    cloud: _Cloud, name: str, cores: int, memory_gib: int, gpus: int, price: float
) -> MachineType:
    memory_watts = MEMORY_WATTS_PER_GIB * memory_gib
    return MachineType(
        name=name,
        cpu_millicores=cores * 1000,
        memory_bytes=memory_gib * GIB,
        price_per_hour=price,
        spot_price_per_hour=round(price * SPOT_RATIO, 6),
        gpus=gpus,
        zones=cloud.zones,
        boot_median_seconds=cloud.boot_seconds,
        idle_watts=round(cloud.idle_watts_per_core * cores + memory_watts, 2),
        full_watts=round(cloud.busy_watts_per_core * cores + memory_watts, 2),
        source=cloud.source,
    )
