"""When a look at a Service violates its objective: the outcome score's own, 99 % of the requests within 0.5 s."""

from __future__ import annotations

import numpy as np
import pytest

from lab.experiments.served import ServedRequests
from twin.port.latencies import Account, count_latencies


@pytest.mark.parametrize(
    ("late", "failed", "seconds"),
    [(0, 0, 0.0), (9, 0, 0.0), (11, 0, 15.0), (6, 6, 15.0), (0, 11, 15.0), (4, 4, 0.0)],
)
def test_more_than_one_bad_request_in_a_hundred_violates_the_objective(
    late: int, failed: int, seconds: float
) -> None:
    """Late and failed ones count together, of a thousand; exactly half a second is in time."""
    served = ServedRequests()
    in_time = 1_000 - late - failed
    latencies = np.array([0.5] * in_time + [0.6] * late)
    account = Account()
    account.arrived, account.served = 1_000.0, float(in_time + late)
    account.timed_out = float(failed)
    account.latencies = count_latencies(latencies)
    served.look({"shop/web": account}, 15.0)

    assert served.slo_seconds == seconds
