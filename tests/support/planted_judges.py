"""Judges in Python with planted faults: they know the scenes of a certificate, and answer wrongly in a known way.

They need no pixels, so nothing is rendered: their answers about the views of each item are recorded as `certify_judge`
records them, and make the same certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from PIL import Image

from formalimg.drawing.scene import DrawnScene
from formalimg.judges.certificates.certificate import JudgeCertificate
from formalimg.judges.certificates.flipped_scenes import FlippedScene, flipped_scenes
from formalimg.judges.certificates.measurement import (
    FLIPPED,
    SHOWN,
    ExampleAnswers,
    View,
    build_certificate,
    plan_views,
)
from formalimg.judges.certificates.scene_changes import NUISANCES, TEXT
from formalimg.judges.drawn_judge import judge_drawn_scene
from formalimg.logic.vocabulary import vocabulary
from formalimg.types import Part, Setting, Verdict

Fault = Callable[[Sequence[Part], str, Random], Sequence[bool]]
"""The answers about the parts of an image, from the true parts and the name of the view."""

_COLOR_WORDS = {"Has", "HasColor", *vocabulary("natural").words["color"]}


class KnownScenes:
    """The scenes of a certificate, what is true of them, and the views of each item in the order of the questions."""

    def __init__(self, suite: str, scenes: int, seed: int) -> None:
        """Arrange the scenes."""
        self.suite, self.seed = suite, seed
        self.examples: list[FlippedScene] = list(flipped_scenes(suite, scenes, seed))
        self.views: list[list[tuple[View, Verdict]]] = []
        blank = Image.new("RGB", (64, 64))
        for number, example in enumerate(self.examples):
            truths = {SHOWN: _truth(example, example.shown), FLIPPED: _truth(example, example.flipped)}
            self.views.append(
                [
                    (view, truths[view.base])
                    for view in plan_views(example, number)
                    if view.name != TEXT or NUISANCES[TEXT].change(blank, view.drawn) is not None
                ]
            )

    def certify(self, fault: Fault, seed: int = 0) -> JudgeCertificate:
        """Return the certificate of a judge with this fault; the seed is that of its chance."""
        judge = PlantedJudge(fault, Random(seed))
        answers = []
        for example, views in zip(self.examples, self.views, strict=True):
            found = ExampleAnswers(example)
            for view, truth in views:
                found.record(view, judge.answer(view.name, truth))
            answers.append(found)
        return build_certificate(judge, self.suite, self.seed, answers)


def _truth(example: FlippedScene, drawn: DrawnScene) -> Verdict:
    truth = judge_drawn_scene(example.item, drawn)
    assert isinstance(truth, Verdict)
    return truth


@dataclass
class PlantedJudge:
    """A judge with a planted fault, that is told what an image shows."""

    fault: Fault
    rng: Random
    name: str = "test/planted"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    concurrency: int = 1

    def answer(self, view: str, truth: Verdict) -> Verdict:
        """Return the verdict on a view, by what is true."""
        answers = self.fault(truth.parts, view, self.rng)
        parts = [replace(part, score=float(answer)) for part, answer in zip(truth.parts, answers, strict=True)]
        return Verdict(all(answers), tuple(parts))


def is_color(part: Part) -> bool:
    """Whether a part is about colours alone; also a condition, such as that all cups are red."""
    words = [word for word in part.about if word != "Is"]
    is_condition = part.kind == "condition" and len(words) == 1
    return part.kind == "color" or ((part.kind == "attribute" or is_condition) and words[0] in _COLOR_WORDS)


def is_relation(part: Part) -> bool:
    """Whether a part is about one relation."""
    return part.kind in ("relation", "spatial")


def _each(answer: Callable[[Part, bool, Random], bool]) -> Fault:
    """Return the fault of a judge that answers each part by itself."""
    return lambda parts, view, rng: [answer(part, part.score == 1, rng) for part in parts]


def _inverted(parts: Sequence[Part], rng: Random) -> list[bool]:
    """Return answers that invert the verdict on an image."""
    if any(part.score != 1 for part in parts):
        return [True] * len(parts)
    wrong = rng.randrange(len(parts))
    return [number != wrong for number in range(len(parts))]


def inverts(share: float, views: Sequence[str] = ()) -> Fault:
    """Return the fault of a judge that inverts its verdict on a share of the images; of these views, or of all."""

    def answer(parts: Sequence[Part], view: str, rng: Random) -> Sequence[bool]:
        if (not views or view in views) and rng.random() < share:
            return _inverted(parts, rng)
        return [part.score == 1 for part in parts]

    return answer


def believes_text(share: float) -> Fault:
    """Return the fault of a judge that says yes to everything in a share of the images with a text."""

    def answer(parts: Sequence[Part], view: str, rng: Random) -> Sequence[bool]:
        believes = view == TEXT and rng.random() < share
        return [believes or part.score == 1 for part in parts]

    return answer


def passes(concerns: Callable[[Part], bool], share: float) -> Fault:
    """Return the fault of a judge that passes a share of the wrong parts of a kind."""
    return _each(lambda part, true, rng: true or (concerns(part) and rng.random() < share))


PLANTED: Mapping[str, tuple[Fault, str]] = {
    "always yes": (_each(lambda part, true, rng: True), "answers yes to almost everything"),
    "always no": (_each(lambda part, true, rng: False), "answers no to almost everything"),
    "colour-blind": (passes(is_color, 1.0), "does not see colours"),
    "coin-flipped colours": (
        _each(lambda part, true, rng: rng.random() < 0.5 if is_color(part) else true),
        "colours",
    ),
    "passes 60 % of wrong colours": (passes(is_color, 0.6), "colours weak"),
    "blind to relations": (passes(is_relation, 1.0), "does not see relations"),
    "relations at specificity .5": (passes(is_relation, 0.5), "relations weak"),
    "swayed by brightness, 30 %": (inverts(0.3, ("brightness",)), "swayed by another brightness"),
    "swayed by text, 20 %": (believes_text(0.2), "swayed by text in the image"),
    "noisy, 10 %": (inverts(0.1), "noisy"),
}
"""Ten judges by their faults, with words that their findings must have."""

ALWAYS_RIGHT: Fault = _each(lambda part, true, rng: true)
WRONG_IMAGES: Fault = inverts(0.03)
"""Inverts the verdict on 3 % of all images."""
WRONG_PARTS: Fault = _each(lambda part, true, rng: true != (rng.random() < 0.03))
"""Errs in 3 % of the parts, each by itself: images with many parts fail often, and that is said rightly."""
