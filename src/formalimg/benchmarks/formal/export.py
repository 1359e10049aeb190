"""Export a run of FormalImg in the layout of its published scripts: images, groundings and verdicts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.io import atomic_folder, read_plain_bytes
from formalimg._util.strict_json import loads_strict
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.items_file import id_order
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.reports.published import ExportedRun, copy_image, count_unscored, require_model_name, unscored_text
from formalimg.runs.reader import Judged, StoredRun
from formalimg.types import Unscored, Verdict

_NO_EXPLANATION = "the judge does not say why"


def export_formalimg(run: StoredRun, folder: str | Path, name: str) -> ExportedRun:
    """Write a run of FormalImg as `<folder>/responses/<suite>/<name>/…`.

    Images are copied to `imgs/<id>.png`, or with their own suffix; further images of an item are `<id>_1.png` and so
    on. A refused image is `<id>.png.blocked`. Verdicts are `results/<id>.json`; the objects that a grounder found, or a
    chat model planned, are `grounding/json/<id>.json`. Our `unscored.json` lists images without a verdict.
    """
    benchmark = suite(run.manifest.suite)
    if benchmark.form.SPEC is not FormulaSpec:
        raise FormalimgError(f"{run.folder} is a run of {benchmark.name}, which has no formulas: use export_run")
    require_model_name(name)
    items = {item.id: item for item in run.suite_items()}
    judged = list(run.judged())
    images = scored = 0
    target = Path(folder) / "responses" / benchmark.name / name
    with atomic_folder(target) as new:
        for image in judged:
            stem = image.outcome.item + (f"_{image.outcome.sample}" if image.outcome.sample else "")
            # A layout that was planned is the grounding file; its picture is ours.
            if run.manifest.task == "image":
                images += _write_image(image, new / "imgs", stem)
            verdict, item = image.verdict, items[image.outcome.item]
            if not isinstance(verdict, Verdict):
                continue
            scored += 1
            if benchmark.judged_by_clauses:
                clauses = [part.name for part in verdict.parts if part.score >= 1]
                result: dict[str, object] = {"satisfies_constraint": verdict.passed, "satisfied_clauses": clauses}
            else:
                assert isinstance(item.spec, FormulaSpec), "the form of the benchmark says so"
                reason = str(verdict.evidence.get("explanation", _NO_EXPLANATION))
                result = {
                    "result": verdict.passed,
                    "fail_reason": None if verdict.passed else reason,
                    "difficulty": item.level,
                    "prompt": item.prompt,
                    "cnf": str(item.spec.formula),
                }
                _write_json(new / "grounding" / "json" / f"{stem}.json", _build_grounding(stem, verdict))
            _write_json(new / "results" / f"{stem}.json", result)
        unscored = [image for image in judged if isinstance(image.verdict, Unscored)]
        if unscored:
            _write_text(new / "unscored.json", unscored_text(unscored, items))
    return ExportedRun(target, images, scored, count_unscored(judged))


def _write_image(judged: Judged, folder: Path, stem: str) -> bool:
    if judged.image is not None:
        copy_image(judged.image, folder / f"{stem}{judged.image.suffix}")
    elif judged.outcome.reason == "refused":
        _write_text(folder / f"{stem}.png.blocked", f"{judged.outcome.detail}\n")
    return judged.image is not None


def _build_grounding(stem: str, verdict: Verdict) -> Mapping[str, object]:
    scene = verdict.evidence.get("scene")
    if isinstance(scene, dict):
        return {"image_file": stem, **scene}
    is_layout = "layout" in str(verdict.evidence.get("rule", ""))
    return {"image_file": stem, "objects": None if is_layout else []}


def _write_json(path: Path, fields: Mapping[str, object]) -> None:
    _write_text(path, json.dumps(fields, indent=4, ensure_ascii=False) + "\n")


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


_MAX_BYTES = 10_000_000


class PublishedVerdict(NamedTuple):
    """The verdict read from a published file."""

    name: str  # the name of the file without its suffix: the id of the item, and `_1` and so on for further images
    passed: bool | None  # None if the file has no verdict that can be read
    clauses: tuple[str, ...] | None = None  # the clauses that hold, if the file lists them
    reason: str = ""  # of a failure, as the file says it
    problem: str = ""  # what is wrong with the file; empty if it can be read


def read_verdict_files(folder: str | Path) -> list[PublishedVerdict]:
    """Read all verdict files of a `results` folder, sorted by id; unreadable files are marked as such."""
    results = Path(folder)
    paths = sorted(results.glob("*.json"), key=lambda path: id_order(path.stem)) if results.is_dir() else []
    if not paths:
        raise FormalimgError(f"{folder} holds no verdict files: give a folder with files such as 0.json")
    return [_read_verdict(path) for path in paths]


def _read_verdict(path: Path) -> PublishedVerdict:
    try:
        data = loads_strict(read_plain_bytes(path, _MAX_BYTES))
    except OSError as error:
        return PublishedVerdict(path.stem, None, problem=f"cannot be read: {error.strerror}")
    except (ValueError, RecursionError) as error:
        return PublishedVerdict(path.stem, None, problem=f"is not JSON: {error}")
    fields: dict[str, Any] = data if isinstance(data, dict) else {}
    passed = fields.get("result", fields.get("satisfies_constraint"))
    clauses, reason = fields.get("satisfied_clauses"), fields.get("fail_reason")
    listed = tuple(map(str, clauses)) if isinstance(clauses, list) else None
    text = reason if isinstance(reason, str) else ""
    if not isinstance(passed, bool):  # the published scorer takes any text for a pass, also "false"
        return PublishedVerdict(path.stem, None, listed, text, "has neither true nor false as its verdict")
    return PublishedVerdict(path.stem, passed, listed, text)
