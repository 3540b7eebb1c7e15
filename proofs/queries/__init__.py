"""Are queries answered as a real Prometheus answers them? The table is queries.toml, the samples samples.py.

And does a real Prometheus that scrapes a live twin answer what dashboards ask (dashboards.toml)?
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from proofs.observability.prometheus import PrometheusFailed
from proofs.queries.beside import differences, read_queries
from proofs.queries.scraped import OF_THE_SCRAPER, ScrapedAnswer, scraped_answers
from proofs.row import Row, Scale

PART = "queries"
WHAT = "queries answered as Prometheus answers them, within 1e-9"
SCRAPED = "dashboards' queries answered with data by a Prometheus that scrapes a live twin"
SAME = "of these, answered with the series of the twin's own PromQL"


def prove(_: Scale) -> Iterator[Row]:
    """Ask both about every query of both tables; the scale does not matter."""
    yield from _beside()
    with TemporaryDirectory(prefix="foresail-scraped-", ignore_cleanup_errors=True) as folder:
        try:
            yield from scraped_rows(asyncio.run(scraped_answers(Path(folder))))
        except PrometheusFailed as error:
            yield Row(PART, SCRAPED, 1, 0, str(error))


def scraped_rows(answers: Sequence[ScrapedAnswer]) -> Iterator[Row]:
    """Yield the rows of what was scraped, each with the first query that did not hold."""
    wrong = [f"{one.name}: {one.objection}" for one in answers if one.objection]
    yield Row(PART, SCRAPED, len(answers), len(answers) - len(wrong), "".join(wrong[:1])[:300])
    compared = [one for one in answers if one.name not in OF_THE_SCRAPER]
    odd = [f"{one.name}: {one.difference}" for one in compared if one.difference]
    held = sum(not one.objection and not one.difference for one in compared)
    yield Row(PART, SAME, len(compared), held, "".join(odd[:1])[:300])


def _beside() -> Iterator[Row]:
    with TemporaryDirectory(prefix="foresail-queries-", ignore_cleanup_errors=True) as folder:
        try:
            count, wrong = asyncio.run(differences(Path(folder)))
        except PrometheusFailed as error:
            yield Row(PART, WHAT, 1, 0, str(error))
            return
    texts = len({query.text for query in read_queries()})
    detail = wrong[0][:300] if wrong else f"{texts} queries at {count} times and ranges"
    yield Row(PART, WHAT, count, count - len(wrong), detail)
