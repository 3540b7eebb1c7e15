"""What may be written field by field: the table of `field_rows.txt`, asked of every face."""

from __future__ import annotations

import pytest

from twin.tests.contract.faces import Place
from twin.tests.contract.field_rows import Table, answers, tables


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.label)
def test_fields_are_checked_as_on_a_real_server(place: Place, table: Table) -> None:
    """Each change of an object is taken or refused, and a refusal names the fields and reasons it should."""
    found = dict(answers(place.face, place.namespace, table))
    wanted = {row.changes: row.answer for row in table.rows}
    assert wanted == found


def test_the_table_is_large() -> None:
    """The kinds that clients write most have their rows."""
    rows = {table.label: len(table.rows) for table in tables()}
    assert sum(rows.values()) > 500
    assert rows["api/v1/pods"] > 150
