"""The default suites, which ship with the package: a synthesis at a fixed seed, known by its digest."""

from __future__ import annotations

import gzip
import hashlib
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from formalimg.errors import FormalimgError
from formalimg.suites.forms import form_of
from formalimg.suites.item import Item, in_order
from formalimg.suites.items_file import known_item_of


class DigestError(FormalimgError):
    """Items that are not those of the suite they claim to be."""


def instruction_digest(items: Sequence[Item[Any]]) -> str:
    """A digest of what is asked: ids, levels, words, and formulas or concepts.

    Witnesses are left out: they are proofs and not part of the question, each is verified when it is read, and another
    version of the solver may find another one.
    """
    digest = hashlib.sha256()
    for item in in_order(items):
        asked = form_of(item.suite).asked_text(item.spec)
        for part in (item.suite, item.version, item.id, str(item.level), item.prompt, asked):
            digest.update(part.encode())
            digest.update(b"\0")
    return f"sha256:{digest.hexdigest()}"


def default_digest(suite: str) -> str:
    """The digest of what a default suite asks (see `instruction_digest`), without its items being read."""
    return _digests()["instructions"][suite]


def load_default(suite: str) -> list[Item[Any]]:
    """The items of a default suite, sorted by id.

    Raises:
        DigestError: if the file is not the one that this version of the package was made with.
    """
    known = _digests()["files"][suite]
    data = (_shipped() / f"{suite}.jsonl.gz").read_bytes()
    if f"sha256:{hashlib.sha256(data).hexdigest()}" != known:
        raise DigestError(f"the items of {suite} that came with formalimg are damaged: install it again")
    return [known_item_of(line, suite) for line in gzip.decompress(data).splitlines()]


def _shipped() -> Traversable:
    return files("formalimg.suites") / "default_items"


def _digests() -> dict[str, dict[str, str]]:
    return tomllib.loads((_shipped() / "digests.toml").read_text(encoding="utf-8"))
