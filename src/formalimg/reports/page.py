"""The HTML report: one self-contained page from Jinja2 templates, with a content security policy."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import starmap
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formalimg._util.templates import render_template
from formalimg.reports.comparison_model import Comparison, RunRow, Section, Tally
from formalimg.reports.corrected_tables import is_corrected
from formalimg.reports.examples import ExampleImage
from formalimg.reports.figures.curve import curves_html
from formalimg.reports.figures.series import run_tones
from formalimg.reports.figures.svg import Figure, Markup, element
from formalimg.reports.findings import Findings, find, headline_numbers
from formalimg.reports.gallery import gallery
from formalimg.reports.main_table import main_table
from formalimg.reports.notes import extent, identity_text, settings_text
from formalimg.reports.ratings import rating_tables
from formalimg.reports.tables.format import (
    FAILURES_COUNTED,
    INCOMPLETE,
    count_noun,
    format_interval,
    format_value,
    generalizability_text,
    join_names,
    level_word,
    unit_of,
)
from formalimg.reports.tables.html import render_html
from formalimg.types import Table

if TYPE_CHECKING:
    from formalimg.human_eval.agreement.studies import HumanStudy

Gallery: TypeAlias = Mapping[str, Mapping[int, Sequence[ExampleImage]]]
"""The images to show, by suite and by the run's position in its section."""

_MAX_STRIP = 6
"""Runs whose numbers are shown large; the table has those of all."""

_MAX_BARS = 24
"""Further lines of a chart of failures are collapsed."""


class _PagePart(NamedTuple):
    """A part of the page: its name in the navigation, its heading, and its content."""

    name: str
    heading: str
    content: str

    @property
    def anchor(self) -> str:
        """The start of its id."""
        return self.name.replace(" ", "-")


def html_page(
    comparison: Comparison,
    images: Gallery | None = None,
    studied: Sequence[HumanStudy] = (),
    remark: str = "",
    grids: Mapping[str, Figure] | None = None,
) -> str:
    """Return the comparison as one HTML page.

    Args:
        comparison: the comparison.
        images: the images to show, if any.
        studied: human ratings of the images, if there are any.
        remark: a note on the choice of images.
        grids: example images by level, by suite, as `image_grids` returned them.
    """
    sections = []
    for section in comparison.sections:
        studies = [study for study in studied if study.suite == section.suite.name]
        shown = gallery(section, (images or {}).get(section.suite.name, {}), remark)
        grid = (grids or {}).get(section.suite.name)
        level = level_word(section.suite) or "level"
        parts = [
            *_numbers(section, comparison),
            _PagePart("what fails", "What fails", _failures(section)),
            _PagePart("images", "Images", shown),
            _PagePart("examples", f"Examples by {level}", _drawing(grid) if grid else ""),
            *_details(section, studies),
            _PagePart("runs", "Runs and their settings", _cards(section)),
        ]
        found = _SuiteFindings(section.title, find(section, comparison), _strip(section))
        sections.append((found, [part for part in parts if part.content]))
    rows = [row for section in comparison.sections for row in section.rows]
    expected, scored = (sum(getattr(row.summary.overall, of) for row in rows) for of in ("expected", "scored"))
    page = render_template(
        "formalimg.reports",
        "page.html",
        title=join_names([section.title for section in comparison.sections]),
        lead=f"{_names(rows)}: {count_noun(expected, 'image')}, {scored:,} scored",
        sections=sections,
        policy=_policy(),
        style=page_style(),
        scripts=(theme_script(), _asset("page.js")),
    )
    return f"{page}\n"


def _names(rows: Sequence[RunRow]) -> str:
    """Return the names of the runs; their number, if they are too many to be read."""
    names = list(dict.fromkeys(row.name for row in rows))
    return join_names(names) if len(names) <= _MAX_STRIP else count_noun(len(rows), "run")


class _SuiteFindings(NamedTuple):
    """What the first screen says about a suite: its findings, and the numbers that stand for its runs."""

    title: str
    findings: Findings
    runs: list[_RunCard]


def _numbers(section: Section, comparison: Comparison) -> Iterator[_PagePart]:
    """Yield the numbers by level, and those corrected by people."""
    kind, level = section.suite, level_word(section.suite) or "level"
    heading = f"{kind.numbers_heading} by {level}"
    main = render_template(
        "formalimg.reports",
        "main.html",
        label=heading,
        curve=curves_html(section),
        table=Markup(main_table_html(section, comparison)),
    )
    yield _PagePart(kind.numbers_heading.lower(), heading, main)
    yield _PagePart("corrected", "Corrected by human labels", _corrected(section, comparison.confidence))


def _details(section: Section, studies: Sequence[HumanStudy]) -> Iterator[_PagePart]:
    """Yield the other tables, and what people say of the judge."""
    others = (table for table in section.shown_tables if not is_corrected(table))
    tables = "".join(table_html(one, section) for one in others)
    yield _PagePart("more tables", section.suite.tables_heading, tables)
    yield _PagePart("people", "Compared with people", "".join(_ratings(study, section) for study in studies))


def main_table_html(section: Section, comparison: Comparison) -> str:
    """Return the main table of a section as HTML, with its caption and remarks."""
    return render_html(main_table(section, comparison), _tones(section), heading=False)


def table_html(table: Table, section: Section) -> str:
    """Return a table of a section as HTML, with its title above and its caption below."""
    return render_html(table, _tones(section))


def _tones(section: Section) -> dict[str, str]:
    return dict(zip((row.name for row in section.rows), run_tones(section.rows), strict=True))


# --- cards


class _Fact(NamedTuple):
    name: str
    text: str


class _RunCard(NamedTuple):
    """A run with what is particular to it. `headline` are its most important numbers, with what follows them."""

    name: str
    tone: str
    headline: list[tuple[str, str]]
    facts: list[_Fact]


def _cards(section: Section) -> str:
    """Return a card for each run with what is particular to it, and once what all have in common."""
    facts = [_facts(row) for row in section.rows]
    common = [fact for fact in facts[0] if all(fact in others for others in facts)] if len(facts) > 1 else []
    cards = [
        _RunCard(row.name, tone, [], [fact for fact in those if fact not in common])
        for row, tone, those in zip(section.rows, run_tones(section.rows), facts, strict=True)
    ]
    return render_template("formalimg.reports", "cards.html", cards=cards, common=common)


def _facts(row: RunRow) -> list[_Fact]:
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
    return list(starmap(_Fact, (fact for fact in facts if fact[1] or fact[0] in always)))


def _strip(section: Section) -> list[_RunCard]:
    """Return the runs with their most important numbers; none where there are too many to be seen at once."""
    if len(section.rows) > _MAX_STRIP:
        return []
    return [
        _RunCard(row.name, tone, list(_headline(row, section)), [])
        for row, tone in zip(section.rows, run_tones(section.rows), strict=True)
    ]


def _headline(row: RunRow, section: Section) -> Iterator[tuple[str, str]]:
    """Yield the mean over all levels and the generalizability; of suites of scores their ratios, or all levels.

    Where people labelled the run, theirs come first.
    """
    corrected = next((run for run in section.corrected if run.name == row.name), None)
    for name, number in headline_numbers(row, section):
        by_people = corrected and corrected.number(name)
        if by_people:
            scale = section.suite.scale
            interval = format_interval(by_people.interval, scale, compact=True)
            beside = f"({interval}) {name} by people; the judge alone: {format_value(number.value, scale)}"
            yield format_value(by_people.value, scale), f"{unit_of(section.suite)} {beside}"
            continue
        mark = INCOMPLETE if number.value is not None and number.coverage < 1 else ""
        yield f"{format_value(number.value, section.suite.scale)}{mark}", f"{unit_of(section.suite)} {name}"
    if corrected and corrected.held and corrected.held.corrected.value is not None:
        yield str(corrected.held.corrected.value), " G by people"
    elif row.summary.generalizability is not None:
        yield generalizability_text(row.summary), " G"


# --- failures


class _FailureChart(NamedTuple):
    """Shares of failures by name: `lines` are shown, `more` collapsed."""

    title: str
    by: str
    lines: list[tuple[str, list[Tally | None]]]
    more: list[tuple[str, list[Tally | None]]]


def _failures(section: Section) -> str:
    """Return bars for the share of parts that failed, by kind and by word, side by side for all runs."""
    if not any(row.kinds or row.predicates for row in section.rows):
        return ""
    labels = section.suite.terms
    return render_template(
        "formalimg.reports",
        "failures.html",
        charts=[
            chart
            for chart in (
                _failure_chart(f"by {labels.kind}", section, lambda row: row.kinds, _kind_order(section)),
                _failure_chart(f"by {labels.about}", section, lambda row: row.predicates, _word_order(section)),
            )
            if chart.lines
        ],
        runs=list(zip((row.name for row in section.rows), run_tones(section.rows), strict=True)),
        note=FAILURES_COUNTED,
    )


def _failure_chart(
    by: str, section: Section, tallies_of: Callable[[RunRow], Mapping[str, Tally]], names: Sequence[str]
) -> _FailureChart:
    labels = section.suite.terms
    lines = [(name, [tallies_of(row).get(name) for row in section.rows]) for name in names]
    title = f"{labels.part.capitalize()}s {labels.failed}, {by}"
    return _FailureChart(title, by, lines[:_MAX_BARS], lines[_MAX_BARS:])


def _kind_order(section: Section) -> list[str]:
    """Return kinds in the order of the suite; others follow by name."""
    found = {kind for row in section.rows for kind in row.kinds}
    known = section.suite.part_kinds
    return sorted(found, key=lambda kind: (known.index(kind) if kind in known else len(known), kind))


def _word_order(section: Section) -> list[str]:
    """Return words by the share that failed, the largest first."""

    def share(name: str) -> float:
        tallies = [row.predicates[name] for row in section.rows if name in row.predicates]
        return Tally(sum(tally.failed for tally in tallies), sum(tally.asked for tally in tallies)).share

    return sorted({name for row in section.rows for name in row.predicates}, key=lambda name: (-share(name), name))


# --- human ratings


def _ratings(study: HumanStudy, section: Section) -> str:
    """Return the results of a study of human ratings, its figures side by side, then its other tables."""
    from formalimg.reports.figures.studies import study_figures  # here, so that other pages are made faster

    return _with_figures(rating_tables(study), study_figures(study), section)


def _corrected(section: Section, confidence: float) -> str:
    """Return the curves by the judge alone and corrected by people, with their tables."""
    if not section.corrected:
        return ""
    from formalimg.reports.figures.corrected_rates import corrected_figures

    return _with_figures(list(filter(is_corrected, section.tables)), corrected_figures(section, confidence), section)


def _with_figures(tables: Sequence[Table], figures: Iterable[Figure], section: Section) -> str:
    return render_template(
        "formalimg.reports",
        "ratings.html",
        results=[Markup(table_html(one, section)) for one in tables if one.placement == "result"],
        others=[Markup(table_html(one, section)) for one in tables if one.placement != "result"],
        # Each figure is an image of its own: it is drawn on white, for papers, and stays so in dark colours.
        figures=[(figure, b64encode(figure.svg("").encode()).decode("ascii")) for figure in figures],
    )


def _drawing(figure: Figure) -> str:
    """Return a figure with its caption: inside the page, so that the titles of its parts show, and on white."""
    return element("figure", figure.element(), element("figcaption", figure.note), class_="drawing")


# --- head


def page_style() -> Markup:
    """Return the style of the page, colours and sizes first, for other pages that show parts of it."""
    return Markup(_asset("theme.css") + _asset("page.css"))


def theme_script() -> Markup:
    """Return the script of the button for light and dark colours, for other pages that have one."""
    return _asset("theme.js")


def _policy() -> str:
    """Escaping keeps foreign text from becoming markup; should it ever fail, the browser still runs nothing of it."""
    ours = " ".join(map(_digest, (theme_script(), _asset("page.js"))))
    # Images are in the page, or in a folder beside it: `'self'` where it is served, `file:` where it is opened.
    return (
        f"default-src 'none'; style-src {_digest(page_style())}; script-src {ours}; img-src data: 'self' file:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(inline: str) -> str:
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode('ascii')}'"


@cache
def _asset(name: str) -> Markup:
    """Return a style or script of ours; it has nothing that would end its element."""
    return Markup((files("formalimg.reports") / "templates" / name).read_text(encoding="utf-8"))
