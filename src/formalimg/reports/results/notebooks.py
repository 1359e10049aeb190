"""Notebook output of evaluations: pandas data frames, and self-contained HTML that suits every theme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from formalimg._util.installing import import_pandas
from formalimg._util.text import render_template
from formalimg.benchmarks.registry import suite as find_suite
from formalimg.human_eval.agreement.rated_images import ImageName
from formalimg.reports.comparison_model import Comparison
from formalimg.reports.figures.curve import curve_svg
from formalimg.reports.figures.svg import Markup
from formalimg.reports.findings import list_claims
from formalimg.reports.gallery import image_html
from formalimg.reports.page import main_table_html
from formalimg.reports.page_images import ExampleImage, make_thumbnail
from formalimg.reports.tables.format import count_noun, level_name
from formalimg.runs.reader import Judged
from formalimg.types import RunRecord, Verdict

if TYPE_CHECKING:
    from pandas import DataFrame

    from formalimg.reports.comparison_model import Comparison
    from formalimg.reports.results.result import Failure


_SHARED_COLUMNS = ("suite", "model", "judge", "item", "level", "sample")
_IMAGE_COLUMNS = ("prompt", "passed", "score", "unscored", "detail", "seed", "cost", "tags", "image", "sha256")
_PART_COLUMNS = ("part", "kind", "holds", "part_score", "weight", "about", "reason")
_PAIR_COLUMNS = (
    *("suite", "first", "second", "number", "by", "difference", "low", "high"),
    *("p", "adjusted_p", "is_certain", "items", "judge_difference"),
)


def image_frame(run: RunRecord, labels: Mapping[ImageName, bool] | None = None) -> DataFrame:
    """Return one row per planned image; images without a verdict have no `passed` and a reason in `unscored`."""
    rows = []
    for judged in run.judged():
        outcome, item = judged.outcome, run.items[judged.outcome.item]
        verdict = (outcome.passed, outcome.score, outcome.reason, outcome.detail, judged.seed, judged.verdict.cost)
        image = None if judged.image is None else str(judged.image)
        row = (*_cells_of_run(run, judged), item.prompt, *verdict, ", ".join(item.tags), image, judged.sha256)
        rows.append(row)
    pandas = import_pandas()
    frame: DataFrame = pandas.DataFrame(rows, columns=[*_SHARED_COLUMNS, *_IMAGE_COLUMNS])
    # Nullable types: a missing verdict is neither False nor 0.
    frame = frame.astype({"passed": "boolean", "score": "Float64", "cost": "Float64"})
    if labels is not None:
        images = zip(frame["item"], frame["sample"], strict=True)
        frame["label"] = pandas.array([labels.get(ImageName(*image)) for image in images], dtype="boolean")
    return frame


def part_frame(run: RunRecord) -> DataFrame:
    """Return one row for each part of each verdict, such as a clause, a concept or a question."""
    rows = [
        (
            *_cells_of_run(run, judged),
            *(part.name, part.kind, part.score >= 1, part.score, part.weight, ", ".join(part.about), part.reason),
        )
        for judged in run.judged()
        if isinstance(judged.verdict, Verdict)
        for part in judged.verdict.parts
    ]
    frame: DataFrame = import_pandas().DataFrame(rows, columns=[*_SHARED_COLUMNS, *_PART_COLUMNS])
    return frame


def pair_frame(comparison: Comparison) -> DataFrame:
    """Return one row for each pair of runs."""
    rows = []
    for section in comparison.sections:
        for pair in section.pairs:
            difference, judge = pair.found, pair.judge or pair.found
            low, high = difference.interval or (None, None)
            names = (section.suite.name, pair.first, pair.second, pair.number, pair.by)
            tests = (difference.p, difference.adjusted_p, pair.is_certain, difference.items)
            rows.append((*names, difference.estimate, low, high, *tests, judge.estimate))
    frame: DataFrame = import_pandas().DataFrame(rows, columns=[*_PAIR_COLUMNS])
    return frame


def _cells_of_run(run: RunRecord, judged: Judged) -> tuple[object, ...]:
    manifest, outcome = run.manifest, judged.outcome
    judge = manifest.judge.name if manifest.judge else None
    return manifest.suite, manifest.model.name, judge, outcome.item, outcome.level, outcome.sample


MAX_SHOWN = 12  # The most failures of one gallery: each holds a small image, and all are stored in the notebook


def comparison_html(comparison: Comparison) -> str:
    """Return the claim, the main table and the curve of each suite as HTML."""
    sections = [
        {
            "title": section.title,
            "runs": ", ".join(row.name for row in section.rows),
            "judges": ", ".join(sorted({row.manifest.judge.name for row in section.rows if row.manifest.judge})),
            "claims": list_claims(section, comparison) if section.pairs else [],
            "table": Markup(main_table_html(section, comparison)),
            "curve": curve_svg(section),
        }
        for section in comparison.sections
    ]
    return str(render_template("formalimg.reports.results", "comparison.html", style=_read_style(), sections=sections))


def failures_html(failures: Sequence[Failure], total: int) -> str:
    """Return failures as a gallery with the image, its prompt, and what it fails to show."""
    cards = []
    for failure in failures[:MAX_SHOWN]:
        suite, image = find_suite(failure.suite), failure.judged.image
        thumbnail = "no image" if image is None else make_thumbnail(image)
        cards.append(
            {
                "place": f"{level_name(suite, failure.level)}, item {failure.item}",
                "image": Markup(image_html(ExampleImage(failure.planned, failure.judged, thumbnail), suite)),
                "prompt": failure.prompt,
                "what_failed": failure.what_failed,
            }
        )
    note = "" if total == 1 else f"{len(cards)} of {count_noun(total, 'image')} that failed"
    values = {"style": _read_style(), "cards": cards, "note": note}
    return str(render_template("formalimg.reports.results", "failures.html", **values))


@cache
def _read_style() -> Markup:
    return Markup((files("formalimg.reports.results") / "templates" / "notebook.css").read_text(encoding="utf-8"))
