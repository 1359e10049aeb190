"""Where the items of an export come from: from this package, from a benchmark's authors, or from the user."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.suites.defaults import instruction_digest
from formalimg.suites.item import Item
from formalimg.suites.items_file import ITEMS_FILE
from formalimg.suites.pulling.errors import PullError
from formalimg.suites.pulling.placing import NOTE, require_free
from formalimg.suites.pulling.sources import Source, source
from formalimg.suites.suite import Kind, suite

OriginKind: TypeAlias = Literal["shipped", "published", "own"]

_SOURCES: Mapping[Kind, str] = {"formula": "formalimg", "concepts": "conceptmix", "counterfactual": "cf-world"}


@dataclass(frozen=True)
class Origin:
    """Where items come from.

    Attributes:
        kind: the default suite that ships, files as the authors published them, or items of the user's own.
        source: the benchmark that the suite belongs to.
        commit: that of the published files, if `formalimg pull` noted it and nothing was changed since.
        proven_by: by what the files are known to be those of the commit; empty if by nothing.
        licence_files: texts of the authors' licence that lie beside published files, by name.
    """

    kind: OriginKind
    source: Source
    commit: str = ""
    proven_by: str = ""
    licence_files: Mapping[str, str] = field(default_factory=dict)


def origin_of(name: str, path: Path | None, items: Sequence[Item[Any]]) -> Origin:
    """Where the items come from that were loaded from a path; None for the default suite."""
    benchmark = source(_SOURCES[suite(name).kind])
    if path is None:
        return Origin("shipped", benchmark)
    if path.suffix == ".jsonl" or (path / ITEMS_FILE).is_file():
        # Copies of the default suite are known by what they ask. Of other items only their maker knows.
        return Origin("shipped" if instruction_digest(items) == _shipped_digest(name) else "own", benchmark)
    return _published(benchmark, path if path.is_dir() else path.parent)


def _shipped_digest(name: str) -> str | None:
    known = (files("formalimg.suites") / "default_items" / "digests.toml").read_text(encoding="utf-8")
    digest: str | None = tomllib.loads(known)["instructions"].get(name)
    return digest


def _published(benchmark: Source, folder: Path) -> Origin:
    """What is noted beside published files, or above them where a folder inside the repository was given."""
    absolute = folder.absolute()
    above = [absolute, *absolute.parents[:2]]
    root = next((place for place in above if (place / NOTE).is_file()), None)
    try:
        licences = {
            path.name: path.read_text(encoding="utf-8")
            for path in sorted((root or absolute).glob("LICENSE*"))
            if path.is_file()
        }
        noted = {} if root is None else tomllib.loads((root / NOTE).read_text(encoding="utf-8"))
        if root is not None:
            require_free(root)  # raises if anything was changed since the pull
    except PullError:
        noted = {}
    except (OSError, ValueError) as error:
        raise FormalimgError(f"cannot read the note or the licence in {root or absolute}: {error}") from error
    return Origin(
        "published", benchmark, str(noted.get("commit", "")), str(noted.get("proven_by", "")), licence_files=licences
    )
