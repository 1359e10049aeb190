"""Tables of question graphs: mean scores as in their papers, by item group and by question category."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from formalimg.benchmarks.odd_records import plain_tags
from formalimg.benchmarks.questions.published import FIRST_ROW
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.reports.comparison_model import HowCounted, SeenRun, table_of_rates
from formalimg.reports.tables.format import rule_text
from formalimg.reports.tables.model import Column, Number, TableRow
from formalimg.types import Table

_ALL, _OTHERS = "all", "other items"


class _ImageScore(NamedTuple):
    """The scores, weights and categories of an image's questions, or None without a verdict."""

    groups: tuple[str, ...]
    parts: tuple[tuple[str, float, float], ...] | None

    @property
    def score(self) -> float | None:
        """The weighted mean over the questions."""
        if not self.parts:
            return None
        return sum(score * weight for _, score, weight in self.parts) / sum(weight for _, _, weight in self.parts)


def question_tables(runs: Sequence[SeenRun], rules: HowCounted) -> tuple[Table, ...]:
    """Return the score tables, without rows for runs without scores."""
    scored = {run.name: list(_image_scores(run, rules)) for run in runs}
    return _by_group(scored, rules), _by_category(scored, rules)


def _image_scores(run: SeenRun, rules: HowCounted) -> Iterable[_ImageScore]:
    items = {item.id: item for item in run.record.suite_items()}
    for image in run.images:
        item = items[image.item]
        questions = item.spec.questions if isinstance(item.spec, QuestionSpec) else ()
        groups = tuple(tag for tag in plain_tags(item.tags) if tag != FIRST_ROW) or (_OTHERS,)
        if rules.profile == "official-code" and FIRST_ROW in item.tags:
            # The code never reads the first row of its file. If another question depends on it, looking up its answer
            # raises an error, and the image is dropped.
            if any(questions[0].id in question.parents for question in questions[1:]):
                continue
            image = image._replace(parts=image.parts[1:])
        if image.parts:
            yield _ImageScore(groups, tuple((part.kind, part.score, part.weight) for part in image.parts))
        elif image.by_rule or rules.missing == "fail":
            yield _ImageScore(groups, tuple((question.category, 0.0, question.weight) for question in questions))
        else:
            yield _ImageScore(groups, None)


def _by_group(scored: Mapping[str, list[_ImageScore]], rules: HowCounted) -> Table:
    names = list(dict.fromkeys(group for images in scored.values() for image in images for group in image.groups))
    rows = []
    for run, images in scored.items():
        rows.append(_group_row(run, _ALL, images))
        groups = sorted(names) if len(names) > 1 else ()
        rows += [_group_row(run, name, [image for image in images if name in image.groups]) for name in groups]
    return table_of_rates(
        "scores",
        "Mean scores, by tag of the items",
        (Column("run"), Column("items"), Column("score", "percent"), Column("questions", "percent")),
        rows,
        "score: the weighted share of an image's questions that have their expected answers, with failed parents "
        "counted, and the mean over images; questions: the share of all questions. "
        f"{rule_text(rules.missing)}.",
    )


def _group_row(run: str, name: str, images: Sequence[_ImageScore]) -> TableRow:
    scores = [score for image in images if (score := image.score) is not None]
    answers = [score for image in images for _, score, _ in image.parts or ()]
    mean = Number(_mean_or_none(scores), scored=len(scores), expected=len(images))
    return TableRow((run, name, mean, Number(_mean_or_none(answers))), run)


def _by_category(scored: Mapping[str, list[_ImageScore]], rules: HowCounted) -> Table:
    rows = []
    for run, images in scored.items():
        by_category: dict[str, list[float]] = {}
        for image in images:
            for category, score, _ in image.parts or ():
                by_category.setdefault(category, []).append(score)
        for category, scores in sorted(by_category.items()):
            rows.append(TableRow((run, category, Number(_mean_or_none(scores)), len(scores)), run))
    return table_of_rates(
        "questions by category",
        "Questions that have their expected answers, by category",
        (Column("run"), Column("category"), Column("questions", "percent"), Column("asked", "count")),
        rows,
        f"The mean over all questions of a category, with failed parents counted. {rule_text(rules.missing)}.",
    )


def _mean_or_none(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
