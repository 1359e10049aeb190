"""Load the items of a suite: the default items shipped with the package, an items file, or published files."""

from __future__ import annotations

import gc
import gzip
import hashlib
import json
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from formalimg._util.argument_types import checks_types
from formalimg._util.io import refuse_special_file
from formalimg.benchmarks.filed_items import open_items_file, open_known_lines
from formalimg.benchmarks.items_file import ITEMS_FILE, decode_known_item, in_order, read_lines
from formalimg.benchmarks.odd_records import SkippedRecord, count_odd, odd_text
from formalimg.benchmarks.record import MAX_RECORD_BYTES, ItemFindings, ItemsError
from formalimg.benchmarks.registry import suite as get_suite
from formalimg.errors import FormalimgError
from formalimg.types import Item


@checks_types()
def load(suite: str, path: str | Path | None = None) -> list[Item[Any]]:
    """Load the items of a suite, sorted by id.

    Odd records in published files are loaded with tags for what is odd (see `ODD_TAGS`); records that cannot become
    items are skipped, and listed by `load_with_skipped`.

    Args:
        suite: the name of the benchmark, such as `knolling`; `suite_names` lists them.
        path: where the items are: an items file, `items.jsonl` or its folder; or the authors' published files, as a
            folder or a single file, from their repository or from `formalimg pull` (see the documentation of data
            formats). None for the default items, which ship with the package; `@1` for version 1 of these.

    Raises:
        ItemsError: listing every error in the files, with its location.
        FormalimgError: if the suite does not exist, or there is nothing to read at the path.
    """
    return load_with_skipped(suite, path).items


@dataclass(frozen=True)
class LoadedItems:
    """The items of a suite, with the skipped records, repairs and origin of their data."""

    items: list[Item[Any]]  # sorted by id
    skipped: tuple[SkippedRecord, ...] = ()  # published records of which no item could be made
    repairs: tuple[str, ...] = ()  # of published data, in lines of text
    origin: str = ""  # `authors` for items read from files as their authors publish them; else empty

    @cached_property
    def odd(self) -> str:
        """The number of odd records by tag, as one line; empty if there are none."""
        return odd_text(count_odd((item.tags for item in self.items), len(self.skipped)))


def load_with_skipped(suite: str, path: str | Path | None = None) -> LoadedItems:
    """Load the items of a suite as `load` does, together with the skipped records of published data."""
    return _read_items(suite, path, load_default, read_lines)


def open_items(suite: str, path: str | Path | None = None) -> LoadedItems:
    """Open the items of a suite as `load_with_skipped` does, but hold only their ids, levels, tags and versions.

    Prompts and specifications stay in the file until they are needed. Specifications in an items file are not yet
    checked: call `require_valid` for those that are used.
    """
    return _read_items(suite, path, open_default, open_items_file)


def _read_items(
    suite: str,
    path: str | Path | None,
    read_default: Callable[[str, str], list[Item[Any]]],
    read_file: Callable[[Path, str, ItemFindings], list[Item[Any]]],
) -> LoadedItems:
    benchmark = get_suite(suite)
    if path is None or str(path).startswith("@"):
        return LoadedItems(read_default(suite, str(path or "")[1:]))
    findings = ItemFindings()
    items_path = Path(path)
    origin = ""
    if lines := _items_file(items_path, other_lines=benchmark.published_lines):
        items = read_file(lines, suite, findings)
    elif items_path.exists():
        items = benchmark.read_published(items_path, findings)
        origin = "authors" if benchmark.source else ""  # of other suites, such files are the user's own
    else:
        raise FormalimgError(f"there is nothing at {items_path}: check the path")
    findings.raise_any()
    if not items and findings.skipped:
        raise ItemsError([f"{record.where}: {record.why}" for record in findings.skipped])
    if not items:
        raise FormalimgError(f"{path} holds no items of {suite}: give the folder with its items")
    return LoadedItems(in_order(items), tuple(findings.skipped), tuple(findings.repairs), origin)


def _items_file(path: Path, *, other_lines: bool) -> Path | None:
    """Return the items file that a path refers to; None if the path refers to published files."""
    if path.suffix == ".jsonl":
        if not path.is_file():
            raise FormalimgError(f"there is no file {path}: check the path")
        return None if other_lines and not _begins_with_item(path) else path
    inside = path / ITEMS_FILE
    if not inside.is_file() or (other_lines and not _begins_with_item(inside)):
        return None
    if (path / "benchmarks").is_dir():
        raise FormalimgError(f"{path} holds both {ITEMS_FILE} and benchmarks: give the one you mean")
    return inside


def _begins_with_item(path: Path) -> bool:
    """Return whether the first line of a file has the `format` and `suite` fields of an item."""
    refuse_special_file(path)
    try:
        with path.open("rb") as file:
            first = json.loads(file.readline(MAX_RECORD_BYTES))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(first, dict) and {"format", "suite"} <= first.keys()


# --- default items, which ship with the package


class DigestError(FormalimgError):
    """Raised if items do not match the digest of their suite."""


def load_default(suite: str, version: str = "") -> list[Item[Any]]:
    """Load the default items of a suite, sorted by id."""
    data = _default_data(suite, version)
    with no_garbage_collection():
        items = [decode_known_item(line, suite) for line in data.splitlines()]
    _require_version(suite, version, items[0].version)
    return items


def open_default(suite: str, version: str = "") -> list[Item[Any]]:
    """Open the default items of a suite as `load_default` does, but decode each on demand."""
    items = open_known_lines(_default_data(suite, version), suite)
    _require_version(suite, version, items[0].version)
    return items


def _default_data(suite: str, version: str) -> bytes:
    digests = _read_digests()["files"]
    if suite not in digests:
        get_suite(suite)  # which refuses what is none
        from formalimg.benchmarks.download.source import sources_of  # here, because most items ship

        sources = "|".join(sources_of(suite))
        pulled = f", which `formalimg pull {sources} --to DIR` brings" if sources else ""
        raise FormalimgError(
            f"no items of {suite} ship with formalimg: give the path of its items (`run --items`){pulled}"
        )
    name = f"{suite}@{version}" if f"{suite}@{version}" in digests else suite
    data = (_default_items() / f"{name}.jsonl.gz").read_bytes()
    if f"sha256:{hashlib.sha256(data).hexdigest()}" != digests[name]:
        raise DigestError(f"the items of {suite} that came with formalimg are damaged: install it again")
    return gzip.decompress(data)


@cache
def shipped_versions(suite: str) -> tuple[str, ...]:
    """Return the shipped versions of a suite's items, newest last; empty if no items ship."""
    if suite not in _read_digests()["files"]:
        return ()
    with (_default_items() / f"{suite}.jsonl.gz").open("rb") as packed, gzip.open(packed) as lines:
        first = open_known_lines(lines.readline(), suite)[0]  # all have the same version
    return (*_earlier_versions(suite), first.version)


def _earlier_versions(suite: str) -> list[str]:
    return sorted(key.partition("@")[2] for key in _read_digests()["files"] if key.startswith(f"{suite}@"))


def _require_version(suite: str, version: str, newest: str) -> None:
    if version not in ("", newest):
        versions = " or ".join(f"@{number}" for number in (*_earlier_versions(suite), newest))
        raise FormalimgError(
            f"the items of {suite} that ship with formalimg have no version {version}: give {versions}"
        )


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Pause garbage collection while thousands of long-lived objects are created."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def instruction_digest(items: Sequence[Item[Any]]) -> str:
    """Return a digest of the instructions in items: ids, levels, prompts, and formulas, concepts or questions.

    Witnesses are left out, because they are only proofs, and another version of the solver may find others.
    """
    digest = hashlib.sha256()
    for item in in_order(items):
        spec = get_suite(item.suite).form.canonical_text(item.spec)
        for part in (item.suite, item.version, item.id, str(item.level), item.prompt, spec):
            digest.update(part.encode())
            digest.update(b"\0")
    return f"sha256:{digest.hexdigest()}"


def default_digest(suite: str, version: str = "") -> str:
    """Return the `instruction_digest` of a suite's default items without loading them; empty if it has none."""
    digests = _read_digests()["instructions"]
    return digests.get(f"{suite}@{version}", digests.get(suite, ""))


def _default_items() -> Traversable:
    return files("formalimg.benchmarks") / "default_items"


def _read_digests() -> dict[str, dict[str, str]]:
    return tomllib.loads((_default_items() / "digests.toml").read_text(encoding="utf-8"))
