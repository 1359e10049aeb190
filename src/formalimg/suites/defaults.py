"""Default items: those that ship with the package, a synthesis at a fixed seed, known by their digest.

`natural.jsonl.gz` holds the newest version of a suite's items, `natural@1.jsonl.gz` an earlier one: numbers that were
published with it can still be reproduced.
"""

from __future__ import annotations

import gc
import gzip
import hashlib
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from formalimg.errors import FormalimgError
from formalimg.suites.filed_items import open_known_lines
from formalimg.suites.item import Item, in_order
from formalimg.suites.items_file import decode_known_item
from formalimg.suites.registry import suite as get_suite


class DigestError(FormalimgError):
    """Items that are not those of the suite they claim to be."""


def load_default(suite: str, version: str = "") -> list[Item[Any]]:
    """Load the default items of a suite, sorted by id.

    Args:
        suite: the suite.
        version: an earlier version of its items; empty for the newest.

    Raises:
        FormalimgError: if the suite has none, or not in this version.
        DigestError: if the file is not the one that this version of the package was made with.
    """
    data = _default_data(suite, version)
    with no_garbage_collection():
        items = [decode_known_item(line, suite) for line in data.splitlines()]
    _require_version(suite, version, items[0].version)
    return items


def open_default(suite: str, version: str = "") -> list[Item[Any]]:
    """Open the default items of a suite, as `load_default` does; each is decoded when it is needed.

    Raises:
        FormalimgError: as `load_default` does.
    """
    items = open_known_lines(_default_data(suite, version), suite)
    _require_version(suite, version, items[0].version)
    return items


def _default_data(suite: str, version: str) -> bytes:
    known = _digests()["files"]
    if suite not in known:
        source = get_suite(suite).source
        pulled = f", which `formalimg pull {source}` brings" if source else ""
        raise FormalimgError(f"no items of {suite} ship with formalimg: give the path of its items{pulled}")
    name = f"{suite}@{version}" if f"{suite}@{version}" in known else suite
    data = (_default_items() / f"{name}.jsonl.gz").read_bytes()
    if f"sha256:{hashlib.sha256(data).hexdigest()}" != known[name]:
        raise DigestError(f"the items of {suite} that came with formalimg are damaged: install it again")
    return gzip.decompress(data)


def _require_version(suite: str, version: str, newest: str) -> None:
    if version not in ("", newest):
        earlier = sorted(key.partition("@")[2] for key in _digests()["files"] if key.startswith(f"{suite}@"))
        raise FormalimgError(
            f"the items of {suite} that ship with formalimg have no version {version}: "
            f"give {' or '.join(f'@{each}' for each in (*earlier, newest))}"
        )


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Pause the search for garbage: thousands of new objects are none, and searching takes as long as making them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def instruction_digest(items: Sequence[Item[Any]]) -> str:
    """Return a digest of what items ask: ids, levels, prompts, and formulas, concepts or questions.

    Witnesses are left out: they are proofs and not part of the question, each is verified when it is read, and another
    version of the solver may find another one.
    """
    digest = hashlib.sha256()
    for item in in_order(items):
        spec = get_suite(item.suite).traits.form.asked_text(item.spec)
        for part in (item.suite, item.version, item.id, str(item.level), item.prompt, spec):
            digest.update(part.encode())
            digest.update(b"\0")
    return f"sha256:{digest.hexdigest()}"


def default_digest(suite: str, version: str = "") -> str:
    """Return the `instruction_digest` of the default items of a suite, without loading them; empty if it has none.

    Args:
        suite: the suite.
        version: an earlier version of its items; empty, or one that has no file of its own, for the newest.
    """
    known = _digests()["instructions"]
    return known.get(f"{suite}@{version}", known.get(suite, ""))


def _default_items() -> Traversable:
    return files("formalimg.suites") / "default_items"


def _digests() -> dict[str, dict[str, str]]:
    return tomllib.loads((_default_items() / "digests.toml").read_text(encoding="utf-8"))
