"""Records and summaries of the published scorers of CF-World, from the verdicts of a run.

Sums are those of the published code: each question has its full weight, and a factual image without a score closes the
gate of its group. So its summary scripts find in these files the means that stand beside them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from formalimg.benchmarks.cfworld.image_scores import counterfactual_specs
from formalimg.benchmarks.cfworld.published_groups import PUBLISHED_TYPES
from formalimg.benchmarks.cfworld.questions import pair_objects
from formalimg.benchmarks.cfworld.run_scores import NO_FACTUAL
from formalimg.benchmarks.cfworld.score_files import (
    GATE_NOTE,
    GATE_REASON,
    CfWorldFile,
    cf_score_record,
    cf_world_file,
    number_of,
    probe_file,
    whole_weight,
)
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.reports.run_export import unscored_text
from formalimg.runs.reader import Judged, StoredRun
from formalimg.types import Item, Unscored, Verdict

LayoutName: TypeAlias = Literal["gemini", "qwen", "de-norm", "rules", "attributes"]
"""The published scorers: two of the benchmark itself, and one of each probe."""

_GATE = 0.5
_SUFFIXES = {"gemini": "_gemini_scores", "qwen": "_gemini_qwen235b", "de-norm": "_gemini_qwen235b"}
_SUMMARIES = {"gemini": "summary_stats", "qwen": "summary_weighted_stats", "de-norm": "summary_l2_stats"}
_CATEGORIES: Mapping[LayoutName, tuple[str, str]] = {"rules": ("original", "cf"), "attributes": ("factual", "unusual")}
"""What the published files call factual and counterfactual images."""

NO_QUESTION_SCORES = "no score for each question"
"""The reason for images whose verdict does not go into the questions of their item."""

QuestionScore: TypeAlias = tuple[float, str]
"""Score and reason."""


class ExportedImage(NamedTuple):
    """An image with its place in the published tree."""

    judged: Judged  # the image and its verdict
    item: Item[CounterfactualSpec]  # its item
    file: CfWorldFile  # where the item belongs
    name: str  # the name of the image there, without its suffix
    scores: tuple[QuestionScore, ...] | None  # the score of each question; None for an image without
    reason: str = ""  # why it has none; empty if it has
    # the score of the factual image of its group; None for no gate, or a factual image itself
    gate: float | None = None

    @property
    def path(self) -> str:
        """The path of the image, without its suffix."""
        return f"{self.file.tree}/{self.name}" if self.file.tree else self.name

    @property
    def is_gated(self) -> bool:
        """Whether it counts as 0 because the gate of its group is closed."""
        return self.gate is not None and self.gate < _GATE

    @property
    def raw_score(self) -> float:
        """The weighted mean over all questions, summed up in the order of the published code."""
        asked = self.item.spec.questions
        total = sum(score * float(each.weight) for each, (score, _) in zip(asked, self.scores or (), strict=True))
        return total / sum(float(each.weight) for each in asked)

    @property
    def score(self) -> float:
        """The score after the gate."""
        return 0.0 if self.is_gated else self.raw_score


def scored_images(run: StoredRun, layout: LayoutName) -> list[ExportedImage]:
    """Return the images of a run in the order of the run, with the gate where the layout has one."""
    counterfactual_specs(run)  # refuses items without groups
    items: dict[str, Item[Any]] = {item.id: item for item in run.suite_items()}
    images = [_image(judged, items[judged.outcome.item], layout) for judged in run.judged()]
    if layout not in ("gemini", "qwen"):
        return images
    factual = {
        (one.item.spec.group, one.judged.outcome.sample): 0.0 if one.scores is None else one.raw_score
        for one in images
        if one.judged.outcome.level == 1
    }
    return [one if one.judged.outcome.level == 1 else _with_gate(one, factual) for one in images]


def _image(judged: Judged, item: Item[CounterfactualSpec], layout: LayoutName) -> ExportedImage:
    file = probe_file(item) if layout in ("rules", "attributes") else cf_world_file(item)
    name = f"{file.number}_l{file.level}" if layout in ("gemini", "qwen") else file.number
    scores = _scores(judged.verdict, item.spec)
    reason = judged.verdict.reason if isinstance(judged.verdict, Unscored) else NO_QUESTION_SCORES
    return ExportedImage(judged, item, file, name, scores, "" if scores else reason)


def _with_gate(image: ExportedImage, factual: Mapping[tuple[str, int], float]) -> ExportedImage:
    group, sample = image.item.spec.group, image.judged.outcome.sample
    gate = factual.get((group, sample), factual.get((group, 0)))
    if gate is None:
        return image._replace(scores=None, reason=image.reason or NO_FACTUAL)
    return image._replace(gate=gate)


def _scores(verdict: Verdict | Unscored, spec: CounterfactualSpec) -> tuple[QuestionScore, ...] | None:
    """Return score and reason of each question; None if there is no verdict, or it does not go into questions."""
    if isinstance(verdict, Unscored):
        return None
    if not verdict.parts and "rule" in verdict.evidence:  # one flat colour shows nothing, without a question
        return ((0.0, str(verdict.evidence.get("explanation", ""))),) * len(spec.questions)
    if [part.name for part in verdict.parts] != [asked.question for asked in spec.questions]:
        return None
    return tuple((part.score, part.reason) for part in verdict.parts)


def score_files(images: Sequence[ExportedImage], layout: LayoutName, name: str, judge: str) -> dict[str, Any]:
    """Return the score files of a sample of a run: their content by path."""
    scored = [one for one in images if one.scores is not None]
    files: dict[str, Any] = {}
    if not scored:
        pass  # only the list of what has no score
    elif layout in ("rules", "attributes"):
        records = _rule_records if layout == "rules" else _pair_records
        files["eval_results.json"] = list(records(scored, judge))
    else:
        trees = {
            tree: [one for one in scored if one.file.tree == tree] for tree in sorted({one.file.tree for one in scored})
        }
        for tree, own in trees.items():
            files[f"{tree}{_SUFFIXES[layout]}.json"] = list(_records(own, layout, judge))
        summary = [_means(f"{tree.rpartition('/')[2]}_gemini.json", own, layout) for tree, own in trees.items()]
        total = _model_means(scored, layout, name) if layout == "de-norm" else _means("TOTAL_AVERAGE", scored, layout)
        files[f"{_SUMMARIES[layout]}.json"] = [*summary, total]
    unscored = [one for one in images if one.scores is None]
    if unscored:
        listed = json.loads(
            unscored_text([one.judged for one in unscored], {one.item.id: one.item for one in unscored})
        )
        files["unscored.json"] = [{**entry, "reason": one.reason} for entry, one in zip(listed, unscored, strict=True)]
    return files


def comparison_entry(images: Sequence[ExportedImage], layout: LayoutName, name: str) -> list[dict[str, Any]]:
    """Return the entry of a model in the file that lists all of them; none in layouts without such a file."""
    scored = [one for one in images if one.scores is not None]
    return [_model_means(scored, layout, name)] if scored and layout not in ("gemini", "qwen") else []


def _records(images: Sequence[ExportedImage], layout: LayoutName, judge: str) -> Iterator[dict[str, object]]:
    """Yield the records of a field, as the scorers of the benchmark and of the de-nominalised probe write them."""
    number = 0
    for one in images:
        factual = one.raw_score if one.judged.outcome.level == 1 else one.gate
        for asked, (score, reason) in zip(one.item.spec.questions, one.scores or (), strict=True):
            number += 1
            record = cf_score_record(number, one.file, asked, score, reason)
            if layout == "gemini":
                more: dict[str, object] = {"scoring_model": judge, "image_score": round(one.score, 4)}
                more["l1_score"] = round(factual or 0.0, 4)
            else:
                more = {"image_filename": f"{one.name}.png", "evaluator": judge}
            if layout == "qwen":
                more |= {"image_score": round(one.score, 4), "l1_ref_score": round(factual or 0.0, 4)}
            yield {**record, **more, **(_gated(layout, score, str(record["reasoning"]), one) if one.is_gated else {})}


def _gated(layout: LayoutName, score: float, reason: str, image: ExportedImage) -> dict[str, object]:
    """Return what the published scorer writes in place of a score behind a closed gate, and the judge's own."""
    if layout == "gemini":
        given = {"reasoning": GATE_REASON, "scoring_model": "None"}
    else:
        given = {"reasoning": f"{reason} {GATE_NOTE}({image.gate:.2f}) < {_GATE}]"}
    return {"score": 0.0, **given, "judge_score": score, "judge_reasoning": reason}


def _rule_records(images: Sequence[ExportedImage], judge: str) -> Iterator[dict[str, object]]:
    number = 0
    for one in images:
        for asked, (score, reason) in zip(one.item.spec.questions, one.scores or (), strict=True):
            number += 1
            yield {
                "id": number,
                "source_id": one.file.number,
                **({"item": one.file.item} if one.file.item else {}),
                "rule_id": number_of(one.item.spec.group.removeprefix("rule-")),
                "category": _category(one, "rules"),
                "question_type": PUBLISHED_TYPES[asked.dimension],
                "image_filename": f"{one.name}{one.judged.image.suffix if one.judged.image else '.png'}",
                "question": asked.question,
                "weight": whole_weight(asked.weight),
                "score": score,
                "reasoning": reason,
                "evaluator": judge,
                "image_score": round(one.score, 4),
            }


def _pair_records(images: Sequence[ExportedImage], judge: str) -> Iterator[dict[str, object]]:
    for one in images:
        a, b = pair_objects(one.item.spec, one.item.prompt) or ("", "")
        yield {
            "id": number_of(one.name),
            **({"item": one.file.item} if one.file.item else {}),
            "A": a,
            "B": b,
            "prompt": one.item.prompt,
            "category": _category(one, "attributes"),
            "score": one.score,
            "reasoning": " ".join(reason for _, reason in one.scores or ()),
            "evaluator": judge,
        }


def _category(image: ExportedImage, layout: LayoutName) -> str:
    factual, counterfactual = _CATEGORIES[layout]
    return factual if image.judged.outcome.level == 1 else counterfactual


def _means(name: str, images: Sequence[ExportedImage], layout: LayoutName) -> dict[str, object]:
    """Return the means of a field, or of all of them."""
    if layout == "de-norm":
        return {"filename": name, "l2_overall": _mean([one.score for one in images])}
    # The scorer for Qwen averages image scores that it has rounded already.
    scores = [(one.judged.outcome.level, round(one.score, 4) if layout == "qwen" else one.score) for one in images]
    levels = {f"l{level}": _mean([score for own, score in scores if own == level]) for level in (1, 2, 3)}
    return {"filename": name, **levels, "overall": _mean([score for _, score in scores])}


def _model_means(images: Sequence[ExportedImage], layout: LayoutName, name: str) -> dict[str, object]:
    """Return the means of a model in a probe."""
    if layout == "de-norm":
        return {"model_name": name, "l2_overall": _mean([one.score for one in images])}
    means = {
        f"{category}_score": _mean([one.score for one in images if _category(one, layout) == category])
        for category in _CATEGORIES[layout]
    }
    return {"model_name": name, "overall_score": _mean([one.score for one in images]), **means}


def _mean(scores: Sequence[float]) -> float | None:
    return round(sum(scores) / len(scores), 4) if scores else None
