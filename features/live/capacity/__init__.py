"""Capacity of one replica of a workload: the requests a second at which the objective just holds.

Learned for each workload and version of its pods from how requests fared at each rate; until enough was seen, from
the CPU that a request takes and the CPU that a replica has asked for.

- `windows.py`: a minute of settled requests as one piece of evidence
- `evidence.py`: what was seen at which rate, forgotten slowly
- `curve.py`: the rate at which the objective breaks, with its interval
- `learned.py`: the fold over observations, and a statement for each workload
"""
