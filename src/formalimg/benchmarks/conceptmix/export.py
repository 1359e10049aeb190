"""Export a run of ConceptMix in the layout of its published scripts: images, results and scores."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg._util.io import atomic_folder, atomic_write
from formalimg.benchmarks.conceptmix.image_files import concept_image_name, published_index
from formalimg.benchmarks.conceptmix.published import ScoredImage, format_scores
from formalimg.benchmarks.conceptmix.spec import ConceptSpec
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.judge_agreement import question_keys
from formalimg.reports.run_export import ExportedRun, copy_image, require_model_name
from formalimg.runs.reader import Judged, StoredRun
from formalimg.types import Item, Verdict

_SCORES = "all_ind_scores"
_NO_CONCEPTS = "the verdict does not say which concepts are shown"
"""The reason for images that have a verdict but no scores."""


class _ExportedImage(NamedTuple):
    """An image of the run, its name in the export, and what it was made for."""

    judged: Judged
    level: int
    name: str
    prompt: str
    spec: ConceptSpec


def export_conceptmix(run: StoredRun, folder: str | Path, name: str) -> ExportedRun:
    """Write a run of ConceptMix as `<folder>/<name>/<k>/…`, with scores in `<folder>/all_ind_scores/`.

    The layout has no place for images without scores: they are listed in `<name>_unscored.json` beside the scores. So
    are those that fail by a verdict that does not say which concepts are missing. P(yes), where the judge's server
    gave it, is in `<name>_p_yes.json`, question by question.
    """
    if suite(run.manifest.suite).form.SPEC is not ConceptSpec:
        fitting = ", ".join(known for known in suite_names() if suite(known).form.SPEC is ConceptSpec)
        raise FormalimgError(f"{run.folder} is a run of {run.manifest.suite}: only runs of {fitting} can be exported")
    place = Path(folder)
    require_model_name(name, _SCORES)
    items = {item.id: item for item in run.suite_items()}
    judged = list(run.judged())
    kept = list(_exported_images(judged, items))
    scored = [(entry, scores) for entry in kept if (scores := _scores(entry)) is not None]
    with atomic_folder(place / name) as new:
        _write_images(kept, new, place / name)
    planned = Counter(each.outcome.level for each in judged)
    for level in sorted({entry.level for entry, _ in scored}):
        text = format_scores(_scored(*each, place / name) for each in scored if each[0].level == level)
        _write(place / _SCORES / f"k_results_{planned[level]}" / f"{name}_k={level}_score.json", text)
    unscored = [each.outcome for each in judged if not isinstance(each.verdict, Verdict)]
    unscored += [
        entry.judged.outcome._replace(reason=_NO_CONCEPTS)
        for entry in kept
        if isinstance(entry.judged.verdict, Verdict) and _scores(entry) is None
    ]
    if unscored:
        records = [{**outcome._asdict(), "prompt": items[outcome.item].prompt} for outcome in unscored]
        _write(place / _SCORES / f"{name}_unscored.json", json.dumps(records, indent=4))
    if soft := [record for entry in kept for record in _soft_records(entry, place / name)]:
        _write(place / _SCORES / f"{name}_p_yes.json", json.dumps(soft, indent=4))
    return ExportedRun(place / name, len(kept), len(scored), Counter(outcome.reason for outcome in unscored))


def _exported_images(images: Sequence[Judged], items: Mapping[str, Item[object]]) -> Iterator[_ExportedImage]:
    """Yield the images that exist, each with the name that the published scripts give it."""
    numbers = _numbers(images)
    for judged in images:
        outcome = judged.outcome
        item = items[outcome.item]
        assert isinstance(item.spec, ConceptSpec), "the suite has no others"
        if judged.image is not None:
            number, suffix = numbers[outcome.item], judged.image.suffix
            name = concept_image_name(outcome.level, number, item.prompt, outcome.sample, suffix)
            yield _ExportedImage(judged, outcome.level, name, item.prompt, item.spec)


def _numbers(images: Sequence[Judged]) -> dict[str, int]:
    """Return the index of each item in its level: the published one, or else the next that is free."""
    levels = {judged.outcome.item: judged.outcome.level for judged in images}
    found = {item: number for item, level in levels.items() if (number := published_index(item, level)) is not None}
    last = {
        level: max((found[item] for item in found if levels[item] == level), default=0) for level in levels.values()
    }
    for item, level in levels.items():
        if item not in found:
            last[level] += 1
            found[item] = last[level]
    return found


def _write_images(kept: Sequence[_ExportedImage], new: Path, place: Path) -> None:
    """Copy the images, and write `result.json` beside those of each level; `place` is where they will lie."""
    records: dict[int, list[dict[str, object]]] = {}
    for entry in kept:
        assert entry.judged.image is not None
        copy_image(entry.judged.image, new / entry.name)
        concepts = entry.spec.drawn
        records.setdefault(entry.level, []).append(
            {
                "num_skills": entry.level,
                "prompt": entry.prompt,
                "image_path": str(place / entry.name),
                "categories": [concept.category for concept in concepts],
                "skill": [concept.value for concept in concepts],
                "question": [each.question for each in entry.spec.concepts],
            }
        )
    for level, those in records.items():
        (new / str(level) / "result.json").write_text(json.dumps(those, indent=4), encoding="utf-8")


def _scores(entry: _ExportedImage) -> tuple[int, ...] | None:
    """Return 1 or 0 for each concept; None if there is no verdict, or it does not say which concepts are shown."""
    verdict = entry.judged.verdict
    if not isinstance(verdict, Verdict):
        return None
    asked = question_keys(each.question for each in entry.spec.concepts)
    keys = question_keys(part.name for part in verdict.parts)
    shown = {key: int(part.score >= 1) for key, part in zip(keys, verdict.parts, strict=True)}
    if not verdict.parts and (verdict.passed or "rule" in verdict.evidence):
        # What passes shows all; what fails by rule, such as one flat colour, shows nothing, without a question.
        return (int(verdict.passed),) * len(asked)
    return tuple(shown[question] for question in asked) if shown.keys() >= set(asked) else None


def _soft_records(entry: _ExportedImage, place: Path) -> Iterator[dict[str, object]]:
    """Yield the questions of an image that have P(yes)."""
    verdict, outcome = entry.judged.verdict, entry.judged.outcome
    for part in verdict.parts if isinstance(verdict, Verdict) else ():
        if part.p_yes is not None:
            yield {
                "item": outcome.item,
                "sample": outcome.sample,
                "image_path": str(place / entry.name),
                "category": part.kind,
                "question": part.name,
                "score": int(part.score >= 1),
                "p_yes": part.p_yes,
            }


def _scored(entry: _ExportedImage, scores: tuple[int, ...], place: Path) -> ScoredImage:
    return ScoredImage(str(place / entry.name), tuple(each.question for each in entry.spec.concepts), scores)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, [text.encode()])
