"""Export a run of FormalImg in the layout of its published scripts: images, groundings and verdicts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from formalimg._util.io import atomic_folder
from formalimg.benchmarks.formal.published_verdicts import format_clause_verdict, format_scene_verdict
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.reports.run_export import ExportedRun, copy_image, count_unscored, require_model_name, unscored_text
from formalimg.runs.reader import Judged, StoredRun
from formalimg.types import Item, Unscored, Verdict

_NO_EXPLANATION = "the judge does not say why"


def export_formalimg(run: StoredRun, folder: str | Path, name: str) -> ExportedRun:
    """Write a run of FormalImg as `<folder>/responses/<suite>/<name>/…`.

    Images are `imgs/<id>.png`, byte by byte and with their own suffix; further images of an item are `<id>_1.png` and
    so on. Refused ones leave `<id>.png.blocked`. Verdicts are `results/<id>.json`, and what a grounder found, or a chat
    model planned, is `grounding/json/<id>.json`. Images without a verdict are listed in `unscored.json`, which is ours.
    """
    about = suite(run.manifest.suite)
    if about.form.SPEC is not FormulaSpec:
        raise FormalimgError(f"{run.folder} is a run of {about.name}, which has no formulas: use export_run")
    require_model_name(name)
    items = {item.id: item for item in run.suite_items()}
    judged = list(run.judged())
    images = scored = 0
    place = Path(folder) / "responses" / about.name / name
    with atomic_folder(place) as new:
        for one in judged:
            stem = one.outcome.item + (f"_{one.outcome.sample}" if one.outcome.sample else "")
            # A layout that was planned is the grounding file; its picture is ours.
            if run.manifest.task == "image":
                images += _write_image(one, new / "imgs", stem)
            verdict = one.verdict
            if isinstance(verdict, Verdict):
                scored += 1
                by_clauses = about.judged_by_clauses
                _write(
                    new / "results" / f"{stem}.json",
                    _verdict_text(items[one.outcome.item], verdict, by_clauses=by_clauses),
                )
                if not by_clauses:
                    text = json.dumps(_grounding(stem, verdict), indent=4, ensure_ascii=False)
                    _write(new / "grounding" / "json" / f"{stem}.json", f"{text}\n")
        unscored = [one for one in judged if isinstance(one.verdict, Unscored)]
        if unscored:
            _write(new / "unscored.json", unscored_text(unscored, items))
    return ExportedRun(place, images, scored, count_unscored(judged))


def _write_image(judged: Judged, folder: Path, stem: str) -> bool:
    """Copy the image, or leave the published mark of a refusal; return whether there is an image."""
    if judged.image is not None:
        copy_image(judged.image, folder / f"{stem}{judged.image.suffix}")
    elif judged.outcome.reason == "refused":
        _write(folder / f"{stem}.png.blocked", f"{judged.outcome.detail}\n")
    return judged.image is not None


def _verdict_text(item: Item[object], verdict: Verdict, *, by_clauses: bool) -> str:
    if by_clauses:
        return format_clause_verdict(verdict.passed, [part.name for part in verdict.parts if part.score >= 1])
    return format_scene_verdict(item, verdict.passed, str(verdict.evidence.get("explanation", _NO_EXPLANATION)))


def _grounding(stem: str, verdict: Verdict) -> Mapping[str, object]:
    """Return the grounding file of a verdict; an image that fails by rule shows nothing, a failed layout is null."""
    scene = verdict.evidence.get("scene")
    if isinstance(scene, dict):
        return {"image_file": stem, **scene}
    is_layout = "layout" in str(verdict.evidence.get("rule", ""))
    return {"image_file": stem, "objects": None if is_layout else []}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
