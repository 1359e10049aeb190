"""The image gallery of a report: images with their boxes, verdicts, failed parts and formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from formalimg._util.text import render_template
from formalimg.judges.failures import failure_sentences
from formalimg.judges.observations import clause_disagreement, explanation_title
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Atom, Not, Or, to_pretty_text
from formalimg.reports.comparison_model import Section, run_tones
from formalimg.reports.figures.svg import Markup, short_names
from formalimg.reports.page_images import ExampleImage, LinkedImage, PageImage
from formalimg.reports.tables.format import count_noun, format_value, level_name, shorten_text
from formalimg.scenes.objects import CANVAS, SceneError, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Benchmark, Part, Unscored, Verdict

_SIGNS = {"fail": "✗", "pass": "✓", "unscored": "?"}
_LETTER = 6.3  # About the width of a letter of a label, in pixels of the thumbnail
_MAX_PROMPT = 180  # Longer prompts are cut below the most telling failures; the gallery has them whole
_MAX_NAME = 20
_FORMULA_WIDTH = 44
_OPERATORS = r"(?<=\()(?:and|or|not|implies|iff|exists|forall|exactly|at-least|at-most)(?=[\s)])"


def gallery_html(section: Section, examples: Mapping[int, Sequence[ExampleImage]], remark: str, prefix: str) -> str:
    """Return a filterable gallery of a section's images as HTML."""
    runs = [number for number in range(len(section.rows)) if examples.get(number)]
    if not runs and not remark:
        return ""
    images = [example for number in runs for example in examples[number]]
    tones = run_tones(section.rows)
    levels = sorted({example.item.level for example in images})
    outcomes = [outcome for outcome in _SIGNS if any(_outcome_name(example) == outcome for example in images)]
    return render_template(
        "formalimg.reports",
        "gallery.html",
        remark=remark,
        filters=[
            ("run", [(str(number), section.rows[number].name) for number in runs]),
            ("level", [(str(level), level_name(section.suite, level)) for level in levels]),
            ("outcome", [(outcome, outcome) for outcome in outcomes]),
        ],
        has_boxes=any(example.thumbnail and "scene" in example.judged.verdict.evidence for example in images),
        walls=[
            (
                section.rows[number].name,
                tones[number],
                f" {len(examples[number])} of {count_noun(section.rows[number].summary.overall.expected, 'image')}, "
                "chosen from all levels",
                [_gallery_figure(example, number, section, prefix) for example in examples[number]],
            )
            for number in runs
        ],
    )


def telling_figures(section: Section, telling: Sequence[tuple[int, ExampleImage]], prefix: str) -> Markup:
    """Return the most telling failures as HTML, each with a sentence on what failed and a link to its details."""
    tones, names = run_tones(section.rows), short_names([row.name for row in section.rows], _MAX_NAME)
    figures = []
    for run, example in telling:
        first, *more = failure_sentences(example.judged.verdict, section.suite, example.item.formula)
        figures.append(
            {
                "run": names[run] if len(section.rated) > 1 else "",
                "tone": tones[run],
                "image": Markup(image_html(example, section.suite) if example.thumbnail else ""),
                "level": level_name(section.suite, example.item.level),
                "sentence": first.text,
                "more": f", and {len(more)} more" if more else "",
                "prompt": shorten_text(example.item.prompt, _MAX_PROMPT),
                "link": f"#{_figure_id(example, run, prefix)}",
            }
        )
    return Markup(render_template("formalimg.reports", "telling.html", figures=figures))


def _outcome_name(example: ExampleImage) -> str:
    passed = example.judged.outcome.passed
    return "unscored" if passed is None else "pass" if passed else "fail"


def _figure_id(example: ExampleImage, run: int, prefix: str) -> str:
    """Return an ID for an image that is safe to use on the page, whatever the name of its item."""
    outcome = example.judged.outcome
    return f"{prefix}-{run}-{sha256(outcome.item.encode(errors='replace')).hexdigest()[:12]}-{outcome.sample}"


def _gallery_figure(example: ExampleImage, run: int, section: Section, prefix: str) -> dict[str, object]:
    """Return an image and everything that the gallery shows below it."""
    outcome, verdict, item = example.judged.outcome, example.judged.verdict, example.item
    row, suite, terms = section.rows[run], section.suite, section.suite.terms
    name = _outcome_name(example)
    parts = verdict.parts if isinstance(verdict, Verdict) else ()
    failed = [part for part in parts if part.score < 1]
    passed = [part for part in parts if part.score >= 1]
    score = f", {outcome.score:.2f}" if suite.has_scores and outcome.score is not None else ""
    sample = f", image {outcome.sample}" if row.manifest.samples > 1 else ""
    other_parts = f"other {terms.part}" if failed else terms.part
    explanation = verdict.evidence.get("explanation")
    return {
        "id": _figure_id(example, run, prefix),
        "run": run,
        "level": item.level,
        "outcome": name,
        "image": Markup(image_html(example, suite) if example.thumbnail else ""),
        "verdict": f"{_SIGNS[name]} {name}{score}",
        "place": f"{level_name(suite, item.level)}, item {item.id}{sample}",
        "larger": example.thumbnail.address if isinstance(example.thumbnail, LinkedImage) else "",
        "why": list(_verdict_remarks(verdict, is_gated=(outcome.item, outcome.sample) in row.gated)),
        "prompt": item.prompt,
        "what_failed": [part.text for part in failure_sentences(verdict, suite, item.formula)] if failed else [],
        "failed": [_part_text(part, suite) for part in failed],
        "failed_summary": f"{count_noun(len(failed), terms.part)} {terms.failed}",
        "held": [_part_text(part, suite) for part in passed],
        "held_summary": f"{count_noun(len(passed), other_parts)} {terms.holds if len(passed) == 1 else terms.hold}",
        "formula": formula_pieces(item.formula, parts) if item.formula else [],
        "explanation": explanation if isinstance(explanation, str) else "",
        "explanation_title": explanation_title(verdict),
    }


def _verdict_remarks(verdict: Verdict | Unscored, *, is_gated: bool) -> Iterator[tuple[str, str, str]]:
    """Yield remarks on a verdict, such as why an image is unscored, as text before, in and after an emphasis."""
    if isinstance(verdict, Unscored):
        yield "", verdict.reason, f": {verdict.detail}" if verdict.detail else ""
    elif "rule" in verdict.evidence:
        yield "failed by rule: ", str(verdict.evidence["rule"]), ""
    if is_gated:
        yield "counts as 0: the factual image of its group is below the threshold", "", ""
    if disagreement := clause_disagreement(verdict):
        yield "", "disagreement", f": {disagreement}"


def _part_text(part: Part, suite: Benchmark) -> dict[str, object]:
    """Return a part of a verdict, with `text` and `reason` split so that names are not broken across lines."""
    is_code = suite.terms.is_code
    return {
        "sign": _SIGNS["pass" if part.score >= 1 else "fail"],
        "is_code": is_code,
        "text": re.split(r"(\?[^\s()]+)", part.name) if is_code else [part.name],
        "score": format_value(part.score, "score") if suite.has_scores else "",
        "reason": re.split(r"(\?[^\s()]+)", part.reason or ""),
    }


# --- formulas


def formula_pieces(formula: str, parts: Iterable[Part]) -> list[tuple[str, str]]:
    """Split a formula into an indented tree of plain text, operators (`b`) and atoms of failed clauses (`mark`)."""
    failed = {atom for part in parts if part.score < 1 for atom in _clause_atoms(part.name)}
    try:
        text = to_pretty_text(parse(formula), _FORMULA_WIDTH)
    except FormulaError:
        text = formula
    atoms = "|".join(re.escape(atom) for atom in sorted(failed))
    pattern = re.compile(f"(?P<failed>{atoms or '(?!)'})|(?P<operator>{_OPERATORS})")
    pieces: list[tuple[str, str]] = []
    start = 0
    for match in pattern.finditer(text):
        pieces += [("", text[start : match.start()]), ("mark" if match["failed"] else "b", match.group())]
        start = match.end()
    return [*pieces, ("", text[start:])]


def _clause_atoms(name: str) -> Iterator[str]:
    """Yield the atoms that a clause requires, which for a condition are those after the `or`."""
    try:
        clause = parse(name)
    except FormulaError:
        return  # a question, or a clause that names its variables in another way
    literals = clause.parts if isinstance(clause, Or) else (clause,)
    positive = [literal for literal in literals if isinstance(literal, Atom)]
    for literal in positive or literals:
        yield str(literal.body if isinstance(literal, Not) else literal)


# --- images with boxes


def image_html(example: ExampleImage, suite: Benchmark, link: str = "") -> str:
    """Return the thumbnail as HTML, with boxes on hover and the boxes of failed objects always visible.

    A failure due to a missing object has no box.
    """
    thumbnail, verdict = example.thumbnail, example.judged.verdict
    boxes: list[dict[str, object]] = []
    alt = f"Image made for item {example.item.id}"
    if not isinstance(thumbnail, str) and (scene := _read_scene(verdict)) is not None:
        sentences = failure_sentences(verdict, suite, example.item.formula) if isinstance(verdict, Verdict) else ()
        at_fault = frozenset().union(*(sentence.objects for sentence in sentences))
        boxes = [_object_box(obj, number in at_fault, thumbnail) for number, obj in enumerate(scene.objects)]
        alt += f"; found in it: {', '.join(obj.describe() for obj in scene.objects) or 'nothing'}"
    absent = thumbnail if isinstance(thumbnail, str) else ""
    values = {"image": thumbnail, "absent": absent, "alt": alt, "boxes": boxes, "link": link}
    return render_template("formalimg.reports", "image.html", **values)


def _read_scene(verdict: Verdict | Unscored) -> Scene | None:
    """Return the scene that the judge found, or None if none is stored or it cannot be drawn."""
    try:
        return Scene.from_json(verdict.evidence["scene"]) if "scene" in verdict.evidence else None
    except SceneError:
        return None


def _object_box(obj: SceneObject, at_fault: bool, image: PageImage) -> dict[str, object]:
    """Return a box in pixels of the thumbnail, with the position and width of its label."""
    x_scale, y_scale = image.width / CANVAS, image.height / CANVAS
    x, y = obj.box.xmin * x_scale, obj.box.ymin * y_scale
    width, height = (obj.box.xmax - obj.box.xmin) * x_scale, (obj.box.ymax - obj.box.ymin) * y_scale
    text = obj.describe()
    length = min(_LETTER * len(text) + 6, image.width)
    left = min(x, image.width - length)
    top = y - 13 if y >= 13 else y  # above the box where there is room, else inside it
    return {
        "frame": {"x": _pixel_text(x), "y": _pixel_text(y), "width": _pixel_text(width), "height": _pixel_text(height)},
        "plate": {"x": _pixel_text(left), "y": _pixel_text(top), "width": _pixel_text(length), "height": "13"},
        "text_x": _pixel_text(left + 3),
        "text_y": _pixel_text(top + 9.5),
        "text": text,
        "at_fault": at_fault,
    }


def _pixel_text(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
