"""The image gallery of a report: images with their boxes, verdicts, failed parts and formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from formalimg._util.templates import render_template
from formalimg.judges.failures import failure_sentences
from formalimg.judges.observations import clause_disagreement, explanation_title
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Atom, Not, Or, to_pretty_text
from formalimg.logic.syntax import Formula as Tree
from formalimg.reports.comparison_model import Section
from formalimg.reports.examples import ExampleImage
from formalimg.reports.figures.series import run_tones
from formalimg.reports.figures.svg import Markup, short_names
from formalimg.reports.report_images import LinkedImage, PageImage
from formalimg.reports.tables.format import count_noun, format_value, level_name, shorten
from formalimg.scenes.objects import CANVAS, SceneError, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Benchmark, Part, Unscored, Verdict

_SIGNS = {"fail": "✗", "pass": "✓", "unscored": "?"}
_LETTER = 6.3
"""About the width of a letter of a label, in pixels of the thumbnail."""

_MAX_PROMPT = 180
"""Longer prompts are cut below the most telling failures; the gallery has them whole."""

_MAX_NAME = 20
_FORMULA_WIDTH = 44
_OPERATORS = r"(?<=\()(?:and|or|not|implies|iff|exists|forall|exactly|at-least|at-most)(?=[\s)])"


def gallery(section: Section, examples: Mapping[int, Sequence[ExampleImage]], remark: str, prefix: str) -> str:
    """Return images of the runs of a section as HTML, with filters."""
    shown = [number for number in range(len(section.rows)) if examples.get(number)]
    if not shown and not remark:
        return ""
    every = [example for number in shown for example in examples[number]]
    tones = run_tones(section.rows)
    levels = sorted({example.item.level for example in every})
    outcomes = [outcome for outcome in _SIGNS if any(_outcome(example) == outcome for example in every)]
    return render_template(
        "formalimg.reports",
        "gallery.html",
        remark=remark,
        filters=[
            ("run", [(str(number), section.rows[number].name) for number in shown]),
            ("level", [(str(level), level_name(section.suite, level)) for level in levels]),
            ("outcome", [(outcome, outcome) for outcome in outcomes]),
        ],
        has_boxes=any(example.thumbnail and "scene" in example.judged.verdict.evidence for example in every),
        walls=[
            (
                section.rows[number].name,
                tones[number],
                f" {len(examples[number])} of {count_noun(section.rows[number].summary.overall.expected, 'image')}, "
                "chosen from all levels",
                [_figure(example, number, section, prefix) for example in examples[number]],
            )
            for number in shown
        ],
    )


def telling_figures(section: Section, telling: Sequence[tuple[int, ExampleImage]], prefix: str) -> Markup:
    """Return the most telling failures as HTML, each with its sentence and a link to all that is known of it."""
    tones, names = run_tones(section.rows), short_names([row.name for row in section.rows], _MAX_NAME)
    figures = []
    for run, example in telling:
        first, *others = failure_sentences(example.judged.verdict, section.suite, example.item.formula)
        figures.append(
            _TellingFigure(
                names[run] if len(section.rated) > 1 else "",
                tones[run],
                Markup(image_html(example, section.suite)) if example.thumbnail else Markup(""),
                level_name(section.suite, example.item.level),
                first.text,
                f", and {len(others)} more" if others else "",
                shorten(example.item.prompt, _MAX_PROMPT),
                f"#{_figure_id(example, run, prefix)}",
            )
        )
    return Markup(render_template("formalimg.reports", "telling.html", figures=figures))


class _TellingFigure(NamedTuple):
    """A telling failure: `run` is empty where there is only one, and `more` where nothing else failed."""

    run: str
    tone: str
    image: Markup
    level: str
    sentence: str
    more: str
    prompt: str
    link: str


class _ShownPart(NamedTuple):
    """A part of a verdict; `text` and `reason` in pieces: no line breaks inside those that are names."""

    sign: str
    is_code: bool
    text: list[str]
    score: str
    reason: list[str]


class _GalleryFigure(NamedTuple):
    """An image with all that is shown below it."""

    id: str
    run: int
    level: int
    outcome: str
    image: Markup
    verdict: str
    place: str
    larger: str
    why: list[tuple[str, str, str]]
    prompt: str
    what_failed: list[str]
    failed: list[_ShownPart]
    failed_summary: str
    held: list[_ShownPart]
    held_summary: str
    formula: list[tuple[str, str]]
    explanation: str
    explanation_title: str


def _outcome(example: ExampleImage) -> str:
    passed = example.judged.outcome.passed
    return "unscored" if passed is None else "pass" if passed else "fail"


def _figure_id(example: ExampleImage, run: int, prefix: str) -> str:
    """Return the id of an image on the page; the names of items come from anyone."""
    outcome = example.judged.outcome
    return f"{prefix}-{run}-{sha256(outcome.item.encode(errors='replace')).hexdigest()[:12]}-{outcome.sample}"


def _figure(example: ExampleImage, run: int, section: Section, prefix: str) -> _GalleryFigure:
    outcome, verdict, row, labels = (
        _outcome(example),
        example.judged.verdict,
        section.rows[run],
        section.suite.terms,
    )
    parts = verdict.parts if isinstance(verdict, Verdict) else ()
    failed = [part for part in parts if part.score < 1]
    held = [part for part in parts if part.score >= 1]
    score, sample = example.judged.outcome.score, example.judged.outcome.sample
    has_score = section.suite.has_scores and score is not None
    explanation = verdict.evidence.get("explanation")
    return _GalleryFigure(
        _figure_id(example, run, prefix),
        run,
        example.item.level,
        outcome,
        Markup(image_html(example, section.suite) if example.thumbnail else ""),
        f"{_SIGNS[outcome]} {outcome}{f', {score:.2f}' if has_score else ''}",
        f"{level_name(section.suite, example.item.level)}, item {example.item.id}"
        + (f", image {sample}" if row.manifest.samples > 1 else ""),
        example.thumbnail.address if isinstance(example.thumbnail, LinkedImage) else "",
        list(_why(verdict, is_gated=(example.judged.outcome.item, sample) in row.gated)),
        example.item.prompt,
        [one.text for one in failure_sentences(verdict, section.suite, example.item.formula)] if failed else [],
        [_shown_part(part, section.suite) for part in failed],
        f"{count_noun(len(failed), labels.part)} {labels.failed}",
        [_shown_part(part, section.suite) for part in held],
        f"{count_noun(len(held), f'other {labels.part}' if failed else labels.part)} "
        f"{labels.holds if len(held) == 1 else labels.hold}",
        formula_pieces(example.item.formula, parts) if example.item.formula else [],
        explanation if isinstance(explanation, str) else "",
        explanation_title(verdict),
    )


def _why(verdict: Verdict | Unscored, *, is_gated: bool) -> Iterator[tuple[str, str, str]]:
    """Yield why an image is unscored, failed by rule, counts as 0, or is in doubt: text, emphasis, text."""
    if isinstance(verdict, Unscored):
        yield "", verdict.reason, f": {verdict.detail}" if verdict.detail else ""
    elif "rule" in verdict.evidence:
        yield "failed by rule: ", str(verdict.evidence["rule"]), ""
    if is_gated:
        yield "counts as 0: the factual image of its group is below the threshold", "", ""
    if disagreement := clause_disagreement(verdict):
        yield "", "disagreement", f": {disagreement}"


def _shown_part(part: Part, suite: Benchmark) -> _ShownPart:
    sign = _SIGNS["pass" if part.score >= 1 else "fail"]
    is_code = suite.terms.is_code
    text = re.split(r"(\?[^\s()]+)", part.name) if is_code else [part.name]
    score = format_value(part.score, "score") if suite.has_scores else ""
    return _ShownPart(sign, is_code, text, score, re.split(r"(\?[^\s()]+)", part.reason or ""))


# --- formulas


def formula_pieces(formula: str, parts: Iterable[Part]) -> list[tuple[str, str]]:
    """Return a formula as an indented tree, in pieces: plain, operators (`b`), and atoms of failed clauses (`mark`)."""
    failed = {atom for part in parts if part.score < 1 for atom in _clause_atoms(part.name)}
    try:
        shown = to_pretty_text(parse(formula), _FORMULA_WIDTH)
    except FormulaError:
        shown = formula
    atoms = "|".join(re.escape(atom) for atom in sorted(failed))
    pattern = re.compile(f"(?P<failed>{atoms or '(?!)'})|(?P<operator>{_OPERATORS})")
    pieces: list[tuple[str, str]] = []
    start = 0
    for found in pattern.finditer(shown):
        pieces += [("", shown[start : found.start()]), ("mark" if found["failed"] else "b", found.group())]
        start = found.end()
    return [*pieces, ("", shown[start:])]


def _clause_atoms(name: str) -> Iterator[str]:
    """Yield the atoms of a clause that would have had to hold; of a condition, those behind the `or`."""
    try:
        clause = parse(name)
    except FormulaError:
        return  # a question, or a clause that names its variables in another way
    literals = clause.parts if isinstance(clause, Or) else (clause,)
    positive = [literal for literal in literals if isinstance(literal, Atom)]
    for literal in positive or literals:
        yield str(_atom(literal))


def _atom(literal: Tree) -> Tree:
    return literal.body if isinstance(literal, Not) else literal


# --- images with boxes


class _ShownBox(NamedTuple):
    """A box in pixels of the thumbnail, with the position and width of its label."""

    frame: dict[str, str]
    plate: dict[str, str]
    text_x: str
    text_y: str
    text: str
    at_fault: bool


def image_html(exhibit: ExampleImage, suite: Benchmark, link: str = "") -> str:
    """Return the small image as HTML; boxes are shown on hover, and those of objects that failed always.

    What failed because an object is missing has no box: nothing else is framed in its place.
    """
    small, verdict = exhibit.thumbnail, exhibit.judged.verdict
    boxes: list[_ShownBox] = []
    alt = f"Image made for item {exhibit.item.id}"
    if not isinstance(small, str) and (scene := _scene(verdict)) is not None:
        said = failure_sentences(verdict, suite, exhibit.item.formula) if isinstance(verdict, Verdict) else ()
        at_fault = frozenset().union(*(one.objects for one in said))
        boxes = [_box(obj, number in at_fault, small) for number, obj in enumerate(scene.objects)]
        alt += f"; found in it: {', '.join(obj.describe() for obj in scene.objects) or 'nothing'}"
    absent = small if isinstance(small, str) else ""
    shown = {"image": small, "absent": absent, "alt": alt, "boxes": boxes, "link": link}
    return render_template("formalimg.reports", "image.html", **shown)


def _scene(verdict: Verdict | Unscored) -> Scene | None:
    """Return the scene the judge found, if it is stored and can be drawn."""
    try:
        return Scene.from_json(verdict.evidence["scene"]) if "scene" in verdict.evidence else None
    except SceneError:
        return None


def _box(obj: SceneObject, at_fault: bool, small: PageImage) -> _ShownBox:
    across, down = small.width / CANVAS, small.height / CANVAS
    x, y = obj.box.xmin * across, obj.box.ymin * down
    width, height = (obj.box.xmax - obj.box.xmin) * across, (obj.box.ymax - obj.box.ymin) * down
    text = obj.describe()
    length = min(_LETTER * len(text) + 6, small.width)
    left = min(x, small.width - length)
    # Above the box where there is room, else inside it.
    top = y - 13 if y >= 13 else y
    frame = {"x": _px(x), "y": _px(y), "width": _px(width), "height": _px(height)}
    plate = {"x": _px(left), "y": _px(top), "width": _px(length), "height": "13"}
    return _ShownBox(frame, plate, _px(left + 3), _px(top + 9.5), text, at_fault)


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
