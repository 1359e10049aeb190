"""`DATASHEET.md`, `LICENSE.md` and `README.md` of an export, filled from `texts.toml` and the items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

from formalimg.benchmarks.export.provenance import LicenceTerms, Origin, PublisherInfo
from formalimg.benchmarks.export.sheets import MarkdownTable, shared_texts
from formalimg.benchmarks.export.statistics import ItemStatistics

_UNRECORDED = "How the items were made is not recorded in them, and whoever made this export did not say."

_DEFAULTS = {
    "summary": "$items items of $title.",
    "levels": "The level is $level.",
    "made": _UNRECORDED,
    "motivation": "To test text-to-image models.",
    "asks": "Each item has a prompt, and what an image of it must show.",
    "judged": "No images and no labels are part of the data.",
    "uses": ["Testing text-to-image models."],
    "not_for": ["Not meant for training: a model that has seen the items is no longer tested by them."],
    "limitations": ["The judge's own mistakes enter every score."],
    "impact": "Not examined.",
    "biases": ["Not examined: formalimg only counted what comes up."],
    "personal": "Not examined.",
}
"""Texts of a suite for which its benchmark has no others."""

_PUBLISHED_FORM = " The folder `published` has the same items in the form of the authors' own files."


class DatasheetTexts(NamedTuple):
    """The texts of a data sheet, each a sentence or a few."""

    summary: str
    origin: str
    motivation: str
    asks: str
    levels: str
    made: str
    collection_type: str
    preprocessing: tuple[str, ...]
    judged: str
    uses: tuple[str, ...]
    not_for: tuple[str, ...]
    limitations: tuple[str, ...]
    biases: tuple[str, ...]
    personal: str
    impact: str
    maintenance: str
    citation: str


def datasheet_texts(statistics: ItemStatistics, origin: Origin, imprint: PublisherInfo) -> DatasheetTexts:
    """Return the texts for these items."""
    known = shared_texts()
    suite, sheet = statistics.suite, statistics.sheet
    found = {
        **_DEFAULTS,
        **sheet.texts,
        **known["origins"][origin.kind],
    }
    if origin.kind == "published":
        found["preprocessing"] = [*found["preprocessing"], *sheet.as_published]
    values = {
        **_values(origin),
        "items": f"{statistics.items:,}",
        "title": suite.title,
        "level": suite.level,
        "version": statistics.version,
        "made": imprint.made or _UNRECORDED,
        "paper": known["papers"].get(origin.source.name, ""),
    }
    return DatasheetTexts(*(_filled(found[name], values) for name in DatasheetTexts._fields))


def licence_note(origin: Origin, terms: LicenceTerms) -> str:
    """Return the paragraph about the licence."""
    beside = (
        f"The licence that lay beside them is in {', '.join(f'authors-{name}' for name in origin.licence_files)}."
        if origin.licence_files
        else "No text of a licence lay beside them: look it up with the authors before you give the items away."
    )
    values = {
        **_values(origin),
        "stated": origin.source.licence,
        "beside": beside,
        "licence": terms.licence,
        "licence_url": terms.licence_url,
    }
    return Template(shared_texts()["licences"][origin.kind]).substitute(values).strip()


def _values(origin: Origin) -> dict[str, str]:
    return {
        "repository": origin.source.repository,
        "revision": f" (commit {origin.commit})" if origin.commit else "",
        "proof": shared_texts()["proofs"][origin.proven_by or "nothing"],
    }


def _filled(words: str | list[str], values: Mapping[str, str]) -> Any:
    """Return a text, or a list of texts, with the placeholders filled."""
    if isinstance(words, str):
        return Template(words).substitute(values)
    return tuple(Template(line).substitute(values) for line in words)


def datasheet_text(
    statistics: ItemStatistics, origin: Origin, terms: LicenceTerms, imprint: PublisherInfo, *, published: bool
) -> str:
    """Return the text of `DATASHEET.md`: the questions of "datasheets for datasets", answered from the items."""
    texts = datasheet_texts(statistics, origin, imprint)
    lists = {
        name: _listed(getattr(texts, name)) for name in ("preprocessing", "uses", "not_for", "limitations", "biases")
    }
    where = f" at {imprint.url}" if imprint.url else ""
    values = {
        **texts._asdict(),
        **lists,
        "title": statistics.suite.title,
        "name": statistics.suite.name,
        "version": statistics.version or "none is given",
        "items": f"{statistics.items:,}",
        "digest": statistics.digest,
        "licence": terms.licence,
        "licence_url": terms.licence_url,
        "creator": _cell(terms.creator or "not said"),
        "published": _cell(f"{imprint.date or 'no date given'}{where}"),
        "level_table": _markdown(statistics.levels),
        "distinct": f"{statistics.distinct:,} prompts are distinct. Words are counted between blanks.",
        "tag_table": _markdown(statistics.tags) if statistics.tags else "The items have no tags.",
        "content_table": _markdown(statistics.sheet.contents),
        "notes": _listed(statistics.sheet.notes),
        "published_form": _PUBLISHED_FORM if published else "",
    }
    template = (files("formalimg.benchmarks.export") / "datasheet.md").read_text(encoding="utf-8")
    return Template(template).substitute(values)


def dataset_card(statistics: ItemStatistics, terms: LicenceTerms, data: str) -> str:
    """Return the text of `README.md`: which file is the data, for dataset libraries, and where to read more."""
    suite = statistics.suite
    values = {"title": suite.title, "quoted": json.dumps(suite.title, ensure_ascii=False), "name": suite.name}
    values |= {"items": f"{statistics.items:,}", "licence": terms.licence, "data": data}
    template = (files("formalimg.benchmarks.export") / "readme.md").read_text(encoding="utf-8")
    return Template(template).substitute(values)


def licence_text(statistics: ItemStatistics, origin: Origin, terms: LicenceTerms) -> str:
    """Return the text of `LICENSE.md`."""
    return f"# Licence of these items of {statistics.suite.title}\n\n{licence_note(origin, terms)}\n"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _markdown(table: MarkdownTable) -> str:
    rows = [table.heading, ("---", *("---:" for _ in table.heading[1:])), *table.rows]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
