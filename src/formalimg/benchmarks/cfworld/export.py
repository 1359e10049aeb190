"""Export a run of CF-World in the layout of its published scorers: images, score files and their summary."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from formalimg._util.io import atomic_folder
from formalimg.benchmarks.cfworld.score_files import CfWorldFile, cf_score_record, cf_world_file
from formalimg.benchmarks.cfworld.spec import FIELD_TAGGED, CounterfactualSpec
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.judges.base import UnscoredReason
from formalimg.reports.run_export import ExportedRun, copy_image, count_unscored, require_model_name, unscored_text
from formalimg.runs.reader import Judged, StoredRun
from formalimg.types import Item, Unscored, Verdict

_GATE = 0.5
_MISSING: tuple[UnscoredReason, ...] = ("no image", "refused", "generation failed", "unreadable image", "too large")
"""What the published scorers call a missing image; of the others they say that the call failed."""


class _Layout(NamedTuple):
    """Where a published scorer has its files; `{name}` is the model."""

    images: str
    scores: str
    suffix: str
    has_levels: bool


_EXPLICIT = _Layout(
    "data/counterfactual/output/{name}", "data/counterfactual/score/gemini-{name}", "_gemini_scores", True
)
_DENOMINALISED = _Layout("data/output/images/{name}/de-norm", "output/scores-de-norm/{name}", "_gemini_qwen235b", False)


class _ScoredImage(NamedTuple):
    """An image with its place in the published tree, and the score of each question; None for those without."""

    judged: Judged
    item: Item[CounterfactualSpec]
    file: CfWorldFile
    scores: tuple[tuple[float, str], ...] | None

    @property
    def score(self) -> float | None:
        """The weighted mean over all questions, as the published code has it."""
        weights = [asked.weight for asked in self.item.spec.questions]
        if self.scores is None or not weights:
            return None
        return sum(weight * score for weight, (score, _) in zip(weights, self.scores, strict=True)) / sum(weights)


def export_cfworld(run: StoredRun, folder: str | Path, name: str) -> ExportedRun:
    """Write a run of CF-World, or of its de-nominalised probe, as its published scorers do.

    Scores are those of the judge, before the gate, so that they read back as they were; `summary_stats.json` has the
    means after it. An image without a verdict has a 0 with the published words for it, and is listed with its reason in
    `unscored.json`, which is ours. Items that were not published carry their id in each record, and their images are
    listed in a `metadata.jsonl`. Further samples have score folders of their own: `gemini-<name>_1` and so on.

    Args:
        run: the run; the verdicts are those of its last judge.
        folder: the folder; other models may be there already.
        name: the name of the model there.

    Raises:
        FormalimgError: if it is a run of another suite, or the model is there already.
    """
    about = suite(run.manifest.suite)
    if about.form.SPEC is not CounterfactualSpec or about.name not in FIELD_TAGGED:
        fitting = FIELD_TAGGED
        raise FormalimgError(
            f"{run.folder} is a run of {about.name}, for which no form of score files is published: only runs of "
            f"{' and '.join(fitting)} can be exported"
        )
    require_model_name(name)
    layout = _EXPLICIT if about.gate is not None else _DENOMINALISED
    items = {item.id: item for item in run.suite_items()}
    images = [_scored_image(one, items[one.outcome.item]) for one in run.judged()]
    place = Path(folder)
    samples = sorted({one.judged.outcome.sample for one in images})
    with ExitStack() as written:
        pictures = written.enter_context(atomic_folder(place / layout.images.format(name=name)))
        copied = _write_images(images, pictures, layout)
        judge = run.manifest.judge.name if run.manifest.judge else ""
        for sample in samples:
            named = f"{name}_{sample}" if sample else name
            scores = written.enter_context(atomic_folder(place / layout.scores.format(name=named)))
            _write_scores([one for one in images if one.judged.outcome.sample == sample], scores, layout, judge)
    judged = [one.judged for one in images]
    return ExportedRun(place, copied, sum(one.scores is not None for one in images), count_unscored(judged))


def _scored_image(judged: Judged, item: Item[object]) -> _ScoredImage:
    assert isinstance(item.spec, CounterfactualSpec), "the suite has no others"
    typed: Item[CounterfactualSpec] = item  # type: ignore[assignment]
    return _ScoredImage(judged, typed, cf_world_file(typed), _scores(judged.verdict, item.spec))


def _scores(verdict: Verdict | Unscored, spec: CounterfactualSpec) -> tuple[tuple[float, str], ...] | None:
    """Return score and reason of each question; None if there is no verdict, or it does not go into questions."""
    if isinstance(verdict, Unscored):
        return None
    if not verdict.parts and "rule" in verdict.evidence:  # one flat colour shows nothing, without a question
        return ((0.0, str(verdict.evidence.get("explanation", ""))),) * len(spec.questions)
    if [part.name for part in verdict.parts] != [asked.question for asked in spec.questions]:
        return None
    return tuple((part.score, part.reason) for part in verdict.parts)


def _write_images(images: Sequence[_ScoredImage], folder: Path, layout: _Layout) -> int:
    """Copy the images that exist, and return how many there are."""
    lines = []
    for one in images:
        outcome, image = one.judged.outcome, one.judged.image
        if image is not None:
            level = f"_l{outcome.level}" if layout.has_levels else ""
            sample = f"_{outcome.sample}" if outcome.sample else ""
            name = f"{one.file.tree}/{one.file.number}{level}{sample}{image.suffix}"
            copy_image(image, folder / name)
            lines.append({"file_name": name, "item": outcome.item, "sample": outcome.sample})
    if any(one.file.item for one in images):
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
        (folder / "metadata.jsonl").write_text(text, encoding="utf-8")
    return len(lines)


def _write_scores(images: Sequence[_ScoredImage], folder: Path, layout: _Layout, judge: str) -> None:
    """Write a score file for each field, the summary, and what has no score."""
    factual = {one.item.spec.group: one.score for one in images if one.judged.outcome.level == 1}
    trees: dict[str, list[_ScoredImage]] = {}
    for one in images:
        trees.setdefault(one.file.tree, []).append(one)
    for tree, those in sorted(trees.items()):
        path = folder / f"{tree}{layout.suffix}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_json(list(_records(those, factual, layout, judge))), encoding="utf-8")
    if layout.has_levels:
        summary = [*(_means(tree, those, factual) for tree, those in sorted(trees.items()))]
        (folder / "summary_stats.json").write_text(
            _json([*summary, _means("TOTAL_AVERAGE", images, factual)]), encoding="utf-8"
        )
    unscored = [one.judged for one in images if one.scores is None]
    if unscored:
        text = unscored_text(unscored, {one.item.id: one.item for one in images})
        (folder / "unscored.json").write_text(text, encoding="utf-8")


def _records(
    images: Sequence[_ScoredImage], factual: Mapping[str, float | None], layout: _Layout, judge: str
) -> Iterator[dict[str, object]]:
    number = 0
    for one in images:
        verdict = one.judged.verdict
        missing = isinstance(verdict, Unscored) and verdict.reason in _MISSING
        without = "Image missing" if missing else "API Failed"
        for place, asked in enumerate(one.item.spec.questions):
            number += 1
            score, reason = one.scores[place] if one.scores is not None else (None, without)
            record = cf_score_record(number, one.file, asked, score, reason)
            gate = factual.get(one.item.spec.group)
            first = None if gate is None else round(gate, 4)
            image_score = None if one.score is None else round(one.score, 4)
            if layout.has_levels:
                yield {**record, "scoring_model": judge, "image_score": image_score, "l1_score": first}
            else:
                yield {**record, "image_filename": f"{one.file.number}.png", "evaluator": judge, "l1_ref_score": first}


def _means(name: str, images: Sequence[_ScoredImage], factual: Mapping[str, float | None]) -> dict[str, object]:
    """Return the means of scored images after the gate: 0 where the factual image scored below it."""
    by_level: dict[int, list[float]] = {}
    for one in images:
        gate = factual.get(one.item.spec.group)
        if one.score is not None and (one.judged.outcome.level == 1 or gate is not None):
            closed = one.judged.outcome.level > 1 and gate is not None and round(gate, 9) < _GATE
            by_level.setdefault(one.judged.outcome.level, []).append(0.0 if closed else one.score)
    levels = {f"l{level}": _mean(by_level.get(level, [])) for level in (1, 2, 3)}
    return {"filename": name, **levels, "overall": _mean([score for those in by_level.values() for score in those])}


def _mean(scores: Sequence[float]) -> float | None:
    return round(sum(scores) / len(scores), 4) if scores else None


def _json(data: object) -> str:
    return json.dumps(data, indent=4, ensure_ascii=False) + "\n"
