"""Parts of a report page: bars for what failed, by kind and by word, and cards with the settings of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from formalimg._util.templates import render_template
from formalimg.reports.comparison_model import RunRow, Section, Tally, identity_text, settings_text, total_share
from formalimg.reports.figures.series import run_tones
from formalimg.reports.notes import extent
from formalimg.reports.tables.format import FAILURES_COUNTED, count_noun

_MAX_BARS = 24
"""Further lines of a chart are collapsed."""


def failure_bars(section: Section) -> str:
    """Return bars for the share of parts that failed, by kind and by word, side by side for all runs."""
    if not any(row.kinds or row.predicates for row in section.rows):
        return ""
    terms, kind_order = section.suite.terms, section.suite.part_kinds
    # Kinds are in the order of the suite, others follow by name; words by the share that failed, the largest first.
    kinds = sorted(
        {kind for row in section.rows for kind in row.kinds},
        key=lambda kind: (kind_order.index(kind) if kind in kind_order else len(kind_order), kind),
    )
    predicates = [row.predicates for row in section.rows]
    words = sorted(
        {name for tallies in predicates for name in tallies}, key=lambda name: (-total_share(predicates, name), name)
    )
    charts = (
        _failure_chart(f"by {terms.kind}", section, lambda row: row.kinds, kinds),
        _failure_chart(f"by {terms.about}", section, lambda row: row.predicates, words),
    )
    return render_template(
        "formalimg.reports",
        "failures.html",
        charts=[chart for chart in charts if chart["lines"]],
        runs=list(zip((row.name for row in section.rows), run_tones(section.rows), strict=True)),
        note=FAILURES_COUNTED,
    )


def _failure_chart(
    by: str, section: Section, tallies_of: Callable[[RunRow], Mapping[str, Tally]], names: Sequence[str]
) -> dict[str, object]:
    """Return shares of failures by name: `lines` are shown, `more` collapsed."""
    terms = section.suite.terms
    lines = [(name, [tallies_of(row).get(name) for row in section.rows]) for name in names]
    title = f"{terms.part.capitalize()}s {terms.failed}, {by}"
    return {"title": title, "by": by, "lines": lines[:_MAX_BARS], "more": lines[_MAX_BARS:]}


def run_cards(section: Section) -> str:
    """Return a card for each run with what is particular to it, and once what all have in common."""
    facts = [_run_facts(row) for row in section.rows]
    common = [fact for fact in facts[0] if all(fact in others for others in facts)] if len(facts) > 1 else []
    cards = [
        {"name": row.name, "tone": tone, "facts": [fact for fact in run_facts if fact not in common]}
        for row, tone, run_facts in zip(section.rows, run_tones(section.rows), facts, strict=True)
    ]
    return render_template("formalimg.reports", "cards.html", cards=cards, common=common)


def _run_facts(row: RunRow) -> list[dict[str, str]]:
    manifest, spent = row.manifest, row.spent
    style = f"{manifest.style} style text" if manifest.style != "none" else ""
    unknown = f"; {count_noun(spent.unpriced, 'call')} at unknown prices" if spent.unpriced else ""
    facts = [
        ("judge", identity_text(manifest.judge) if manifest.judge else "none yet"),
        ("settings", settings_text(manifest.model.settings) or "none"),
        ("items", extent(row)),
        ("task", manifest.task if manifest.task != "image" else ""),
        ("condition", ", ".join(filter(None, [manifest.condition, style]))),
        ("layouts", manifest.layouts),
        ("texts", manifest.prompts),
        ("seed", str(manifest.seed)),
        ("size", f"{manifest.size} px"),
        ("suite", ", ".join(filter(None, [manifest.suite, manifest.items_label]))),
        ("digest", manifest.items_digest),
        ("begun", manifest.created),
        ("made with", manifest.made_with),
        ("cost", f"${spent.dollars:,.2f}{unknown}" if spent.dollars or spent.unpriced else ""),
    ]
    # What is empty is as usual; the others are always there.
    always = ("judge", "settings", "items", "seed", "size", "suite", "digest", "begun")
    return [{"name": name, "text": text} for name, text in facts if text or name in always]
