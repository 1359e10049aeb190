"""Which tables a suite has besides the main one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from formalimg.reporting.concepts import concept_tables
from formalimg.reporting.counterfactual import counterfactual_tables
from formalimg.reporting.reading import HowCounted, SeenRun
from formalimg.reporting.tables import Table
from formalimg.suites import Suite

_Maker: TypeAlias = Callable[[Suite, Sequence[SeenRun], HowCounted], tuple[Table, ...]]

_BY_KIND: Mapping[str, _Maker] = {"concepts": concept_tables, "counterfactual": counterfactual_tables}


def more_tables(suite: Suite, runs: Sequence[SeenRun], how: HowCounted) -> tuple[Table, ...]:
    """The tables that the suite has besides the main one; those that have nothing to tell are not there."""
    maker = _BY_KIND.get(suite.kind)
    return () if maker is None else tuple(table for table in maker(suite, runs, how) if table.rows)
