"""Export of a run as plain records for each database row, and import from records or verdicts."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.databases import UntrustedConnection
from formalimg._util.io import read_plain_bytes
from formalimg._util.strict_json import dumps_storable, loads_strict
from formalimg._util.text import truncate
from formalimg.benchmarks.odd_records import count_odd, odd_text
from formalimg.errors import FormalimgError
from formalimg.runs.database import (
    ImageRow,
    open_for_reading,
    open_for_writing,
    run_database_errors,
    table_definitions,
    verdict_row,
)
from formalimg.runs.folder import LOOKS, PREFLIGHT, RESTARTS, REWRITES, create_run_folder, require_plain_run_files
from formalimg.runs.image_store import image_name, write_run_file
from formalimg.runs.manifest import MANIFEST_FILE, Identity, RunManifest, read_manifest, utc_now, write_manifest
from formalimg.runs.messages import ImageToJudge, JudgeResult, PlannedImage, StoredImage
from formalimg.runs.plan import image_seed, question_key
from formalimg.runs.store import RunStore
from formalimg.types import Item, Unscored, Verdict

JOURNALS = (LOOKS, PREFLIGHT, RESTARTS, REWRITES)  # Files of a run that are lists of events, and are copied as they are
_MAX_JOURNAL_BYTES = 1_000_000_000
_OF_ITEM = "(SELECT position FROM items WHERE id = item)"
_ORDER = {
    "items": "position, id",
    "pictures": f"{_OF_ITEM}, item, sample",
    "judges": "rowid",
    "verdicts": f"{_OF_ITEM}, item, picture, question, judge",
}
"""The tables, and the order of their rows: the same run gives the same records in the same order."""
_JSON_COLUMNS = {"tags", "record", "served", "settings", "parts", "evidence"}

RowRecord = dict[str, Any]


class RunRecords(NamedTuple):
    """All stored data of a run except its image files."""

    manifest: bytes  # the file `run.toml`
    # the rows of each table of the database, by the names of their columns; JSON is parsed. They may be read from the
    # database each time
    tables: Mapping[str, Iterable[RowRecord]]
    journals: Mapping[str, bytes]  # other files of the run, by name


def table_names() -> tuple[str, ...]:
    """Return the names of the tables in a run database."""
    return tuple(_ORDER)


class StoredTable(Iterable[RowRecord]):
    """The rows of a database table, queried on each iteration."""

    def __init__(self, database: UntrustedConnection, folder: Path, name: str) -> None:
        self._database = database
        self._folder = folder
        self._columns = _table_columns()[name]
        self._query = f"SELECT {', '.join(self._columns)} FROM {name} ORDER BY {_ORDER[name]}"

    def __iter__(self) -> Iterator[RowRecord]:
        return (_build_record(self._columns, row) for row in self.rows())

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the stored rows, raising an error for bytes."""
        with run_database_errors(self._folder):
            for row in self._database.rows(self._query, {}):
                if bytes in map(type, row):
                    _build_record(self._columns, row)
                yield row


@contextmanager
def open_records(folder: Path) -> Iterator[RunRecords]:
    """Yield the records of a run as a consistent snapshot, with tables read on demand."""
    read_manifest(folder)
    database = open_for_reading(folder)
    try:
        with run_database_errors(folder):
            database.execute("BEGIN")  # one state of all tables, also while the run is written to
            database.execute("SELECT 1 FROM items LIMIT 1").fetchall()  # which begins with the first reading
        names = [MANIFEST_FILE, *(name for name in JOURNALS if (folder / name).exists())]
        try:
            files = {name: read_plain_bytes(folder / name, _MAX_JOURNAL_BYTES) for name in names}
        except OSError as error:
            raise FormalimgError(f"cannot read the files of {folder}: {error.strerror}") from error
        manifest = files.pop(MANIFEST_FILE)
        yield RunRecords(manifest, {name: StoredTable(database, folder, name) for name in _ORDER}, files)
    finally:
        database.close()


def restore_run(folder: Path, records: RunRecords) -> RunManifest:
    """Write a run folder without image files from its records, and return its manifest."""
    if folder.exists() and any(folder.iterdir()):
        raise FormalimgError(f"{folder} is not empty: choose another folder, or empty it")
    create_run_folder(folder)
    require_plain_run_files(folder)
    write_run_file(folder / MANIFEST_FILE, [records.manifest])
    manifest = read_manifest(folder)
    if manifest.images:
        write_manifest(replace(manifest, images="", images_id=""), folder)
    for name, data in records.journals.items():
        write_run_file(folder / name, [data])
    database = open_for_writing(folder)
    try:
        with run_database_errors(folder), database:
            database.execute("BEGIN")
            for name, columns in _table_columns().items():
                table = records.tables[name]
                # Records of a database would become the same rows again.
                rows = (
                    table.rows()
                    if isinstance(table, StoredTable)
                    else (_build_row(name, columns, row) for row in table)
                )
                database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)
    finally:
        database.close()
    return manifest


@cache
def _table_columns() -> Mapping[str, tuple[str, ...]]:
    definitions = re.findall(r"CREATE TABLE (\w+) \((.*?)^\);", table_definitions(), re.DOTALL | re.MULTILINE)
    columns = {name: tuple(re.findall(r"^    ([a-z0-9]+) ", body, re.MULTILINE)) for name, body in definitions}
    return {name: columns[name] for name in _ORDER}


def _build_record(columns: Sequence[str], row: Sequence[Any]) -> RowRecord:
    return {name: _parse_value(name, value) for name, value in zip(columns, row, strict=True)}


def _parse_value(column: str, value: Any) -> Any:
    """Convert a database value to plain data, parsing JSON only if it round-trips to the same text."""
    if isinstance(value, bytes):
        raise FormalimgError(f"the column {column} holds bytes, which formalimg does not write: the run is damaged")
    if column not in _JSON_COLUMNS or not isinstance(value, str):
        return value
    try:
        parsed = loads_strict(value)
    except (ValueError, RecursionError):
        return value
    return parsed if not isinstance(parsed, str) and dumps_storable(parsed) == value else value


def _build_row(table: str, columns: Sequence[str], record: RowRecord) -> tuple[object, ...]:
    if not isinstance(record, dict) or set(record) != set(columns):
        quoted = truncate(ascii(record), 80, 20)
        raise FormalimgError(f"a record of {table} has other fields than {', '.join(columns)}: {quoted}")
    return tuple(_format_value(column, record[column]) for column in columns)


def _format_value(column: str, value: Any) -> object:
    if column in _JSON_COLUMNS and not isinstance(value, str):
        return dumps_storable(value)
    if value is None or isinstance(value, str | float):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return int(value)
    raise FormalimgError(f"{column} cannot be {truncate(ascii(value), 80, 20)}")


# --- runs without images
#
# Verdicts that follow from answers which were given elsewhere are stored like those of any judge. Nothing of such a run
# can be generated or judged again, because its images are not here. An image that is not here has a digest made of its
# name, by which the verdicts of several judges on it are found together.


class ImportedImage(NamedTuple):
    """An image judged elsewhere whose file is not available."""

    item: Item[object]  # the item
    sample: int  # the number of the image among those of the item, from 0
    model: str  # the image model that made it
    # the number of the image among those of the item by this model: other than `sample` in a run of several models
    model_sample: int = 0


def write_imported_run(
    folder: Path,
    model: Identity,
    judge: Identity,
    images: Sequence[ImportedImage],
    verdicts: Iterable[Verdict | Unscored],
    source: str,
    made_with: str,
) -> None:
    """Write verdicts made elsewhere to a run folder, optionally adding another judge of the same images."""
    items = {image.item.id: image.item for image in images}
    first = images[0].item
    manifest = RunManifest(
        suite=first.suite,
        suite_version=first.version,
        items_digest="",
        model=model,
        judge=None,
        samples=1 + max(image.sample for image in images),
        seed=0,
        size=0,
        created=utc_now(),
        made_with=made_with,
        odd=odd_text(count_odd(item.tags for item in items.values())),
        imported=source,
    )
    if (folder / MANIFEST_FILE).exists():
        stored = read_manifest(folder)
        if not stored.imported:
            raise FormalimgError(f"{folder} holds a run with images: choose another folder for what is imported")
        sources = stored.imported.split("; ")
        sources += [] if source in sources else [source]
        manifest = replace(manifest, created=stored.created, imported="; ".join(sources))
    questions = {item.id: question_key(item) for item in items.values()}
    planned_images, rows, entries = [], [], []
    for image in images:
        item, digest, question = image.item, _image_digest(image), questions[image.item.id]
        planned = PlannedImage(item, image.sample, digest, image_seed(0, item, image.sample), question)
        file = image_name(item.id, image.sample, b"")
        served = json.dumps({"model": image.model, "model_sample": image.model_sample}, ensure_ascii=False)
        planned_images.append(planned)
        rows.append((planned, ImageRow("made", "", file, digest, 0, served=served), 0.0))
        entries.append(ImageToJudge(item, question, StoredImage(file, digest)))
    with RunStore(folder, manifest) as store:
        store.plan(dict(enumerate(items.values())), planned_images, manifest)
        store.record_images(rows)
        store.begin_judging(judge)
        store.record_verdicts(
            JudgeResult(entry, verdict_row(verdict), 0.0) for entry, verdict in zip(entries, verdicts, strict=True)
        )


def _image_digest(image: ImportedImage) -> str:
    """Return a placeholder digest for an imported image, unique per image and equal for all judges."""
    name = ["imported image", image.item.suite, image.model, image.item.id, image.model_sample]
    return hashlib.sha256(json.dumps(name, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()
