"""Scores of ConceptMix: answers per concept, full marks (Table 4), concept fractions (Table 9), and prompt lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, quantiles, stdev
from typing import NamedTuple

from formalimg.benchmarks.conceptmix.spec import ConceptSpec
from formalimg.errors import FormalimgError
from formalimg.reports.comparison_model import HowCounted, SeenRun, run_cell, run_column
from formalimg.reports.published import ReferenceRow, reference_rows
from formalimg.reports.tables.format import count_noun, rule_text
from formalimg.reports.tables.model import Column, Number, TableRow
from formalimg.stats.intervals import fraction_interval
from formalimg.stats.observations import Interval, MissingPolicy
from formalimg.types import Benchmark, Table


class ConceptAnswer(NamedTuple):
    """A concept in a prompt, and its score from 0 to 1 for an image, or None if unknown."""

    category: str
    value: str
    score: float | None

    @property
    def is_shown(self) -> bool | None:
        """Whether the image shows the concept."""
        return None if self.score is None else self.score >= 1


class MarkedImage(NamedTuple):
    """An image with an answer for each concept in its prompt."""

    item: str  # the item's id
    level: int  # the item's level
    passed: bool | None  # the verdict; None if unscored
    answers: tuple[ConceptAnswer, ...]  # one for each concept of the prompt, objects first

    @property
    def is_answered(self) -> bool:
        """Whether every concept has an answer."""
        return bool(self.answers) and all(answer.score is not None for answer in self.answers)

    @property
    def one_more(self) -> ConceptAnswer | None:
        """The added concept at k = 1: the first concept that is not an object; if there is none, the second object."""
        non_objects = [answer for answer in self.answers if answer.category != "object"]
        return next(iter(non_objects or self.answers[1:]), None)


class MarkedRun(NamedTuple):
    """A run with the answers for all its images."""

    name: str
    images: tuple[MarkedImage, ...]


def has_answers(run: SeenRun) -> bool:
    """Return whether the verdicts include answers per concept, which some judges do not provide."""
    verdicts = [image for image in run.images if image.passed is not None]
    return not verdicts or any(image.parts or image.by_rule for image in verdicts)


def mark_run(run: SeenRun, missing: MissingPolicy) -> MarkedRun:
    """Return the answers for all images of a run."""
    concepts: dict[str, list[tuple[str, str]]] = {}
    for item in () if all(image.parts for image in run.images) else run.record.suite_items():
        if not isinstance(item.spec, ConceptSpec):
            raise FormalimgError(f"item {item.id} of {run.name} has no concepts: use the version that made the run")
        concepts[item.id] = [requested.concept for requested in item.spec.concepts]
    images = []
    for image in run.images:
        if image.parts:
            parts = ((part.kind, " ".join(part.about) or part.name, part.score) for part in image.parts)
            answers = tuple(ConceptAnswer(*part) for part in parts)
        else:
            # An image that passes shows all there is to show, and one that fails by rule shows nothing; of any other
            # that fails, it is unknown what it lacks.
            score = 1.0 if image.passed else 0.0 if image.by_rule else None
            answers = tuple(ConceptAnswer(*concept, score) for concept in concepts[image.item])
        images.append(MarkedImage(image.item, image.level, image.passed, answers))
    unanswered = sum(not image.is_answered for image in images)
    if missing == "error" and unanswered:
        raise FormalimgError(
            f"the verdicts on {count_noun(unanswered, 'image')} of {run.name} do not say which concepts are shown: "
            "judge them again, or choose --missing exclude or --missing fail"
        )
    return MarkedRun(run.name, tuple(images))


def full_marks(suite: Benchmark, runs: Sequence[SeenRun], rules: HowCounted) -> Table:
    """Return the share of images that show all concepts, by level, as in the paper."""
    return _level_table(
        suite,
        {run.name: {level: Number.of(rate) for level, rate in run.summary.levels.items()} for run in runs},
        reference_rows(suite.name) if rules.references else (),
        "full mark",
        f"Full-mark score by {suite.level}: the share of images that show all concepts",
        f"± is the larger side of the exact {100 * rules.confidence:g} % interval (Clopper and Pearson), as in the "
        f"paper. {rule_text(rules.missing)}.",
    )


def concept_fractions(suite: Benchmark, runs: Sequence[MarkedRun], rules: HowCounted) -> Table:
    """Return the fraction of concepts that images show, by level."""
    fractions: dict[str, Mapping[int, Number]] = {}
    for run in runs:
        levels = sorted({image.level for image in run.images})
        fractions[run.name] = {
            level: _mean_fraction([image for image in run.images if image.level == level], rules) for level in levels
        }
    mean = (
        "The mean over images of the share of their concepts that is shown"
        if rules.profile == "paper"
        else "The share of all questions that were answered yes, as in the published code; the paper speaks of the "
        "mean over images"
    )
    return _level_table(
        suite,
        fractions,
        reference_rows(suite.name, "concept fraction") if rules.references else (),
        "concept fraction",
        f"Concept fraction by {suite.level}: the share of concepts that is shown",
        f"{mean}. ± is the larger side of the {100 * rules.confidence:g} % interval, the exact one of as many yes/no "
        f"answers as the shares are worth. {rule_text(rules.missing)}.",
    )


def _mean_fraction(images: Sequence[MarkedImage], rules: HowCounted) -> Number:
    answered = [image for image in images if image.is_answered]
    shares: list[float] = []
    items: list[str] = []
    for image in images if rules.missing == "fail" else answered:
        scores = [answer.score or 0.0 for answer in image.answers]
        added = scores if rules.profile == "official-code" else [fmean(scores) if scores else 0.0]
        shares += added
        items += [image.item] * len(added)
    interval = fraction_interval(shares, rules.confidence, items=items)
    if interval is None:
        return Number(None, scored=len(answered), expected=len(images))
    value = fmean(shares)
    margin = max(value - interval.low, interval.high - value)
    bounds = Interval(_mean_share(images, rules, 0.0), _mean_share(images, rules, 1.0))
    return Number(value, interval, margin, scored=len(answered), expected=len(images), bounds=bounds)


def _mean_share(images: Sequence[MarkedImage], rules: HowCounted, default: float) -> float:
    """Return the mean fraction of concepts shown, using `default` for images without answers."""
    scores = [
        [(answer.score if image.is_answered else default) or 0.0 for answer in image.answers] or [default]
        for image in images
    ]
    if rules.profile == "official-code":
        return fmean(score for listed in scores for score in listed)
    return fmean(map(fmean, scores))


def _level_table(
    suite: Benchmark,
    runs: Mapping[str, Mapping[int, Number]],
    published: Sequence[ReferenceRow],
    name: str,
    title: str,
    note: str,
) -> Table:
    levels = sorted({level for numbers in (*runs.values(), *(row.rates for row in published)) for level in numbers})
    rows: list[TableRow] = []
    for run, numbers in runs.items():
        scored, expected = (
            sum(getattr(number, key) or 0 for number in numbers.values()) for key in ("scored", "expected")
        )
        rows.append(TableRow((run, *map(numbers.get, levels), f"{scored}/{expected}"), run))
    for row in published:
        printed = {level: Number(rate, margin=row.margins.get(level)) for level, rate in row.rates.items()}
        rows.append(TableRow((row.name, *map(printed.get, levels), "published"), row.name, row.model, row.judge))
    sources = "; ".join(dict.fromkeys(row.source for row in published))
    is_known = any(number.value is not None for numbers in runs.values() for number in numbers.values())
    shares = (Column(f"{suite.level} {level}", "share") for level in levels)
    columns = (Column("run"), *shares, Column("scored", align="right"))
    notes = (f"{note} Published: {sources}." if sources else note,)
    return Table(name, title, columns, tuple(rows) if is_known else (), notes)


def prompt_lengths(suite: Benchmark, runs: Sequence[SeenRun]) -> Table:
    """Return prompt length in words and characters by level (Figure 12), listing runs over equal items only once."""
    by_items = {run.record.manifest.items_digest: run for run in reversed(runs)}
    listed = [run for run in runs if by_items[run.record.manifest.items_digest] is run]
    rows = []
    for run in listed:
        items = run.record.items.values()
        for measure in ("words", "characters"):
            for level in sorted({item.level for item in items}):
                prompts = [item.prompt for item in items if item.level == level]
                lengths = [len(prompt.split()) if measure == "words" else len(prompt) for prompt in prompts]
                single = len(lengths) == 1
                quartiles = [lengths[0]] * 3 if single else quantiles(lengths, n=4, method="inclusive")
                numbers = (len(lengths), fmean(lengths), None if single else stdev(lengths), *quartiles)
                cells = (*run_cell(run.name, listed), measure, str(level), *numbers)
                rows.append(TableRow(cells, run.name if len(listed) > 1 else ""))
    decimals = ("mean", "sd", "lower quartile", "median", "upper quartile")
    return Table(
        "prompt length",
        f"Length of the prompts by {suite.level}",
        (
            *run_column(listed),
            Column("in"),
            Column(suite.level),
            Column("items", "count"),
            *(Column(head, "decimal") for head in decimals),
        ),
        tuple(rows),
        ("Over the items, whatever became of their images.",),
    )
