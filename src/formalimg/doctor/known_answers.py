"""A run whose every verdict is known beforehand: if one comes out differently, the evaluator is broken."""

from __future__ import annotations

import contextlib
import io
import random
import tempfile
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from formalimg.judges import Judge, Verdict
from formalimg.logic import parse
from formalimg.models import CallableModel
from formalimg.runs import Judged, RunConfig, execute, open_run
from formalimg.scenes import Box, Scene, SceneObject
from formalimg.suites import FormulaSpec, Item

_SIZE = 512


class Answer(NamedTuple):
    """What came of one known answer.

    Attributes:
        asks: what it is about, in words.
        expected: pass, fail or unscored; with the predicates of the clauses that fail, where that is known.
        found: the same, as the evaluator sees it.
    """

    asks: str
    expected: str
    found: str

    @property
    def right(self) -> bool:
        """Did it come out as it must?"""
        return self.expected == self.found


def try_known_answers(judge: Judge) -> list[Answer]:
    """Draw the known scenes, let them be stored, seen and judged as in any run, and compare."""
    known = tomllib.loads((files("formalimg.doctor") / "known_answers.toml").read_text(encoding="utf-8"))["answer"]
    items = [
        Item[object]("knolling", str(number), 1, entry["asks"], FormulaSpec.of(parse(entry["formula"])))
        for number, entry in enumerate(known)
    ]
    images = {entry["asks"]: _image(entry) for entry in known}
    with tempfile.TemporaryDirectory(prefix="formalimg-doctor-") as folder:
        place = Path(folder) / "run"
        execute(RunConfig(items, CallableModel(images.__getitem__, name="doctor/known-answers")), place, judge)
        with contextlib.closing(open_run(place)) as run:
            judged = list(run.judged())
    return [
        Answer(entry["asks"], _told(entry["expected"], entry.get("failing", [])), _found(result))
        for entry, result in zip(known, judged, strict=True)
    ]


def _found(result: Judged) -> str:
    if not isinstance(result.verdict, Verdict):
        return _told("unscored", [])
    failing = {word for part in result.verdict.parts if not part.score for word in part.about}
    return _told("pass" if result.verdict.passed else "fail", failing)


def _told(outcome: str, failing: Any) -> str:
    return outcome + (f" ({', '.join(sorted(failing))})" if failing else "")


def _image(entry: Mapping[str, Any]) -> bytes:
    from PIL import Image

    from formalimg.scenes import draw

    if entry.get("picture") == "noise":
        image = Image.frombytes("RGB", (_SIZE, _SIZE), random.Random(1).randbytes(3 * _SIZE * _SIZE))
    else:
        objects = (SceneObject(label, Box(*box), color=color) for label, color, box in entry["things"])
        image = draw(Scene.of(objects), _SIZE)
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()
