"""Export of a suite: items, data sheet, Croissant metadata, licence note and dataset card in one atomic folder."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from formalimg._util.io import atomic_folder
from formalimg.benchmarks.export.documents import (
    DataFile,
    croissant_text,
    dataset_card,
    datasheet_text,
    licence_text,
    missing_for_publication,
)
from formalimg.benchmarks.export.provenance import Origin, PublisherInfo, origin_of, terms_of
from formalimg.benchmarks.export.sheets import count_items
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.registry import suite

PUBLISHED_FOLDER = "published"


class ExportedSuite(NamedTuple):
    """The result of an export."""

    folder: Path  # where it lies
    items: int  # how many items
    files: tuple[str, ...]  # what lies in the folder, sorted by name
    licence: str  # under which licence the items may be redistributed, as far as it is known
    missing: tuple[str, ...]  # what Croissant wants of a dataset that is published and is not known yet


def export_suite(
    name: str,
    folder: str | Path,
    *,
    items: str | Path | None = None,
    published: bool = False,
    imprint: PublisherInfo | None = None,
) -> ExportedSuite:
    """Write a suite as `items.jsonl`, `README.md`, `DATASHEET.md`, `croissant.json` and `LICENSE.md`.

    The same items and the same imprint give the same bytes.

    Args:
        name: the suite.
        folder: where to write; it appears whole or not at all.
        items: where the items lie, as for `load`; None for the default suite.
        published: also write the folder `published`, in the form of the authors' own files.
        imprint: what only the publisher knows.

    Raises:
        ItemsError: if the items cannot be read.
        FormalimgError: if the folder already holds something, the licence is not known, or an item does not fit the
            published form.
    """
    path = None if items is None else Path(items)
    publisher = imprint or PublisherInfo()
    loaded = load(name, path)
    origin = origin_of(name, path, loaded)
    if origin.kind == "published" and not origin.proven_by and publisher.licence:
        origin = Origin("own", origin.source)  # only the authors' form, says who should know
    terms = terms_of(origin, publisher)
    statistics = count_items(name, loaded)
    target = Path(folder)
    with atomic_folder(target) as new:
        data = DataFile.of(write_items(loaded, new))
        texts = {
            "DATASHEET.md": datasheet_text(statistics, origin, terms, publisher, published=published),
            "croissant.json": croissant_text(statistics, origin, terms, publisher, data),
            "LICENSE.md": licence_text(statistics, origin, terms),
            "README.md": dataset_card(statistics, terms, data.name),
            **{f"authors-{file}": text for file, text in origin.licence_files.items()},
        }
        for file, text in texts.items():
            (new / file).write_bytes(text.encode("utf-8"))
        if published:
            suite(name).write_published(loaded, new / PUBLISHED_FOLDER)
        files = tuple(sorted(entry.name for entry in new.iterdir()))
    return ExportedSuite(target, len(loaded), files, terms.licence, missing_for_publication(origin, terms, publisher))
