"""The default suites: a synthesis at a fixed seed, made on first use, kept, and known by its digest."""

from __future__ import annotations

import hashlib
import os
import sys
import tomllib
import warnings
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.suites.formalimg_data.findings import Findings
from formalimg.suites.formalimg_data.lines import ITEMS_FILE, read_lines, write_items
from formalimg.suites.item import FormulaSpec, Item, in_order
from formalimg.suites.synthesis.making import VERSION, Recipe, make_items


class DigestError(FormalimgError):
    """Items that are not those of the suite they claim to be."""


def default_recipe(suite: str) -> Recipe:
    """The recipe of a default suite: 200 items of each of ten levels."""
    return Recipe(suite)


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


def known_digest(suite: str) -> str | None:
    """The digest that the items of a default suite must have."""
    table = tomllib.loads((files("formalimg.suites.synthesis") / "digests.toml").read_text(encoding="utf-8"))
    found = table.get(f"version-{VERSION}", {}).get(suite)
    return found if isinstance(found, str) else None


def load_default(suite: str, told: Callable[[int], None] = lambda count: None) -> list[Item[FormulaSpec]]:
    """The items of a default suite: read where they were kept, or made now (in a minute or two) and kept.

    Args:
        suite: `knolling` or `natural`.
        told: is called with the number of items made so far, where they have to be made.

    Raises:
        DigestError: if they are not the items that this version of the package knows.
    """
    folder = cache_folder() / "suites" / f"{suite}-{VERSION}"
    if (folder / ITEMS_FILE).is_file():
        findings = Findings()
        items = read_lines(folder / ITEMS_FILE, suite, findings)
        if not len(findings) and instruction_digest(items) == known_digest(suite):
            return in_order(items)
    jobs = (os.cpu_count() or 1) if sys.platform == "linux" else 1  # see make_items
    items = make_items(default_recipe(suite), jobs=jobs, told=told).items
    expected, found = known_digest(suite), instruction_digest(items)
    if found != expected:
        raise DigestError(
            f"the items of {suite} came out as {found}, expected was {expected}: "
            "compare the versions of your packages with those in pyproject.toml"
        )
    try:
        write_items(items, folder)
    except FormalimgError as error:
        warnings.warn(
            f"the items of {suite} are made anew each time, because they cannot be kept: {error}", stacklevel=2
        )
    return in_order(items)


def cache_folder() -> Path:
    """Where made things are kept: FORMALIMG_CACHE, or the folder that the system has for such."""
    if chosen := os.environ.get("FORMALIMG_CACHE"):
        return Path(chosen)
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "formalimg" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "formalimg"
    return Path(os.environ.get("XDG_CACHE_HOME", home / ".cache")) / "formalimg"
