"""Export of a suite in one atomic folder: items and documents, with the origin and licence of the items."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from formalimg._util.io import atomic_folder
from formalimg.benchmarks.download.pull import SOURCE_NOTE, require_replaceable
from formalimg.benchmarks.download.source import BenchmarkSource, PullError, source
from formalimg.benchmarks.export.documents import (
    DataFile,
    croissant_text,
    dataset_card,
    datasheet_text,
    licence_text,
    missing_for_publication,
)
from formalimg.benchmarks.export.sheets import count_items
from formalimg.benchmarks.items_file import ITEMS_FILE, write_items
from formalimg.benchmarks.loader import default_digest, instruction_digest, load
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.types import Item

OriginKind: TypeAlias = Literal["shipped", "published", "own"]

_SHIPPED = "Apache-2.0"
_SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")
_ADDRESS = re.compile(r"https?://[^\s\"<>]+")


_UNPUBLISHED = BenchmarkSource("", "", "", "", "", (), (), 0, 0)  # Of suites whose items are the user's own


@dataclass(frozen=True)
class Origin:
    """The origin of items."""

    kind: OriginKind
    source: BenchmarkSource  # the benchmark that the suite belongs to
    commit: str = ""  # of published files, if `formalimg pull` noted it and nothing was changed since
    proven_by: str = ""  # what proves that the files are those of the commit; empty if nothing does
    licence_files: Mapping[str, str] = field(default_factory=dict)  # the authors' licence texts by file name


def origin_of(name: str, path: Path | None, items: Sequence[Item[Any]]) -> Origin:
    """Return the origin of items loaded from `path`, which is None or begins with @ for default items."""
    benchmark = source(suite(name).source) if suite(name).source else _UNPUBLISHED
    if path is None or str(path).startswith("@"):
        return Origin("shipped", benchmark)
    if path.suffix == ".jsonl" or (path / ITEMS_FILE).is_file():
        # Copies of the default suite are known by what they ask. Of other items only their maker knows.
        shipped = instruction_digest(items) == default_digest(name, items[0].version)
        return Origin("shipped" if shipped else "own", benchmark)
    if benchmark is _UNPUBLISHED:  # files of any benchmark may be read as such a suite: only their maker knows
        return Origin("own", benchmark)
    return _read_origin(benchmark, path if path.is_dir() else path.parent)


def _read_origin(benchmark: BenchmarkSource, folder: Path) -> Origin:
    """Return the origin recorded in the note beside or above published files."""
    absolute = folder.absolute()
    above = [absolute, *absolute.parents[:2]]
    root = next((parent for parent in above if (parent / SOURCE_NOTE).is_file()), None)
    try:
        licences = {
            path.name: path.read_text(encoding="utf-8")
            for path in sorted((root or absolute).glob("LICENSE*"))
            if path.is_file()
        }
        noted = {} if root is None else tomllib.loads((root / SOURCE_NOTE).read_text(encoding="utf-8"))
        if root is not None:
            require_replaceable(root)  # raises if anything was changed since the pull
    except PullError:
        noted = {}
    except (OSError, ValueError) as error:
        raise FormalimgError(f"cannot read the note or the licence in {root or absolute}: {error}") from error
    return Origin(
        "published", benchmark, str(noted.get("commit", "")), str(noted.get("proven_by", "")), licence_files=licences
    )


@dataclass(frozen=True)
class PublisherInfo:
    """Information that only the publisher has; empty fields are left out of the export."""

    licence: str = ""  # of items of the publisher's own: an SPDX id such as CC-BY-4.0, or an address
    creator: str = ""  # who made items of the publisher's own
    made: str = ""  # how they were made, in a sentence
    url: str = ""  # where the export will be found
    date: str = ""  # when it is published, as in 2026-01-31

    def __post_init__(self) -> None:
        for name, text in vars(self).items():
            if not text.isprintable():
                raise FormalimgError(f"the {name} must be one line of readable text, not {text!r}")
        if self.licence and not (_SPDX.fullmatch(self.licence) or _ADDRESS.fullmatch(self.licence)):
            raise FormalimgError(f"the licence {self.licence!r}: give its SPDX id, such as CC-BY-4.0, or its address")
        if self.url and not _ADDRESS.fullmatch(self.url):
            raise FormalimgError(f"{self.url!r} is not an address: it must begin with https://")
        try:
            is_date = not self.date or date.fromisoformat(self.date).isoformat() == self.date
        except ValueError:
            is_date = False
        if not is_date:
            raise FormalimgError(f"{self.date!r} is not a date: write it as in 2026-01-31")


class LicenceTerms(NamedTuple):
    """The creator and licence of the items."""

    licence: str  # its short name, or its address
    licence_url: str
    creator: str  # of the items; empty if not known


def terms_of(origin: Origin, imprint: PublisherInfo) -> LicenceTerms:
    """Return the terms under which items may be redistributed."""
    if origin.kind == "own":
        if not imprint.licence:
            raise FormalimgError("these items have no licence: give one with --license, as in --license CC-BY-4.0")
        address = imprint.licence if _ADDRESS.fullmatch(imprint.licence) else _licence_url(imprint.licence)
        return LicenceTerms(imprint.licence, address, imprint.creator)
    for option, value in (("--license", imprint.licence), ("--creator", imprint.creator), ("--made", imprint.made)):
        if value:
            owner = "that ship with formalimg" if origin.kind == "shipped" else "as their authors published them"
            raise FormalimgError(f"leave {option} out: it is for items of your own, and these are items {owner}")
    if origin.kind == "shipped":
        return LicenceTerms(_SHIPPED, _licence_url(_SHIPPED), "The formalimg authors")
    licence = origin.source.licence.split()[0]
    doubt = "" if origin.proven_by else ", if the files are theirs"
    return LicenceTerms(
        licence, _licence_url(licence), f"The authors of {origin.source.title.partition(':')[0]}{doubt}"
    )


def _licence_url(licence: str) -> str:
    return f"https://spdx.org/licenses/{licence}"


# --- the export


class ExportedSuite(NamedTuple):
    """The result of an export."""

    folder: Path
    items: int
    files: tuple[str, ...]  # in the folder, sorted by name
    licence: str  # under which the items may be redistributed, as far as it is known
    missing: tuple[str, ...]  # what Croissant requires of a published dataset and is not known yet


def export_suite(
    name: str,
    folder: str | Path,
    *,
    items: str | Path | None = None,
    published: bool = False,
    imprint: PublisherInfo | None = None,
) -> ExportedSuite:
    """Write a suite as `items.jsonl`, `README.md`, `DATASHEET.md`, `croissant.json` and `LICENSE.md`.

    The same items and publisher information give the same bytes.

    Args:
        name: the suite.
        folder: the folder to write; it is created complete or not at all.
        items: the path of the items, as for `load`; None for the default suite.
        published: whether to also write the folder `published`, in the format of the authors' own files.
        imprint: information that only the publisher has.

    Raises:
        ItemsError: if the items cannot be read.
        FormalimgError: if the folder is not empty, the licence is unknown, or an item does not fit the published
            format.
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
            suite(name).write_published(loaded, new / "published")
        files = tuple(sorted(entry.name for entry in new.iterdir()))
    return ExportedSuite(target, len(loaded), files, terms.licence, missing_for_publication(origin, terms, publisher))
