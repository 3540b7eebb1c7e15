"""Worlds made from real request rates: machines and Services of one played day, and the seven days before it.

- `rate_sets.py`: the published series, read onto minutes
- `pieces.py`: which day of which series may be played, in each family
- `families.py`: the families, and what makes the past a bad guide in some
- `draw.py`: a seed's Services and machines
- `files.py`: a world as the files that the twin and a history store read
- `scaling_ahead/`: autoscalers that know the true future, or forecast as Crane does
"""
