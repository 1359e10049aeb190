"""One run: its curve, its table, what fails, what is unscored, and ways into the gallery."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from formalimg.models import Setting
from formalimg.reporting import Row, Section, Tally, curve, level_name, more_table, table, words_of
from formalimg.runs import Identity, ImageFilter, RunManifest, Spent
from formalimg.web.rendering import drawn, page, percent
from formalimg.web.viewer.site import UNREADABLE, Site
from formalimg.web.viewer.urls import Look, look_of

_BOUNDS = ("builtin/oracle", "builtin/scatter")


class _Failure(NamedTuple):
    """How often something failed: a line of a chart that leads to the images."""

    name: str
    failed: int
    asked: int
    width: float
    share: str
    address: str


class _Level(NamedTuple):
    name: str
    address: str


def run_page(site: Site, request: Request) -> Response:
    """The page of a run."""
    look = look_of(request)
    compared = site.compared(look.run, look.judge)
    (section,) = compared.sections
    (row,) = section.rows
    with site.opened(look.run, look.judge) as run:
        judges = run.judges()
        without_verdict = run.page(ImageFilter(outcome="unscored"), 0, 1).total if row.unscored else 0
    return page(
        "run.html",
        look=look,
        suite=section.suite,
        row=row,
        facts=card_facts(row.manifest, row.items, row.spent),
        without_verdict=without_verdict,
        judges=[(judge.name, judge == row.manifest.judge) for judge in judges],
        words=words_of(section.suite),
        curve=drawn(curve(replace(section, rows=(row, *_bounds(site, row))))),
        table=drawn(table(section, compared)),
        tables=[drawn(more_table(one, section)) for one in section.tables],
        levels=_levels(section, look),
        by_kind=_by_kind(row.kinds, look),
        by_word=_by_word(row, section, look),
    )


def _bounds(site: Site, row: Row) -> Iterator[Row]:
    """What is possible and what chance gives on the same items, where the folder has such runs."""
    wanted = {*_BOUNDS} - {row.manifest.model.name}
    for found in site.runs():
        try:
            with site.opened(found.name) as run:
                manifest = run.manifest
            if manifest.model.name in wanted and manifest.items_digest == row.manifest.items_digest:
                yield site.compared(found.name).sections[0].rows[0]
                wanted.remove(manifest.model.name)
        except UNREADABLE:
            continue  # the first page tells why


def split_word(name: str, row: Row, section: Section) -> tuple[str, str]:
    """The kind and the word that failures are grouped by; words of concepts carry their category in front."""
    if section.suite.kind != "concepts":
        return "", name
    kinds = [kind for kind in row.kinds if name.startswith(f"{kind} ")]
    return (kinds[0], name.removeprefix(f"{kinds[0]} ")) if kinds else ("", name)


def _levels(section: Section, look: Look) -> list[_Level]:
    return [_Level(level_name(section.suite, level), look.address("/gallery", level=level)) for level in section.levels]


def _by_kind(kinds: Mapping[str, Tally], look: Look) -> list[_Failure]:
    return _worst_first(
        [_failure(name, tally, look.address("/gallery", kind=name)) for name, tally in kinds.items()],
    )


def _by_word(row: Row, section: Section, look: Look) -> list[_Failure]:
    found = []
    for name, tally in row.predicates.items():
        kind, word = split_word(name, row, section)
        found.append(_failure(name, tally, look.address("/gallery", kind=kind, word=word)))
    return _worst_first(found)


def _failure(name: str, tally: Tally, address: str) -> _Failure:
    return _Failure(
        name,
        tally.failed,
        tally.asked,
        round(100 * tally.share, 1),
        percent(tally.share),
        address if tally.failed else "",
    )


def _worst_first(failures: list[_Failure]) -> list[_Failure]:
    return sorted(failures, key=lambda one: (-one.width, -one.asked, one.name))


class Fact(NamedTuple):
    """Something that a card tells."""

    name: str
    text: str


def card_facts(manifest: RunManifest, items: int, spent: Spent) -> list[Fact]:
    """The card of a run, line by line."""
    told = [
        Fact("model", party_text(manifest.model)),
        Fact("judge", party_text(manifest.judge) if manifest.judge else "nobody yet"),
        Fact("suite", f"{manifest.suite} {manifest.suite_version}".strip()),
        Fact("items", f"{items:,}, {manifest.samples} image{'s' * (manifest.samples != 1)} of each"),
        Fact("task", manifest.task if manifest.task != "image" else ""),
        Fact("condition", manifest.condition),
        Fact("style text", manifest.style if manifest.style != "none" else ""),
        Fact("layouts", manifest.layouts),
        Fact("texts", manifest.prompts),
        Fact("seed", str(manifest.seed)),
        Fact("size", f"{manifest.size} px"),
        Fact("digest", manifest.items_digest),
        Fact("begun", manifest.created),
        Fact("made with", manifest.made_with),
        Fact("cost", cost_text(spent)),
    ]
    return [fact for fact in told if fact.text]


def party_text(party: Identity) -> str:
    """A model or a judge with its settings."""
    return f"{party.name} ({_settings(party.settings)})" if party.settings else party.name


def cost_text(spent: Spent) -> str:
    """What a run has cost; empty if it was free."""
    if not spent.dollars and not spent.unpriced:
        return ""
    return f"${spent.dollars:,.2f}" + (f" and {spent.unpriced:,} at unknown prices" if spent.unpriced else "")


def _settings(settings: Mapping[str, Setting]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())
