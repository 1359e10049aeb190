"""The HTML report: a self-contained page built from Jinja2 templates, with a content security policy.

For each suite, the page opens with the claim, its numbers and curve, and the most telling failures; the rest is folded.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, TypeAlias

from formalimg._util.text import render_template
from formalimg.reports.comparison_model import (
    Comparison,
    RunRow,
    Section,
    Tally,
    identity_text,
    run_tones,
    settings_text,
    total_share,
)
from formalimg.reports.corrected import is_corrected
from formalimg.reports.figures.curve import curves_html
from formalimg.reports.figures.svg import Figure, Markup, element, join
from formalimg.reports.findings import collect_findings, headline_numbers
from formalimg.reports.gallery import gallery_html, telling_figures
from formalimg.reports.main_table import main_table
from formalimg.reports.notes import extent_text, short_caption
from formalimg.reports.page_images import SuiteImages
from formalimg.reports.paired_runs import judge_text
from formalimg.reports.tables.format import (
    FAILURES_COUNTED,
    INCOMPLETE,
    count_noun,
    format_interval,
    format_value,
    generalizability_interval,
    generalizability_text,
    join_names,
    level_word,
    notes_of,
    unit_of,
)
from formalimg.reports.tables.markup import render_html
from formalimg.types import Table

if TYPE_CHECKING:
    from formalimg.human_eval.agreement.studies import HumanStudy


Printed: TypeAlias = Literal["open", "all"]  # What is printed of a page: what is open, or all
_MAX_STRIP = 6  # Runs whose numbers are shown large; the table has those of all


def html_page(
    comparison: Comparison,
    images: Mapping[str, SuiteImages] | None = None,
    studied: Sequence[HumanStudy] = (),
    remark: str = "",
    printed: Printed = "open",
) -> str:
    """Return the comparison as a single HTML page."""
    rows = [row for section in comparison.sections for row in section.rows]
    rated = [row for section in comparison.sections for row in section.rated]
    expected, scored = (sum(getattr(row.summary.overall, name) for row in rows) for name in ("expected", "scored"))
    suites = []
    for number, section in enumerate(comparison.sections):
        suite_images = (images or {}).get(section.suite.name, SuiteImages())
        studies = [study for study in studied if study.suite == section.suite.name]
        suites.append(_suite_part(number, section, comparison, suite_images, studies, remark))
    title = join_names([section.title for section in comparison.sections])
    page = render_template(
        "formalimg.reports",
        "page.html",
        title=title,
        heading=f"{_run_names(rated)} on {len(suites)} suites" if len(suites) > 1 else title,
        lead=f"{_run_names(rows)}: {count_noun(expected, 'image')}, {scored:,} scored",
        suites=suites,
        printed=printed,
        policy=_security_policy(),
        style=page_style(),
        scripts=(theme_script(), _read_asset("page.js")),
    )
    return f"{page}\n"


def _run_names(rows: Sequence[RunRow]) -> str:
    """Return the names of the runs, or their number if there are too many to list."""
    names = list(dict.fromkeys(row.name for row in rows))
    return join_names(names) if len(names) <= _MAX_STRIP else count_noun(len(rows), "run")


def _suite_part(
    number: int,
    section: Section,
    comparison: Comparison,
    images: SuiteImages,
    studies: Sequence[HumanStudy],
    remark: str,
) -> dict[str, object]:
    """Return the page content for a suite, with sections collapsed and empty sections omitted."""
    main = main_table(section, comparison)
    published = replace(main, rows=tuple(row for row in main.rows if row.is_published), notes=())
    runs = tuple(row for row in main.rows if not row.is_published)
    run_table = replace(main, rows=runs, notes=(short_caption(section, comparison),), interval_note="")
    tables = "".join(table_html(table, section) for table in section.shown_tables if not is_corrected(table))
    methods = join(element("p", note, class_="caption") for note in notes_of(main, compact=True))
    level = level_word(section.suite) or "level"
    grid, people = "", []
    if images.grid is not None:  # inline, so that tooltips work
        grid = element("figure", images.grid.element(), element("figcaption", images.grid.note), class_="drawing")
    if studies:  # here, so that other pages are made faster
        from formalimg.human_eval.agreement.studies import tables_of_study
        from formalimg.reports.figures.studies import study_figures

        people = [_with_figures(tables_of_study(study), study_figures(study), section) for study in studies]
    folds = (
        ("bars", "Where it fails", _failure_bars(replace(section, rows=section.rated))),
        ("images", "Images", gallery_html(section, images.examples, remark, f"image-{number}")),
        ("examples", f"Examples by {level}", grid),
        ("published", "Published numbers", _table_html(published, section) if published.rows else ""),
        ("corrected", "Corrected by human labels", _html_of_corrected(section, comparison.confidence)),
        ("tables", section.suite.tables_heading, tables),
        ("people", "Compared with people", "".join(people)),
        ("methods", "How these numbers are made", methods),
        ("runs", "Runs and their settings", _run_cards(section)),
    )
    # The most important numbers of each run; none where runs are too many to be seen at once.
    strip = [
        {"name": row.name, "tone": _run_tones(section)[row.name], "numbers": list(_headline_texts(row, section))}
        for row in (section.rated if len(section.rated) <= _MAX_STRIP else ())
    ]
    return {
        "title": section.title,
        "findings": collect_findings(section, comparison),
        "runs": strip,
        "curve": curves_html(section),
        "by_judge": numbers_heading(section) if section.corrected else "",  # where people decide
        "table": Markup(_table_html(run_table, section)),
        "telling": telling_figures(section, images.telling, f"image-{number}"),
        "folds": [
            {"name": name, "heading": heading, "content": content} for name, heading, content in folds if content
        ],
    }


def numbers_heading(section: Section) -> str:
    """Return the heading of the main table and its curve, which always show the judge's numbers."""
    heading = f"{section.suite.numbers_heading} by {level_word(section.suite) or 'level'}"
    return f"{heading}, by {judge_text(section.rows)}" if section.corrected else heading


def main_table_html(section: Section, comparison: Comparison) -> str:
    """Return the main table of a section as HTML, with its caption and remarks."""
    return _table_html(main_table(section, comparison), section)


def table_html(table: Table, section: Section) -> str:
    """Return a table of a section as HTML, with its title above and its caption below."""
    return render_html(table, _run_tones(section))


def _table_html(table: Table, section: Section) -> str:
    return render_html(table, _run_tones(section), heading=False)


def _run_tones(section: Section) -> dict[str, str]:
    return dict(zip((row.name for row in section.rows), run_tones(section.rows), strict=True))


def _headline_texts(row: RunRow, section: Section) -> Iterator[tuple[str, str]]:
    """Yield the headline numbers of a run and their names: the mean and generalizability, or the ratios of scores.

    If people labelled the run, their numbers come first.
    """
    corrected = next((run for run in section.corrected if run.name == row.name), None)
    scale = section.suite.scale
    for name, number in headline_numbers(row, section):
        by_people = corrected and corrected.number(name)
        best = by_people or number
        interval = format_interval(best.interval, scale, compact=True)
        rate = f"of {name} pass" if name == "all images" else f"of images pass {name}"
        text = f"{unit_of(section.suite)} {name if section.suite.has_scores else rate}"
        text += f" (interval {interval})" * bool(interval)
        mark = INCOMPLETE if not by_people and number.value is not None and number.coverage < 1 else ""
        if by_people:
            text += f", by people; the judge alone: {format_value(number.value, scale)}"
        elif section.corrected:
            text += ", by the judge"
        yield f"{format_value(best.value, scale)}{mark}", text
    general, by = row.summary.generalizability, ""
    if section.epsilon is None or general is None:
        return
    if corrected and corrected.held and corrected.held[1].value is not None:
        general, by = corrected.held[1], ", by people"
    interval = generalizability_interval(general)
    text = f" G, the highest {section.suite.level} with at least {100 * section.epsilon:g} %"
    text += f" (interval {interval})" * bool(interval and general.value is not None)
    yield str(general.value) if by else generalizability_text(row.summary), f"{text}{by}"


def _html_of_corrected(section: Section, confidence: float) -> str:
    """Return the curves and tables of numbers by the judge alone and corrected by people, as HTML."""
    if not section.corrected:
        return ""
    from formalimg.reports.figures.runs import draw_corrected_figures

    return _with_figures(
        list(filter(is_corrected, section.tables)), draw_corrected_figures(section, confidence), section
    )


def _with_figures(tables: Sequence[Table], figures: Iterable[Figure], section: Section) -> str:
    return render_template(
        "formalimg.reports",
        "ratings.html",
        results=[Markup(table_html(table, section)) for table in tables if table.placement == "result"],
        others=[Markup(table_html(table, section)) for table in tables if table.placement != "result"],
        # Each figure is an image of its own: it is drawn on white, for papers, and stays so in dark colours.
        figures=[(figure, b64encode(figure.svg("").encode()).decode("ascii")) for figure in figures],
    )


def page_style() -> Markup:
    """Return the shared page style with its colours and sizes, for other pages that show parts of a report."""
    return Markup(_read_asset("theme.css") + _read_asset("page.css"))


def theme_script() -> Markup:
    """Return the script of the light/dark button, for other pages that have that button."""
    return _read_asset("theme.js")


def _security_policy() -> str:
    """Return the content security policy, which blocks injected scripts even if escaping should fail."""
    scripts = " ".join(map(_hash_source, (theme_script(), _read_asset("page.js"))))
    # Images are in the page, or in a folder beside it: `'self'` where it is served, `file:` where it is opened.
    return (
        f"default-src 'none'; style-src {_hash_source(page_style())}; script-src {scripts}; "
        "img-src data: 'self' file:; base-uri 'none'; form-action 'none'"
    )


def _hash_source(inline: str) -> str:
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode('ascii')}'"


@cache
def _read_asset(name: str) -> Markup:
    """Read a bundled style or script as trusted markup."""
    return Markup((files("formalimg.reports") / "templates" / name).read_text(encoding="utf-8"))


_MAX_BARS = 24  # Further lines of a chart are collapsed


def _failure_bars(section: Section) -> str:
    """Return bars for the share of failed parts by kind and by word, side by side for all runs."""
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
    """Return failure shares by name, with `lines` shown at first and `more` collapsed."""
    terms = section.suite.terms
    lines = [(name, [tallies_of(row).get(name) for row in section.rows]) for name in names]
    title = f"{terms.part.capitalize()}s {terms.failed}, {by}"
    return {"title": title, "by": by, "lines": lines[:_MAX_BARS], "more": lines[_MAX_BARS:]}


def _run_cards(section: Section) -> str:
    """Return a card for each run with its own details, after the details that all runs share."""
    facts = [_run_facts(row) for row in section.rows]
    common = [fact for fact in facts[0] if all(fact in run_facts for run_facts in facts)] if len(facts) > 1 else []
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
        ("items", extent_text(row)),
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
