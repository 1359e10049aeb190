"""Documents of an export: `DATASHEET.md`, `LICENSE.md`, `README.md`, and Croissant metadata (JSON-LD 1.1)."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple

from formalimg.benchmarks.export.sheets import ItemStatistics, MarkdownTable, shared_fields, shared_texts

if TYPE_CHECKING:
    from formalimg.benchmarks.export.suite_export import LicenceTerms, Origin, PublisherInfo

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


def _fill_answers(statistics: ItemStatistics, origin: Origin, imprint: PublisherInfo) -> dict[str, Any]:
    """Return the answers of the data sheet, one or more sentences each, by name."""
    texts = shared_texts()
    suite, sheet = statistics.suite, statistics.sheet
    answers = {**_DEFAULTS, **sheet.texts, **texts["origins"][origin.kind]}
    if origin.kind == "published":
        answers["preprocessing"] = [*answers["preprocessing"], *sheet.as_published]
    values = {
        **_origin_values(origin),
        "items": f"{statistics.items:,}",
        "title": suite.title,
        "level": suite.level,
        "version": statistics.version,
        "made": imprint.made or _UNRECORDED,
        "paper": texts["papers"].get(origin.source.name, ""),
    }
    return {
        name: Template(answer).substitute(values)
        if isinstance(answer, str)
        else [Template(line).substitute(values) for line in answer]
        for name, answer in answers.items()
    }


def licence_text(statistics: ItemStatistics, origin: Origin, terms: LicenceTerms) -> str:
    """Return the text of `LICENSE.md`."""
    beside = (
        f"The licence that lay beside them is in {', '.join(f'authors-{name}' for name in origin.licence_files)}."
        if origin.licence_files
        else "No text of a licence lay beside them: look it up with the authors before you give the items away."
    )
    values = {
        **_origin_values(origin),
        "stated": origin.source.licence,
        "beside": beside,
        "licence": terms.licence,
        "licence_url": terms.licence_url,
    }
    note = Template(shared_texts()["licences"][origin.kind]).substitute(values).strip()
    return f"# Licence of these items of {statistics.suite.title}\n\n{note}\n"


def _origin_values(origin: Origin) -> dict[str, str]:
    return {
        "repository": origin.source.repository,
        "revision": f" (commit {origin.commit})" if origin.commit else "",
        "proof": shared_texts()["proofs"][origin.proven_by or "nothing"],
    }


def datasheet_text(
    statistics: ItemStatistics, origin: Origin, terms: LicenceTerms, imprint: PublisherInfo, *, published: bool
) -> str:
    """Return the text of `DATASHEET.md`, which answers the questions of "Datasheets for Datasets"."""
    answers = _fill_answers(statistics, origin, imprint)
    address = f" at {imprint.url}" if imprint.url else ""
    values = {
        **{name: answer if isinstance(answer, str) else _format_list(answer) for name, answer in answers.items()},
        "title": statistics.suite.title,
        "name": statistics.suite.name,
        "version": statistics.version or "none is given",
        "items": f"{statistics.items:,}",
        "digest": statistics.digest,
        "licence": terms.licence,
        "licence_url": terms.licence_url,
        "creator": _escape_cell(terms.creator or "not said"),
        "published": _escape_cell(f"{imprint.date or 'no date given'}{address}"),
        "level_table": _format_table(statistics.levels),
        "distinct": f"{statistics.distinct:,} prompts are distinct. Words are counted between blanks.",
        "tag_table": _format_table(statistics.tags) if statistics.tags else "The items have no tags.",
        "content_table": _format_table(statistics.sheet.contents),
        "notes": _format_list(statistics.sheet.notes),
        "published_form": _PUBLISHED_FORM if published else "",
    }
    return Template(_read_text("datasheet.md")).substitute(values)


def dataset_card(statistics: ItemStatistics, terms: LicenceTerms, data: str) -> str:
    """Return the text of `README.md`, which points dataset libraries to the data file and readers to more."""
    suite = statistics.suite
    values = {"title": suite.title, "quoted": json.dumps(suite.title, ensure_ascii=False), "name": suite.name}
    values |= {"items": f"{statistics.items:,}", "licence": terms.licence, "data": data}
    return Template(_read_text("readme.md")).substitute(values)


def _format_list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _format_table(table: MarkdownTable) -> str:
    rows = [table.heading, ("---", *("---:" for _ in table.heading[1:])), *table.rows]
    return "\n".join(f"| {' | '.join(map(_escape_cell, row))} |" for row in rows)


def _escape_cell(text: str) -> str:
    return text.replace("|", r"\|")


_CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
_RECORDS = "items"


class DataFile(NamedTuple):
    """The items file that the metadata describes."""

    name: str
    size: int  # in bytes
    sha256: str
    columns: frozenset[str]  # the fields that at least one record has

    @classmethod
    def of(cls, path: Path) -> DataFile:
        """Create the description of a JSON Lines file."""
        data = path.read_bytes()
        columns = frozenset(name for line in data.splitlines() for name in json.loads(line))
        return cls(path.name, len(data), hashlib.sha256(data).hexdigest(), columns)


def croissant_text(
    statistics: ItemStatistics, origin: Origin, terms: LicenceTerms, imprint: PublisherInfo, data: DataFile
) -> str:
    """Return the text of `croissant.json`."""
    texts = _fill_answers(statistics, origin, imprint)
    described: dict[str, Any] = {
        "@context": _build_context(),
        "@type": "sc:Dataset",
        "conformsTo": _CONFORMS_TO,
        "name": statistics.suite.title,
        "description": f"{texts['summary']} {texts['origin']}",
        "alternateName": statistics.suite.name,
        "identifier": statistics.digest,
        "isLiveDataset": False,
        "keywords": ["text-to-image", "evaluation", "benchmark", statistics.suite.name],
        "license": terms.licence_url,
        "citeAs": texts["citation"],
    }
    if origin.kind != "own":
        described["inLanguage"] = "en"
    if terms.creator:
        described["creator"] = {"@type": "sc:Organization", "name": terms.creator}
    if statistics.version:
        described["version"] = statistics.version
    if address := _find_address(origin, imprint):
        described["url"] = address
    if imprint.date:
        described["datePublished"] = imprint.date
    described |= {
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": data.name,
                "name": data.name,
                "description": "The items, one JSON object per line.",
                "contentUrl": data.name,
                "contentSize": f"{data.size} B",
                "encodingFormat": "application/jsonlines",
                "sha256": data.sha256,
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": _RECORDS,
                "name": _RECORDS,
                "description": f"The {statistics.items:,} items.",
                "key": {"@id": f"{_RECORDS}/id"},
                "field": [
                    _build_field(entry, data.name)
                    for entry in (*shared_fields()["all"], *statistics.sheet.fields)
                    if entry["name"] in data.columns
                ],
            }
        ],
        "rai:dataCollection": texts["made"],
        "rai:dataCollectionType": [texts["collection_type"]],
        "rai:dataPreprocessingProtocol": texts["preprocessing"],
        "rai:dataAnnotationProtocol": texts["judged"],
        "rai:dataUseCases": texts["uses"],
        "rai:dataLimitations": [*texts["limitations"], *texts["not_for"]],
        "rai:dataBiases": texts["biases"],
        "rai:dataSocialImpact": texts["impact"],
        "rai:personalSensitiveInformation": [texts["personal"]],
        "rai:dataReleaseMaintenancePlan": texts["maintenance"],
    }
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


def missing_for_publication(origin: Origin, terms: LicenceTerms, imprint: PublisherInfo) -> tuple[str, ...]:
    """Return the fields that Croissant requires of a published dataset and that are still unknown."""
    fields = {"creator": terms.creator, "datePublished": imprint.date, "url": _find_address(origin, imprint)}
    return tuple(name for name, value in fields.items() if not value)


def _find_address(origin: Origin, imprint: PublisherInfo) -> str:
    return imprint.url or (origin.source.repository if origin.kind == "published" else "")


def _build_context() -> dict[str, Any]:
    context = tomllib.loads(_read_text("context.toml"))
    words = {word: f"{space}:{word}" for space, inside in context["words"].items() for word in inside}
    meanings = {**context["namespaces"], **words, **context["special"]}
    return {"@language": context["language"], "@vocab": context["default"], **dict(sorted(meanings.items()))}


def _build_field(entry: Mapping[str, Any], data: str, parents: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the description of a column, or of a part of it, in a data file."""
    path = (*parents, entry["name"])
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": "/".join((_RECORDS, parents[0], entry["name"]) if parents else (_RECORDS, entry["name"])),
        "name": entry["name"],
        "description": entry["description"],
    }
    is_array = "parts" in entry or entry.get("array")
    array = {"isArray": True, "arrayShape": "-1"} if is_array else {}
    if "parts" in entry:
        inside = (*path, entry["inside"]) if "inside" in entry else path
        return {**field, **array, "subField": [_build_field(part, data, inside) for part in entry["parts"]]}
    source: dict[str, Any] = {"fileObject": {"@id": data}, "extract": {"column": path[0]}}
    if parents:
        source["transform"] = [{"jsonPath": step} for step in path[1:]]
    return {**field, "dataType": entry["type"], **array, "source": source}


def _read_text(name: str) -> str:
    return (files("formalimg.benchmarks.export") / name).read_text(encoding="utf-8")
