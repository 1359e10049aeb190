"""What is said of items in words: of their suite, and of where they come from."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

from formalimg.suites.exporting.facts import Facts
from formalimg.suites.exporting.imprint import Imprint, Terms
from formalimg.suites.exporting.origin import Origin

_UNRECORDED = "How the items were made is not recorded in them, and whoever made this export did not say."


class Texts(NamedTuple):
    """The words of a data sheet, each a sentence or a few."""

    summary: str
    origin: str
    motivation: str
    asks: str
    levels: str
    made: str
    collection_type: str
    preprocessing: tuple[str, ...]
    judged: str
    uses: tuple[str, ...]
    not_for: tuple[str, ...]
    limitations: tuple[str, ...]
    biases: tuple[str, ...]
    personal: str
    impact: str
    maintenance: str
    citation: str


def texts_about(facts: Facts, origin: Origin, imprint: Imprint) -> Texts:
    """The words for these items."""
    known = _texts()
    found = {**known["kinds"][facts.suite.kind], **known["suites"][facts.suite.name], **known["origins"][origin.kind]}
    if origin.kind == "published":
        found["preprocessing"] = [*found["preprocessing"], *known["as_published"][facts.suite.name]]
    values = {
        **_values(origin),
        "items": f"{facts.items:,}",
        "version": facts.version,
        "made": imprint.made or _UNRECORDED,
        "paper": known["papers"][origin.source.name],
    }
    return Texts(*(_filled(found[name], values) for name in Texts._fields))


def licence_words(origin: Origin, terms: Terms) -> str:
    """What is to be said about the licence."""
    beside = (
        f"The licence that lay beside them is in {', '.join(f'authors-{name}' for name in origin.licence_files)}."
        if origin.licence_files
        else "No text of a licence lay beside them: look it up with the authors before you give the items away."
    )
    values = {
        **_values(origin),
        "stated": origin.source.licence,
        "beside": beside,
        "licence": terms.licence,
        "licence_url": terms.licence_url,
    }
    return Template(_texts()["licences"][origin.kind]).substitute(values).strip()


def _values(origin: Origin) -> dict[str, str]:
    return {
        "repository": origin.source.repository,
        "revision": f" (commit {origin.commit})" if origin.commit else "",
        "proof": _texts()["proofs"][origin.proven_by or "nothing"],
    }


def _filled(words: str | list[str], values: Mapping[str, str]) -> Any:
    """A text, or a list of them, with the values in their places."""
    if isinstance(words, str):
        return Template(words).substitute(values)
    return tuple(Template(line).substitute(values) for line in words)


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads((files("formalimg.suites.exporting") / "texts.toml").read_text(encoding="utf-8"))
