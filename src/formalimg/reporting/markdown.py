"""Tables for pages in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from formalimg.reporting.captions import caption, remarks
from formalimg.reporting.cells import cell_text, note_of, words_in_front
from formalimg.reporting.comparison import Comparison, Section
from formalimg.reporting.grid import grid_of
from formalimg.reporting.tables import Table


def markdown(comparison: Comparison) -> str:
    """A heading, a table and its notes for each suite."""
    return "\n".join(_section(section, comparison) for section in comparison.sections)


def _section(section: Section, comparison: Comparison) -> str:
    grid = grid_of(section)
    held = [grid.held] if grid.held else []
    heads = ["run", *(f"{grid.level} {level}".strip() for level in grid.levels), *grid.bands, *held, "scored"]
    lines = [
        f"## {_escaped(section.suite.title)}",
        "",
        _line(heads),
        _line(["---", *["---:"] * (len(heads) - 1)]),
        *(
            _line(
                [
                    _escaped(line.name),
                    *line.levels,
                    *line.bands,
                    *([line.held] if grid.held else []),
                    line.scored,
                ]
            )
            for line in grid.lines
        ),
        "",
        _escaped(caption(section, comparison, "G alone")),
        "",
        *(f"- {_escaped(remark)}" for remark in remarks(section)),
    ]
    return "\n".join(["\n".join(lines).rstrip() + "\n", *map(_more, section.tables)])


def _more(table: Table) -> str:
    words = words_in_front(table)
    aligned = ["---"] * words + ["---:"] * (len(table.heads) - words)
    lines = [
        f"### {_escaped(table.title)}",
        "",
        _line([_escaped(head) for head in table.heads]),
        _line(aligned),
        *(_line([_escaped(cell_text(cell)) for cell in row.cells]) for row in table.rows),
        "",
        _escaped(note_of(table)),
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Names may hold anything; what would be markup is written so that it is not."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_\[\]|])", r"\\\1", text)
