"""Made-up streams with everything in them."""

from __future__ import annotations

from random import Random

from lab.learning.jobs import Amounts, Job, JobStream, Outcome, ordered_stream

GIB = 2**30
OUTCOMES = (Outcome.SUCCEEDED, Outcome.SUCCEEDED, Outcome.FAILED, Outcome.OUT_OF_MEMORY)


def random_stream(
    seed: int, count: int = 30, *, grid: float = 1.0, offset: float = 0.0
) -> JobStream:
    """Return jobs with ties, priorities, GPUs, failures, deadlines and wrong estimates.

    Args:
        seed: the same seed gives the same jobs.
        count: how many.
        grid: arrivals and durations are multiples of so many seconds, and `offset` more.
        offset: see `grid`.
    """
    random = Random(f"{seed}/random-stream")

    def seconds(least: float, most: float) -> float:
        return round(grid * random.randrange(int(least / grid), int(most / grid)), 3)

    jobs = []
    for number in range(count):
        truth, deadline = seconds(1, 120) + offset, random.choice((float("inf"), 58.0))
        if abs(truth - deadline) < 2:  # the deadline of a real Job is one of whole seconds
            deadline = float("inf")
        jobs.append(
            Job(
                name=f"job-{number}",
                arrival_seconds=seconds(0, 300) + offset,
                requests=Amounts(
                    random.randrange(1, 9) * 500, random.randrange(1, 9) * GIB, random.randrange(3)
                ),
                estimate_seconds=seconds(5, 120),
                true_seconds=truth,
                priority=random.randrange(4),
                kind=random.choice(("spark", "ml", "etl", "batch", "odd")),
                pods=random.randrange(1, 5),
                outcome=random.choice(OUTCOMES),
                deadline_seconds=deadline,
            )
        )
    return ordered_stream(f"random-{seed}", jobs, Amounts(8_000, 16 * GIB, 4))
