"""Captions for readers who cannot run the command: without names of options, and without rules that had no effect."""

from __future__ import annotations

import re
from dataclasses import replace

from formalimg.reports.comparison_model import Comparison, Section
from formalimg.reports.main_table import main_table
from formalimg.types import Table

_RULE = re.compile(r"Images? without a (?:verdict|score)")
_HINTS = re.compile(r" \(missing: \w+\)|: see --[\w-]+")
_OPTION = re.compile(r"(?:^|[\s(`])-{1,2}[a-z]|\bformalimg [a-z]+")


def plain_caption(text: str, *, is_whole: bool) -> str:
    """Return a caption or remark without sentences that name options or commands."""
    kept = []
    for sentence in re.split(r"(?<=[.:;]) (?=[A-Z])", text):
        plain = _HINTS.sub("", sentence)
        if not (_OPTION.search(plain) or (is_whole and _RULE.match(plain))):
            kept.append(plain)
    return " ".join(kept)


def plain_main_table(section: Section, comparison: Comparison) -> Table:
    """Return the main table of a section with plain captions."""
    table = main_table(section, comparison)
    whole = is_whole(section)
    caption, *remarks = (plain_caption(note, is_whole=whole) for note in table.notes)
    note = plain_caption(table.interval_note, is_whole=whole)
    return replace(table, notes=(caption, *filter(None, remarks)), interval_note=note)


def is_whole(section: Section) -> bool:
    """Return whether every image of a section has a verdict."""
    return all(row.summary.overall.scored == row.summary.overall.expected for row in section.rows)
