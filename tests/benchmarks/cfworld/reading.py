"""Published data with the repairs that reading made."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from formalimg.benchmarks.cfworld.published import read_published_files
from formalimg.benchmarks.cfworld.published_records import DataRepair
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.benchmarks.odd_records import SkippedRecord
from formalimg.benchmarks.record import ItemFindings
from formalimg.types import Item


class PublishedItems(NamedTuple):
    items: list[Item[CounterfactualSpec]]
    repairs: tuple[DataRepair, ...]
    unscorable: tuple[str, ...]
    skipped: tuple[SkippedRecord, ...]


def read_cf_world(path: Path, suite: str = "cf-world") -> PublishedItems:
    findings = ItemFindings()
    items, files = read_published_files(path, suite, findings)
    findings.raise_any()
    unscorable = tuple(item.id for item in items if not item.spec.questions)
    return PublishedItems(items, tuple(files.repairs), unscorable, tuple(findings.skipped))
