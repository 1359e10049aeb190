"""The default suites, which ship with the package: a synthesis at a fixed seed, known by its digest."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Sequence
from importlib.resources import as_file, files

from formalimg.errors import FormalimgError
from formalimg.suites.formalimg_data.findings import Findings
from formalimg.suites.formalimg_data.lines import read_lines
from formalimg.suites.item import FormulaSpec, Item, in_order

_SHIPPED = "formalimg.suites"


class DigestError(FormalimgError):
    """Items that are not those of the suite they claim to be."""


def instruction_digest(items: Sequence[Item[FormulaSpec]]) -> str:
    """A digest of what is asked: ids, levels, words and formulas.

    Witnesses are left out: they are proofs and not part of the question, each is verified when it is read, and another
    version of the solver may find another one.
    """
    digest = hashlib.sha256()
    for item in in_order(items):
        for part in (item.suite, item.version, item.id, str(item.level), item.prompt, str(item.spec.formula)):
            digest.update(part.encode())
            digest.update(b"\0")
    return f"sha256:{digest.hexdigest()}"


def known_digest(suite: str) -> str:
    """The digest that the items of a default suite must have."""
    table = tomllib.loads((files(_SHIPPED) / "default_items" / "digests.toml").read_text(encoding="utf-8"))
    return str(table[suite])


def load_default(suite: str) -> list[Item[FormulaSpec]]:
    """The items of a default suite, sorted by id.

    Raises:
        DigestError: if they are not the items that this version of the package knows.
    """
    findings = Findings()
    with as_file(files(_SHIPPED) / "default_items" / f"{suite}.jsonl.gz") as path:
        items = read_lines(path, suite, findings)
    if len(findings) or instruction_digest(items) != known_digest(suite):
        raise DigestError(f"the items of {suite} that came with formalimg are damaged: install it again")
    return in_order(items)
