"""Images with what was asked, what was found, and why they pass or fail."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from formalimg.judges import Part, Unscored, Verdict
from formalimg.reporting.comparison import Row, Section
from formalimg.reporting.exhibits import Exhibit
from formalimg.reporting.figures import counted
from formalimg.reporting.html.formula import formula_tree
from formalimg.reporting.html.image import image
from formalimg.reporting.html.markup import Markup, element, folded, join, text
from formalimg.reporting.html.tones import tones_of
from formalimg.reporting.image_files import InFolder
from formalimg.reporting.scales import SCORE
from formalimg.reporting.words import Words, level_name, words_of


def gallery(section: Section, exhibits: Mapping[int, Sequence[Exhibit]], remark: str) -> Markup:
    """The images of all runs of a section.

    Args:
        section: the runs.
        exhibits: the images, by the run's place in the section.
        remark: what must be known about their choice.
    """
    shown = [number for number in range(len(section.rows)) if exhibits.get(number)]
    told = element("p", remark, class_="caption") if remark else join()
    if not shown:
        return told
    tones = tones_of(section.rows)
    return element(
        "div",
        told,
        _filters(section, [exhibit for number in shown for exhibit in exhibits[number]]),
        (_wall(section.rows[number], number, tones[number], section, exhibits[number]) for number in shown),
        element("p", "No image matches.", class_="no-match", hidden=True),
        class_="gallery",
    )


def _filters(section: Section, exhibits: Sequence[Exhibit]) -> Markup:
    levels = sorted({exhibit.item.level for exhibit in exhibits})
    outcomes = [outcome for outcome in _SIGNS if any(_outcome(exhibit) == outcome for exhibit in exhibits)]
    search = element("label", "words ", element("input", type="search", data_search=True))
    choices = [
        ("run", [(str(number), row.name) for number, row in enumerate(section.rows)]),
        ("level", [(str(level), level_name(section.suite, level)) for level in levels]),
        ("outcome", [(outcome, outcome) for outcome in outcomes]),
    ]
    fields = (
        element(
            "label",
            f"{name} ",
            element(
                "select",
                element("option", "all", value=""),
                (element("option", words, value=value) for value, words in options),
                data_filter=name,
            ),
        )
        for name, options in choices
    )
    has_boxes = any(exhibit.thumbnail and "scene" in exhibit.judged.verdict.evidence for exhibit in exhibits)
    boxes = element("label", element("input", type="checkbox", data_boxes=True), " show all boxes")
    count = element("output", data_count=True, role="status")
    return element("form", fields, search, boxes if has_boxes else "", count, class_="filters", hidden=True)


def _wall(row: Row, number: int, tone: str, section: Section, exhibits: Sequence[Exhibit]) -> Markup:
    total = row.summary.overall.expected
    title = element(
        "h3",
        element("span", class_="swatch"),
        row.name,
        element("small", f" {len(exhibits)} of {counted(total, 'image')}, chosen from all levels"),
    )
    return element(
        "div",
        title,
        element("div", (_exhibit(one, number, section) for one in exhibits), class_="wall"),
        class_=f"run-wall {tone}",
    )


_SIGNS = {"fail": "✗", "pass": "✓", "unscored": "?"}


def _outcome(exhibit: Exhibit) -> str:
    passed = exhibit.judged.outcome.passed
    return "unscored" if passed is None else "pass" if passed else "fail"


def _exhibit(exhibit: Exhibit, run: int, section: Section) -> Markup:
    outcome = _outcome(exhibit)
    verdict = exhibit.judged.verdict
    parts = verdict.parts if isinstance(verdict, Verdict) else ()
    sample = f", image {exhibit.judged.outcome.sample}" if section.rows[run].manifest.samples > 1 else ""
    return element(
        "figure",
        image(exhibit) if exhibit.thumbnail else "",
        element(
            "figcaption",
            element(
                "p",
                element("b", f"{_SIGNS[outcome]} {outcome}{_score(exhibit, section)}", class_="verdict"),
                element(
                    "span",
                    f"{level_name(section.suite, exhibit.item.level)}, item {exhibit.item.id}{sample}",
                    _larger(exhibit),
                ),
                class_="head",
            ),
            _why_unscored(verdict) if isinstance(verdict, Unscored) else _rule(verdict),
            _gate(exhibit, section.rows[run]),
            element("p", exhibit.item.prompt, class_="prompt"),
            _parts(parts, words_of(section.suite)),
            folded("formula", formula_tree(exhibit.item.formula, parts)) if exhibit.item.formula else "",
            _explanation(verdict),
        ),
        class_=f"exhibit {outcome}",
        data_run=run,
        data_level=exhibit.item.level,
        data_outcome=outcome,
    )


def _larger(exhibit: Exhibit) -> Markup:
    """An image of the folder beside the page can be looked at by itself."""
    if not isinstance(exhibit.thumbnail, InFolder):
        return join()
    return join(" · ", element("a", "larger", href=exhibit.thumbnail.address))


def _score(exhibit: Exhibit, section: Section) -> str:
    """The score behind the verdict, where images have more than a verdict."""
    score = exhibit.judged.outcome.score
    return f", {SCORE.text(score)}" if section.suite.kind == "counterfactual" and score is not None else ""


def _gate(exhibit: Exhibit, row: Row) -> Markup:
    outcome = exhibit.judged.outcome
    if (outcome.item, outcome.sample) not in row.gated:
        return join()
    return element("p", "counts as 0: the factual image of its group is below the threshold", class_="why")


def _why_unscored(verdict: Unscored) -> Markup:
    detail = f": {verdict.detail}" if verdict.detail else ""
    return element("p", element("b", verdict.reason), detail, class_="why")


def _rule(verdict: Verdict) -> Markup:
    if "rule" not in verdict.evidence:
        return join()
    return element("p", "failed by rule: ", element("b", str(verdict.evidence["rule"])), class_="why")


def _parts(parts: Sequence[Part], words: Words) -> Markup:
    """Failed clauses or concepts with their reasons; those that hold are folded away."""
    failed = [part for part in parts if part.score < 1]
    held = [part for part in parts if part.score >= 1]
    told = [element("ul", (_part(part, words) for part in failed), class_="clauses failed")] if failed else []
    if held:
        rest = element("ul", (_part(part, words) for part in held), class_="clauses")
        told.append(folded(_holding(len(held), bool(failed), words), rest))
    return join(told)


def _holding(count: int, some_fail: bool, words: Words) -> str:
    parts = counted(count, f"other {words.part}" if some_fail else words.part)
    return f"{parts} {words.holds if count == 1 else words.hold}"


def _part(part: Part, words: Words) -> Markup:
    sign = _SIGNS["pass" if part.score >= 1 else "fail"]
    asked = element("code", _unbroken(part.name)) if words.parts_are_code else element("span", part.name)
    if words.part == "question":
        asked = join(asked, " ", element("b", SCORE.text(part.score)))
    reason = element("span", _unbroken(part.reason), class_="reason") if part.reason else ""
    return element("li", element("span", sign, class_="sign"), asked, " ", reason)


def _unbroken(words: str) -> Markup:
    """A clause or a reason, such that no line breaks between a question mark and the name behind it."""
    pieces = re.split(r"(\?[^\s()]+)", words)
    return join(*(element("span", piece, class_="name") if piece.startswith("?") else text(piece) for piece in pieces))


def _explanation(verdict: Verdict | Unscored) -> Markup:
    told = verdict.evidence.get("explanation")
    if not isinstance(told, str) or not told:
        return join()
    return folded("explanation", element("pre", told, class_="explanation", tabindex="0"))
