"""Are queries answered as a real Prometheus answers them? The table is queries.toml, the samples samples.py."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from proofs.observability.prometheus import PrometheusFailed
from proofs.queries.beside import differences, read_queries
from proofs.row import Row, Scale

PART = "queries"
WHAT = "queries answered as Prometheus answers them, within 1e-9"


def prove(_: Scale) -> Iterator[Row]:
    """Ask both about every query of the table; the scale does not matter."""
    with TemporaryDirectory(prefix="foresail-queries-", ignore_cleanup_errors=True) as folder:
        try:
            count, wrong = asyncio.run(differences(Path(folder)))
        except PrometheusFailed as error:
            yield Row(PART, WHAT, 1, 0, str(error))
            return
    texts = len({query.text for query in read_queries()})
    detail = wrong[0][:300] if wrong else f"{texts} queries at {count} times and ranges"
    yield Row(PART, WHAT, count, count - len(wrong), detail)
