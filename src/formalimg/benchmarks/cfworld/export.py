"""Export a run of CF-World or of a probe in the layout of its published scorers: images, score files, summaries.

A run is written in the layout of the scorer for its judge's model family; `export --judge` selects the judge. Scores
are summed as in the published code: each question has its full weight, and a factual image without a score closes the
gate of its group. The published summary scripts therefore compute the same means as the exported summaries.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from formalimg._util.io import atomic_write_text, merged_folder, read_text
from formalimg.benchmarks.cfworld.items import pair_objects
from formalimg.benchmarks.cfworld.judge import PERSONAS, select_persona
from formalimg.benchmarks.cfworld.published_judge import FAMILIES
from formalimg.benchmarks.cfworld.published_records import PUBLISHED_TYPES
from formalimg.benchmarks.cfworld.result_files import (
    GATE_NOTE,
    GATE_REASON,
    CfWorldFile,
    cf_score_record,
    cf_world_file,
    number_of,
    probe_file,
    whole_weight,
)
from formalimg.benchmarks.cfworld.run_scores import NO_FACTUAL, counterfactual_specs
from formalimg.benchmarks.cfworld.spec import (
    CF_WORLD,
    CF_WORLD_ATTRIBUTES,
    CF_WORLD_DENOMINALISED,
    CF_WORLD_RULES,
    CounterfactualSpec,
)
from formalimg.errors import FormalimgError
from formalimg.reports.published import ExportedRun, copy_image, require_model_name, unscored_text
from formalimg.runs.manifest import Identity
from formalimg.runs.reader import Judged, StoredRun
from formalimg.types import Item, Unscored, Verdict

LayoutName: TypeAlias = Literal["gemini", "qwen", "de-norm", "rules", "attributes"]  # The published scorers

_GATE = 0.5
NO_QUESTION_SCORES = "no score for each question"  # The verdict does not go into the questions of the item


class _Layout(NamedTuple):
    """The file locations used by a published scorer."""

    images: str  # the folder of the images; `{name}` is the model
    scores: str  # the folder of the scores; `{sample}` is empty, or `_1` and so on for further samples
    comparison: str = ""  # the file that lists all models; empty if there is none
    suffix: str = ""  # of the score files of a field; empty if there is one file for all
    summary: str = ""  # the file of means by field
    categories: tuple[str, str] = ("", "")  # what probes call factual and counterfactual images


_LAYOUTS: Mapping[LayoutName, _Layout] = {
    "gemini": _Layout(
        "data/counterfactual/output/{name}",
        "data/counterfactual/score/gemini-{name}{sample}",
        suffix="_gemini_scores",
        summary="summary_stats",
    ),
    "qwen": _Layout(
        "data/output/images", "output/scores{sample}", suffix="_gemini_qwen235b", summary="summary_weighted_stats"
    ),
    "de-norm": _Layout(
        "data/output/images/{name}/de-norm",
        "output/scores-de-norm/{name}{sample}",
        "output/scores-de-norm/global_l2_comparison.json",
        suffix="_gemini_qwen235b",
        summary="summary_l2_stats",
    ),
    "rules": _Layout(
        "data/images/{name}/rule_decouple",
        "output/scores/{name}{sample}",
        "output/scores/global_models_comparison.json",
        categories=("original", "cf"),
    ),
    "attributes": _Layout(
        "data/images/{name}/sampled_Attribute_decoupling",
        "output/scores_attribute/{name}{sample}",
        "output/scores_attribute/global_models_comparison.json",
        categories=("factual", "unusual"),
    ),
}

_PROBES: Mapping[str, LayoutName] = {
    CF_WORLD_DENOMINALISED: "de-norm",
    CF_WORLD_RULES: "rules",
    CF_WORLD_ATTRIBUTES: "attributes",
}


def export_cfworld(run: StoredRun, folder: str | Path, name: str) -> ExportedRun:
    """Write a run of CF-World or one of its probes in the layout of its published scorer.

    As in the published files, L2 and L3 have their scores after the gate; the judge's own score is beside each as
    `judge_score`. An image without a verdict is in no score file, but is listed with its reason in `unscored.json`. The
    published layout does not include this file, `metadata.jsonl`, or ids of unpublished items. Further samples have
    their own score folders, `gemini-<name>_1` and so on.
    """
    require_model_name(name)
    kind = _layout_name(run.manifest.suite, run.manifest.judge)
    layout, root = _LAYOUTS[kind], Path(folder)
    images = _build_images(run, kind)
    comparisons = _read_comparison(root / layout.comparison) if layout.comparison else []
    judge = run.manifest.judge.name if run.manifest.judge else ""
    try:
        with merged_folder(root) as new:
            copied = _write_images(images, new / layout.images.format(name=name))
            for sample in sorted({image.judged.outcome.sample for image in images}):
                chosen = [image for image in images if image.judged.outcome.sample == sample]
                model = f"{name}_{sample}" if sample else name
                scores = new / layout.scores.format(name=name, sample=f"_{sample}" if sample else "")
                for path, data in _score_files(chosen, kind, model, judge).items():
                    (scores / path).parent.mkdir(parents=True, exist_ok=True)
                    (scores / path).write_text(_encode_json(data), encoding="utf-8")
                if layout.comparison and (scored := [image for image in chosen if image.scores is not None]):
                    comparisons.append(_model_means(scored, kind, model))
    except FileExistsError as error:
        advice = "choose another folder: this layout has none for each model" if kind == "qwen" else "give --name"
        raise FormalimgError(f"{error.filename} already exists: {advice}") from error
    if layout.comparison:
        score = "l2_overall" if kind == "de-norm" else "overall_score"
        listed = sorted(comparisons, key=lambda entry: -(entry.get(score) or 0))
        atomic_write_text(root / layout.comparison, _encode_json(listed))
    reasons = Counter(image.reason for image in images if image.reason)
    return ExportedRun(root, copied, sum(image.scores is not None for image in images), reasons)


def _layout_name(suite: str, judge: Identity | None) -> LayoutName:
    if suite != CF_WORLD:
        return _PROBES[suite]
    if judge is None:
        return "gemini"
    recorded = judge.settings.get("persona")
    persona = next((persona for persona in PERSONAS if persona == recorded), None)
    return FAMILIES[persona or select_persona(judge.name)]


# --- images and their scores


class _PlacedImage(NamedTuple):
    """An image with its path in the published tree."""

    judged: Judged
    item: Item[CounterfactualSpec]
    file: CfWorldFile  # where the item belongs
    name: str  # of the image there, without its suffix
    scores: tuple[tuple[float, str], ...] | None  # score and reason of each question
    reason: str = ""  # why there are no scores
    gate: float | None = None  # the score of the factual image of its group; None for no gate

    @property
    def path(self) -> str:
        """The path of the image, without its suffix."""
        return f"{self.file.tree}/{self.name}" if self.file.tree else self.name

    @property
    def level(self) -> int:
        return self.judged.outcome.level

    @property
    def is_gated(self) -> bool:
        """Whether the image counts as 0 because the gate of its group is closed."""
        return self.gate is not None and self.gate < _GATE

    @property
    def raw_score(self) -> float:
        """The weighted mean over all questions, summed in the order of the published code."""
        questions = self.item.spec.questions
        total = sum(
            score * float(question.weight) for question, (score, _) in zip(questions, self.scores or (), strict=True)
        )
        return total / sum(float(question.weight) for question in questions)

    @property
    def score(self) -> float:
        """The score after the gate."""
        return 0.0 if self.is_gated else self.raw_score


def _build_images(run: StoredRun, layout: LayoutName) -> list[_PlacedImage]:
    """Return the images of a run in run order, with their gate if the layout has one."""
    counterfactual_specs(run)  # refuses items without groups
    items: dict[str, Item[Any]] = {item.id: item for item in run.suite_items()}
    images = [_build_image(judged, items[judged.outcome.item], layout) for judged in run.judged()]
    if layout not in ("gemini", "qwen"):
        return images
    factual = {
        (image.item.spec.group, image.judged.outcome.sample): 0.0 if image.scores is None else image.raw_score
        for image in images
        if image.level == 1
    }
    for number, image in enumerate(images):
        if image.level > 1:
            group, sample = image.item.spec.group, image.judged.outcome.sample
            gate = factual.get((group, sample), factual.get((group, 0)))
            images[number] = image._replace(gate=gate)
            if gate is None:
                images[number] = image._replace(scores=None, reason=image.reason or NO_FACTUAL)
    return images


def _build_image(judged: Judged, item: Item[CounterfactualSpec], layout: LayoutName) -> _PlacedImage:
    file = probe_file(item) if layout in ("rules", "attributes") else cf_world_file(item)
    name = f"{file.number}_l{file.level}" if layout in ("gemini", "qwen") else file.number
    scores = _question_scores(judged.verdict, item.spec)
    reason = judged.verdict.reason if isinstance(judged.verdict, Unscored) else NO_QUESTION_SCORES
    return _PlacedImage(judged, item, file, name, scores, "" if scores else reason)


def _question_scores(verdict: Verdict | Unscored, spec: CounterfactualSpec) -> tuple[tuple[float, str], ...] | None:
    """Return the score and reason of each question; None if the verdict has none for them."""
    if isinstance(verdict, Unscored):
        return None
    if not verdict.parts and "rule" in verdict.evidence:  # one flat colour shows nothing, without a question
        return ((0.0, str(verdict.evidence.get("explanation", ""))),) * len(spec.questions)
    if [part.name for part in verdict.parts] != [question.question for question in spec.questions]:
        return None
    return tuple((part.score, part.reason) for part in verdict.parts)


def _write_images(images: Sequence[_PlacedImage], folder: Path) -> int:
    """Copy the existing images, and return their number."""
    lines = []
    for exported in images:
        outcome, image = exported.judged.outcome, exported.judged.image
        if image is not None:
            name = f"{exported.path}{f'_{outcome.sample}' if outcome.sample else ''}{image.suffix}"
            copy_image(image, folder / name)
            lines.append({"file_name": name, "item": outcome.item, "sample": outcome.sample})
    if any(image.file.item for image in images):
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "metadata.jsonl").write_text(text, encoding="utf-8")
    return len(lines)


# --- score files


def _score_files(images: Sequence[_PlacedImage], kind: LayoutName, name: str, judge: str) -> dict[str, Any]:
    """Return the content of the score files for one sample of a run, by path."""
    layout = _LAYOUTS[kind]
    scored = [image for image in images if image.scores is not None]
    files: dict[str, Any] = {}
    if scored and kind in ("rules", "attributes"):
        encode = _rule_records if kind == "rules" else _pair_records
        files["eval_results.json"] = list(encode(scored, judge))
    elif scored:
        trees: dict[str, list[_PlacedImage]] = {}
        for image in sorted(scored, key=lambda image: image.file.tree):
            trees.setdefault(image.file.tree, []).append(image)
        for tree, chosen in trees.items():
            files[f"{tree}{layout.suffix}.json"] = list(_question_records(chosen, kind, judge))
        summary = [
            _field_means(f"{tree.rpartition('/')[2]}_gemini.json", chosen, kind) for tree, chosen in trees.items()
        ]
        total = _model_means(scored, kind, name) if kind == "de-norm" else _field_means("TOTAL_AVERAGE", scored, kind)
        files[f"{layout.summary}.json"] = [*summary, total]
    unscored = [image for image in images if image.scores is None]
    if unscored:
        items = {image.item.id: image.item for image in unscored}
        entries = json.loads(unscored_text([image.judged for image in unscored], items))
        files["unscored.json"] = [
            {**entry, "reason": image.reason} for entry, image in zip(entries, unscored, strict=True)
        ]
    return files


def _question_records(images: Sequence[_PlacedImage], kind: LayoutName, judge: str) -> Iterator[dict[str, object]]:
    """Yield one record per question in the format of the published scorer."""
    number = 0
    for image in images:
        factual = round((image.raw_score if image.level == 1 else image.gate) or 0.0, 4)
        for question, (score, reason) in zip(image.item.spec.questions, image.scores or (), strict=True):
            number += 1
            record = cf_score_record(number, image.file, question, score, reason)
            if kind == "gemini":
                record |= {"scoring_model": judge, "image_score": round(image.score, 4), "l1_score": factual}
            else:
                record |= {"image_filename": f"{image.name}.png", "evaluator": judge}
            if kind == "qwen":
                record |= {"image_score": round(image.score, 4), "l1_ref_score": factual}
            if image.is_gated:  # what the published scorer writes in place of the score, and the judge's own
                judged = {"judge_score": score, "judge_reasoning": record["reasoning"]}
                note = f"{record['reasoning']} {GATE_NOTE}({image.gate:.2f}) < {_GATE}]"
                skipped = {"reasoning": GATE_REASON, "scoring_model": "None"}
                record |= {"score": 0.0, **(skipped if kind == "gemini" else {"reasoning": note}), **judged}
            yield record


def _rule_records(images: Sequence[_PlacedImage], judge: str) -> Iterator[dict[str, object]]:
    number = 0
    for image in images:
        for question, (score, reason) in zip(image.item.spec.questions, image.scores or (), strict=True):
            number += 1
            yield {
                "id": number,
                "source_id": image.file.number,
                **({"item": image.file.item} if image.file.item else {}),
                "rule_id": number_of(image.item.spec.group.removeprefix("rule-")),
                "category": _category_name(image, "rules"),
                "question_type": PUBLISHED_TYPES[question.dimension],
                "image_filename": f"{image.name}{image.judged.image.suffix if image.judged.image else '.png'}",
                "question": question.question,
                "weight": whole_weight(question.weight),
                "score": score,
                "reasoning": reason,
                "evaluator": judge,
                "image_score": round(image.score, 4),
            }


def _pair_records(images: Sequence[_PlacedImage], judge: str) -> Iterator[dict[str, object]]:
    for image in images:
        a, b = pair_objects(image.item.spec, image.item.prompt) or ("", "")
        yield {
            "id": number_of(image.name),
            **({"item": image.file.item} if image.file.item else {}),
            "A": a,
            "B": b,
            "prompt": image.item.prompt,
            "category": _category_name(image, "attributes"),
            "score": image.score,
            "reasoning": " ".join(reason for _, reason in image.scores or ()),
            "evaluator": judge,
        }


def _category_name(image: _PlacedImage, kind: LayoutName) -> str:
    return _LAYOUTS[kind].categories[image.level != 1]


def _field_means(name: str, images: Sequence[_PlacedImage], kind: LayoutName) -> dict[str, object]:
    """Return the mean scores over the images of a field, or of all fields."""
    if kind == "de-norm":
        return {"filename": name, "l2_overall": _round_mean([image.score for image in images])}
    # The scorer for Qwen averages image scores that it has rounded already.
    scores = [(image.level, round(image.score, 4) if kind == "qwen" else image.score) for image in images]
    levels = {
        f"l{level}": _round_mean([score for own_level, score in scores if own_level == level]) for level in (1, 2, 3)
    }
    return {"filename": name, **levels, "overall": _round_mean([score for _, score in scores])}


def _model_means(images: Sequence[_PlacedImage], kind: LayoutName, name: str) -> dict[str, Any]:
    """Return the mean scores of a model on a probe."""
    overall = _round_mean([image.score for image in images])
    if kind == "de-norm":
        return {"model_name": name, "l2_overall": overall}
    means = {
        f"{category}_score": _round_mean([image.score for image in images if _category_name(image, kind) == category])
        for category in _LAYOUTS[kind].categories
    }
    return {"model_name": name, "overall_score": overall, **means}


def _round_mean(scores: Sequence[float]) -> float | None:
    return round(sum(scores) / len(scores), 4) if scores else None


def _read_comparison(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a file that compares models; empty if the file is missing."""
    if not path.exists():
        return []
    try:
        listed = json.loads(read_text(path))
    except ValueError as error:
        raise FormalimgError(f"{path} is not valid JSON: move it away, or choose another folder") from error
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise FormalimgError(f"{path} is not a list of models: move it away, or choose another folder")
    return listed


def _encode_json(data: object) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
