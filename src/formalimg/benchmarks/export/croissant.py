"""Croissant metadata: a machine-readable description of the dataset (JSON-LD 1.1, with responsible-AI fields)."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from formalimg.benchmarks.export.datasheet import datasheet_texts
from formalimg.benchmarks.export.provenance import LicenceTerms, Origin, PublisherInfo
from formalimg.benchmarks.export.sheets import shared_fields
from formalimg.benchmarks.export.statistics import ItemStatistics

_CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
_RECORDS = "items"


class DataFile(NamedTuple):
    """The items file that the metadata describes."""

    name: str  # what it is called
    size: int  # its bytes
    sha256: str  # their digest
    columns: frozenset[str]  # the fields that at least one record has

    @classmethod
    def of(cls, path: Path) -> DataFile:
        """Return the description of a JSON Lines file."""
        data = path.read_bytes()
        columns = frozenset(name for line in data.splitlines() for name in json.loads(line))
        return cls(path.name, len(data), hashlib.sha256(data).hexdigest(), columns)


def croissant_text(
    statistics: ItemStatistics, origin: Origin, terms: LicenceTerms, imprint: PublisherInfo, data: DataFile
) -> str:
    """Return the text of `croissant.json`."""
    texts = datasheet_texts(statistics, origin, imprint)
    described: dict[str, Any] = {
        "@context": _context(),
        "@type": "sc:Dataset",
        "conformsTo": _CONFORMS_TO,
        "name": statistics.suite.title,
        "description": f"{texts.summary} {texts.origin}",
        "alternateName": statistics.suite.name,
        "identifier": statistics.digest,
        "isLiveDataset": False,
        "keywords": ["text-to-image", "evaluation", "benchmark", statistics.suite.name],
        "license": terms.licence_url,
        "citeAs": texts.citation,
    }
    if origin.kind != "own":
        described["inLanguage"] = "en"
    if terms.creator:
        described["creator"] = {"@type": "sc:Organization", "name": terms.creator}
    if statistics.version:
        described["version"] = statistics.version
    if address := _address(origin, imprint):
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
                "field": _fields(statistics, data),
            }
        ],
        "rai:dataCollection": texts.made,
        "rai:dataCollectionType": [texts.collection_type],
        "rai:dataPreprocessingProtocol": list(texts.preprocessing),
        "rai:dataAnnotationProtocol": texts.judged,
        "rai:dataUseCases": list(texts.uses),
        "rai:dataLimitations": [*texts.limitations, *texts.not_for],
        "rai:dataBiases": list(texts.biases),
        "rai:dataSocialImpact": texts.impact,
        "rai:personalSensitiveInformation": [texts.personal],
        "rai:dataReleaseMaintenancePlan": texts.maintenance,
    }
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


def missing_for_publication(origin: Origin, terms: LicenceTerms, imprint: PublisherInfo) -> tuple[str, ...]:
    """Return the fields that Croissant requires of a published dataset and that are not known."""
    known = {"creator": terms.creator, "datePublished": imprint.date, "url": _address(origin, imprint)}
    return tuple(name for name, value in known.items() if not value)


def _address(origin: Origin, imprint: PublisherInfo) -> str:
    """Return the URL of the data: that of the publisher, or else of the authors' repository."""
    return imprint.url or (origin.source.repository if origin.kind == "published" else "")


def _context() -> dict[str, Any]:
    known = tomllib.loads(_read("context.toml"))
    words = {word: f"{space}:{word}" for space, inside in known["words"].items() for word in inside}
    meanings = {**known["namespaces"], **words, **known["special"]}
    return {"@language": known["language"], "@vocab": known["default"], **dict(sorted(meanings.items()))}


def _fields(statistics: ItemStatistics, data: DataFile) -> list[dict[str, Any]]:
    entries = [*shared_fields()["all"], *statistics.sheet.fields]
    return [_field(entry, data) for entry in entries if entry["name"] in data.columns]


def _field(entry: Mapping[str, Any], data: DataFile) -> dict[str, Any]:
    name = entry["name"]
    field = _named(f"{_RECORDS}/{name}", entry)
    if "parts" not in entry:
        return {**field, **_typed(entry), "source": _source(data, name)}
    path = [entry["inside"]] if "inside" in entry else []
    return {
        **field,
        "isArray": True,
        "arrayShape": "-1",
        "subField": [
            {
                **_named(f"{_RECORDS}/{name}/{part['name']}", part),
                **_typed(part),
                "source": _source(data, name, *path, part["name"]),
            }
            for part in entry["parts"]
        ],
    }


def _named(identity: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"@type": "cr:Field", "@id": identity, "name": entry["name"], "description": entry["description"]}


def _typed(entry: Mapping[str, Any]) -> dict[str, Any]:
    array = {"isArray": True, "arrayShape": "-1"} if entry.get("array") else {}
    return {"dataType": entry["type"], **array}


def _source(data: DataFile, column: str, *path: str) -> dict[str, Any]:
    """Return the source of a value: a column, or a JSON path inside it."""
    found: dict[str, Any] = {"fileObject": {"@id": data.name}, "extract": {"column": column}}
    if path:
        found["transform"] = [{"jsonPath": step} for step in path]
    return found


def _read(name: str) -> str:
    return (files("formalimg.benchmarks.export") / name).read_text(encoding="utf-8")
