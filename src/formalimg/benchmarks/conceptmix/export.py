"""Export a run of ConceptMix in the layout of its published scripts: images, results and scores."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.io import atomic_folder, atomic_write
from formalimg.benchmarks.conceptmix.image_files import find_published_index, format_image_name
from formalimg.benchmarks.conceptmix.published import ScoredImage, format_scores
from formalimg.benchmarks.conceptmix.spec import ConceptSpec
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rated_images import question_keys
from formalimg.reports.published import ExportedRun, copy_image, require_model_name
from formalimg.runs.reader import Judged, StoredRun
from formalimg.types import Item, Verdict

_SCORES = "all_ind_scores"
_NO_CONCEPTS = "the verdict does not say which concepts are shown"
"""The reason for images that have a verdict but no scores."""


class _ExportedImage(NamedTuple):
    """An image in the run, its path in the export, and its item."""

    judged: Judged
    path: str
    item: Item[ConceptSpec]

    @property
    def questions(self) -> tuple[str, ...]:
        return tuple(requested.question for requested in self.item.spec.concepts)

    def scores(self) -> tuple[int, ...] | None:
        """Return 1 or 0 for each concept, or None if the verdict is missing or incomplete."""
        verdict = self.judged.verdict
        if not isinstance(verdict, Verdict):
            return None
        if not verdict.parts and (verdict.passed or "rule" in verdict.evidence):
            # What passes shows all; what fails by rule, such as one flat colour, shows nothing, without a question.
            return (int(verdict.passed),) * len(self.questions)
        keys = question_keys(part.name for part in verdict.parts)
        scores = {key: int(part.score >= 1) for key, part in zip(keys, verdict.parts, strict=True)}
        needed = question_keys(self.questions)
        return tuple(scores[key] for key in needed) if scores.keys() >= set(needed) else None

    def record(self) -> dict[str, object]:
        """Return the image's record in `result.json`."""
        concepts = self.item.spec.drawn
        return {
            "num_skills": self.judged.outcome.level,
            "prompt": self.item.prompt,
            "image_path": self.path,
            "categories": [concept.category for concept in concepts],
            "skill": [concept.value for concept in concepts],
            "question": list(self.questions),
        }

    def soft_records(self) -> Iterator[dict[str, object]]:
        """Yield a record for each question with a P(yes)."""
        verdict, outcome = self.judged.verdict, self.judged.outcome
        for part in verdict.parts if isinstance(verdict, Verdict) else ():
            if part.p_yes is not None:
                yield {
                    "item": outcome.item,
                    "sample": outcome.sample,
                    "image_path": self.path,
                    "category": part.kind,
                    "question": part.name,
                    "score": int(part.score >= 1),
                    "p_yes": part.p_yes,
                }


def export_conceptmix(run: StoredRun, folder: str | Path, name: str) -> ExportedRun:
    """Export a ConceptMix run to `<folder>/<name>/<k>/…`, with scores in `<folder>/all_ind_scores/`.

    Next to the scores, `<name>_unscored.json` lists images that the layout cannot represent, and `<name>_p_yes.json`
    has P(yes) for each question if the judge's server returned it.
    """
    if suite(run.manifest.suite).form.SPEC is not ConceptSpec:
        names = ", ".join(other for other in suite_names() if suite(other).form.SPEC is ConceptSpec)
        raise FormalimgError(f"{run.folder} is a run of {run.manifest.suite}: only runs of {names} can be exported")
    images, results = Path(folder) / name, Path(folder) / _SCORES
    require_model_name(name, _SCORES)
    items: dict[str, Item[Any]] = {item.id: item for item in run.suite_items()}
    judged = list(run.judged())
    indexes = _item_indexes(judged)
    exported = []
    for image in judged:
        if image.image is not None:
            outcome, item = image.outcome, items[image.outcome.item]
            place = (outcome.level, indexes[outcome.item], item.prompt, outcome.sample, image.image.suffix)
            exported.append(_ExportedImage(image, str(images / format_image_name(*place)), item))
    scores = [(entry, entry.scores()) for entry in exported]
    scored = [
        (entry.judged.outcome.level, ScoredImage(entry.path, entry.questions, values))
        for entry, values in scores
        if values is not None
    ]
    with atomic_folder(images) as new:
        records: dict[int, list[dict[str, object]]] = {}
        for entry in exported:
            assert entry.judged.image is not None
            copy_image(entry.judged.image, new / Path(entry.path).relative_to(images))
            records.setdefault(entry.judged.outcome.level, []).append(entry.record())
        for level, listed in records.items():
            (new / str(level) / "result.json").write_text(json.dumps(listed, indent=4), encoding="utf-8")
    planned = Counter(image.outcome.level for image in judged)
    for level in sorted({level for level, _ in scored}):
        text = format_scores(image for image_level, image in scored if image_level == level)
        _write_text(results / f"k_results_{planned[level]}" / f"{name}_k={level}_score.json", text)
    unscored = [image.outcome for image in judged if not isinstance(image.verdict, Verdict)]
    unscored += [
        entry.judged.outcome._replace(reason=_NO_CONCEPTS)
        for entry, values in scores
        if isinstance(entry.judged.verdict, Verdict) and values is None
    ]
    if unscored:
        listed = [{**outcome._asdict(), "prompt": items[outcome.item].prompt} for outcome in unscored]
        _write_text(results / f"{name}_unscored.json", json.dumps(listed, indent=4))
    if soft := [record for entry in exported for record in entry.soft_records()]:
        _write_text(results / f"{name}_p_yes.json", json.dumps(soft, indent=4))
    return ExportedRun(images, len(exported), len(scored), Counter(outcome.reason for outcome in unscored))


def _item_indexes(images: Sequence[Judged]) -> dict[str, int]:
    """Return the index of each item within its level: the published index, or the next free one."""
    levels = {judged.outcome.item: judged.outcome.level for judged in images}
    published = {item: find_published_index(item, level) for item, level in levels.items()}
    indexes = {item: index for item, index in published.items() if index is not None}
    last = dict.fromkeys(levels.values(), 0)
    for item, index in indexes.items():
        last[levels[item]] = max(last[levels[item]], index)
    for item, level in levels.items():
        if item not in indexes:
            last[level] += 1
            indexes[item] = last[level]
    return indexes


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, [text.encode()])
