"""Export a run of CF-World or of a probe in the layout of its published scorers: images, score files, summaries.

Each published scorer has files of its own: the one for Gemini, the one for Qwen, and those of the three probes. A run
is written for the scorer of its judge's family; `export --judge` chooses the judge.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.io import atomic_write_text, merged_folder, read_text
from formalimg.benchmarks.cfworld.export_records import (
    ExportedImage,
    LayoutName,
    comparison_entry,
    score_files,
    scored_images,
)
from formalimg.benchmarks.cfworld.judge import PERSONAS, select_persona
from formalimg.benchmarks.cfworld.published_judge import FAMILIES
from formalimg.benchmarks.cfworld.spec import CF_WORLD, CF_WORLD_ATTRIBUTES, CF_WORLD_DENOMINALISED, CF_WORLD_RULES
from formalimg.errors import FormalimgError
from formalimg.reports.run_export import ExportedRun, copy_image, require_model_name
from formalimg.runs.manifest import Identity
from formalimg.runs.reader import StoredRun


class _Layout(NamedTuple):
    """Where a published scorer has its files."""

    images: str  # the folder of the images; `{name}` is the model
    scores: str  # the folder of the scores; `{sample}` is empty, or `_1` and so on for further samples
    comparison: str = ""  # the file that lists all models; empty if there is none


_LAYOUTS: Mapping[LayoutName, _Layout] = {
    "gemini": _Layout("data/counterfactual/output/{name}", "data/counterfactual/score/gemini-{name}{sample}"),
    "qwen": _Layout("data/output/images", "output/scores{sample}"),
    "de-norm": _Layout(
        "data/output/images/{name}/de-norm",
        "output/scores-de-norm/{name}{sample}",
        "output/scores-de-norm/global_l2_comparison.json",
    ),
    "rules": _Layout(
        "data/images/{name}/rule_decouple",
        "output/scores/{name}{sample}",
        "output/scores/global_models_comparison.json",
    ),
    "attributes": _Layout(
        "data/images/{name}/sampled_Attribute_decoupling",
        "output/scores_attribute/{name}{sample}",
        "output/scores_attribute/global_models_comparison.json",
    ),
}

_PROBES: Mapping[str, LayoutName] = {
    CF_WORLD_DENOMINALISED: "de-norm",
    CF_WORLD_RULES: "rules",
    CF_WORLD_ATTRIBUTES: "attributes",
}


def export_cfworld(run: StoredRun, folder: str | Path, name: str) -> ExportedRun:
    """Write a run of CF-World, or of one of its probes, as its published scorers do.

    Scores of L2 and L3 are those after the gate, as the published files have them; what the judge gave is beside each,
    as `judge_score`. An image without a verdict is in no score file: it is listed with its reason in `unscored.json`,
    which is ours, as are `metadata.jsonl` and the ids of items that were not published. Further samples have score
    folders of their own: `gemini-<name>_1` and so on.
    """
    require_model_name(name)
    kind = _layout_name(run.manifest.suite, run.manifest.judge)
    layout, place = _LAYOUTS[kind], Path(folder)
    images = scored_images(run, kind)
    comparisons = _read_comparison(place / layout.comparison) if layout.comparison else []
    judge = run.manifest.judge.name if run.manifest.judge else ""
    try:
        with merged_folder(place) as new:
            copied = _write_images(images, new / layout.images.format(name=name))
            for sample in sorted({one.judged.outcome.sample for one in images}):
                own = [one for one in images if one.judged.outcome.sample == sample]
                named = f"{name}_{sample}" if sample else name
                scores = new / layout.scores.format(name=name, sample=f"_{sample}" if sample else "")
                for path, data in score_files(own, kind, named, judge).items():
                    (scores / path).parent.mkdir(parents=True, exist_ok=True)
                    (scores / path).write_text(_json(data), encoding="utf-8")
                comparisons += comparison_entry(own, kind, named)
    except FileExistsError as error:
        advice = "choose another folder: this layout has none for each model" if kind == "qwen" else "give --name"
        raise FormalimgError(f"{error.filename} is there already: {advice}") from error
    if layout.comparison:
        score = "l2_overall" if kind == "de-norm" else "overall_score"
        listed = sorted(comparisons, key=lambda entry: -(entry.get(score) or 0))
        atomic_write_text(place / layout.comparison, _json(listed))
    without = Counter(one.reason for one in images if one.reason)
    return ExportedRun(place, copied, sum(one.scores is not None for one in images), without)


def _layout_name(suite: str, judge: Identity | None) -> LayoutName:
    if suite != CF_WORLD:
        return _PROBES[suite]
    if judge is None:
        return "gemini"
    recorded = judge.settings.get("persona")
    persona = next((known for known in PERSONAS if known == recorded), None)
    return FAMILIES[persona or select_persona(judge.name)]


def _write_images(images: Sequence[ExportedImage], folder: Path) -> int:
    """Copy the images that exist, and return how many there are."""
    lines = []
    for one in images:
        outcome, image = one.judged.outcome, one.judged.image
        if image is not None:
            name = f"{one.path}{f'_{outcome.sample}' if outcome.sample else ''}{image.suffix}"
            copy_image(image, folder / name)
            lines.append({"file_name": name, "item": outcome.item, "sample": outcome.sample})
    if any(one.file.item for one in images):
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "metadata.jsonl").write_text(text, encoding="utf-8")
    return len(lines)


def _read_comparison(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a file that lists models; none if it is not there."""
    if not path.exists():
        return []
    try:
        listed = json.loads(read_text(path))
    except ValueError as error:
        raise FormalimgError(f"{path} is not valid JSON: move it away, or choose another folder") from error
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise FormalimgError(f"{path} is no list of models: move it away, or choose another folder")
    return listed


def _json(data: object) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
