"""A run of ConceptMix as its own scripts keep pictures, results and scores."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.judges import Verdict
from formalimg.runs import Judged, StoredRun
from formalimg.suites import ConceptSpec, Item, ScoredPicture, scores_text

_LONGEST_NAME = 50
_SCORES = "all_ind_scores"


class Exported(NamedTuple):
    """What was written.

    Attributes:
        folder: where it lies.
        pictures: how many pictures.
        scored: how many of them have scores.
        without: pictures that are missing there, or have no scores, by reason.
    """

    folder: Path
    pictures: int
    scored: int
    without: Mapping[str, int]


def export_concepts(run: StoredRun, folder: str | Path, name: str) -> Exported:
    """Write a run of ConceptMix as `<folder>/<name>/<k>/…`, with scores in `<folder>/all_ind_scores/`.

    The form has no place for pictures without scores: they are named in `<name>_unscored.json` beside the scores.

    Args:
        run: the run; the verdicts are those of its last judge.
        folder: where to write; other models may be there already.
        name: what the model is called there.

    Raises:
        FormalimgError: if it is a run of another suite, or the model is there already.
    """
    if run.card.suite != "conceptmix":
        raise FormalimgError(f"{run.folder} is a run of {run.card.suite}: only those of conceptmix have this form")
    place = Path(folder)
    if not re.fullmatch(r"[\w.-]{1,100}", name) or name in (".", "..", _SCORES):
        raise FormalimgError(f"{name!r} cannot be a folder: name the model with letters, digits, . _ -")
    if (place / name).exists():
        raise FormalimgError(f"{place / name} is there already: choose another folder or name")
    items = {item.id: item for item in run.suite_items()}
    levels: dict[int, list[Judged]] = {}
    for judged in run.judged():
        levels.setdefault(judged.outcome.level, []).append(judged)
    written, scored, without = 0, 0, dict[str, int]()
    missing: list[dict[str, object]] = []
    try:
        for level, pictures in sorted(levels.items()):
            kept = _write_pictures(place / name / str(level), level, pictures, items)
            written += len(kept)
            found = [entry for entry in kept if isinstance(entry.judged.verdict, Verdict)]
            scored += len(found)
            if found:
                text = scores_text(_scored(entry) for entry in found)
                _write(place / _SCORES / f"k_results_{len(pictures)}" / f"{name}_k={level}_score.json", text)
            for judged in pictures:
                if not isinstance(judged.verdict, Verdict):
                    outcome = judged.outcome
                    without[outcome.reason] = without.get(outcome.reason, 0) + 1
                    missing.append({**outcome._asdict(), "prompt": items[outcome.item].prompt})
        if missing:
            _write(place / _SCORES / f"{name}_unscored.json", json.dumps(missing, indent=4))
    except OSError as error:
        raise FormalimgError(f"cannot write {place}: {error.strerror}") from error
    return Exported(place, written, scored, without)


class _Kept(NamedTuple):
    judged: Judged
    path: Path
    item: Item[ConceptSpec]


def _write_pictures(
    folder: Path, level: int, pictures: Sequence[Judged], items: Mapping[str, Item[object]]
) -> list[_Kept]:
    """Copy the pictures of a level, and write `result.json` beside them."""
    folder.mkdir(parents=True)
    places = {item: number for number, item in enumerate(dict.fromkeys(one.outcome.item for one in pictures), 1)}
    kept, records = [], []
    for judged in pictures:
        if judged.image is None:
            continue
        item = items[judged.outcome.item]
        assert isinstance(item.spec, ConceptSpec)
        index, sample = places[item.id], judged.outcome.sample
        words = re.sub(r"\W", "", item.prompt[:_LONGEST_NAME].replace(" ", "_"))
        path = folder / f"{index}{words}{f'_{sample}' * bool(sample)}{judged.image.suffix}"
        shutil.copyfile(judged.image, path)
        asked = item.spec.concepts
        kept.append(_Kept(judged, path, Item(item.suite, item.id, level, item.prompt, item.spec)))
        records.append(
            {
                "num_skills": level,
                "prompt": item.prompt,
                "image_path": str(path),
                "categories": [each.category for each in asked],
                "skill": [each.value for each in asked],
                "question": [each.question for each in asked],
            }
        )
    _write(folder / "result.json", json.dumps(records, indent=4))
    return kept


def _scored(entry: _Kept) -> ScoredPicture:
    assert isinstance(entry.judged.verdict, Verdict)
    parts = entry.judged.verdict.parts
    return ScoredPicture(
        str(entry.path), tuple(part.name for part in parts), tuple(int(part.score >= 1) for part in parts)
    )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
