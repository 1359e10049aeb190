"""`DATASHEET.md` and `LICENSE.md`: what a dataset is, as people read it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from string import Template

from formalimg.suites.exporting.facts import Facts, Table
from formalimg.suites.exporting.imprint import Imprint, Terms
from formalimg.suites.exporting.origin import Origin
from formalimg.suites.exporting.texts import licence_words, texts_about

_PUBLISHED_FORM = " The folder `published` has the same items in the form of the authors' own files."


def datasheet_text(facts: Facts, origin: Origin, terms: Terms, imprint: Imprint, *, published: bool) -> str:
    """The text of `DATASHEET.md`: the questions of data sheets for datasets, answered from the items."""
    texts = texts_about(facts, origin, imprint)
    lists = {
        name: _listed(getattr(texts, name)) for name in ("preprocessing", "uses", "not_for", "limitations", "biases")
    }
    where = f" at {imprint.url}" if imprint.url else ""
    values = {
        **texts._asdict(),
        **lists,
        "title": facts.suite.title,
        "name": facts.suite.name,
        "version": facts.version or "none is given",
        "items": f"{facts.items:,}",
        "digest": facts.digest,
        "licence": terms.licence,
        "licence_url": terms.licence_url,
        "creator": _cell(terms.creator or "not said"),
        "published": _cell(f"{imprint.date or 'no date given'}{where}"),
        "level_table": _markdown(facts.levels),
        "distinct": f"{facts.distinct:,} prompts are distinct. Words are counted between blanks.",
        "tag_table": _markdown(facts.tags) if facts.tags else "The items have no tags.",
        "content_table": _markdown(facts.contents),
        "notes": _listed(facts.notes),
        "published_form": _PUBLISHED_FORM if published else "",
    }
    template = (files("formalimg.suites.exporting") / "datasheet.md").read_text(encoding="utf-8")
    return Template(template).substitute(values)


def licence_text(facts: Facts, origin: Origin, terms: Terms) -> str:
    """The text of `LICENSE.md`."""
    return f"# Licence of these items of {facts.suite.title}\n\n{licence_words(origin, terms)}\n"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _markdown(table: Table) -> str:
    rows = [table.heading, ("---", *("---:" for _ in table.heading[1:])), *table.rows]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
