"""Drawings whose content is known, with an item for each: what a judge is asked about before a run begins."""

from __future__ import annotations

import random
from dataclasses import dataclass

from formalimg._util.images import png_bytes
from formalimg.judges.base import LoadedImage
from formalimg.logic import parse
from formalimg.scenes import Box, DrawnScene, Scene, SceneObject, draw, draw_scene
from formalimg.suites import (
    ConceptSpec,
    CounterfactualSpec,
    FormulaSpec,
    GraphQuestion,
    IncludedObjects,
    Item,
    JudgeKind,
    ObjectSpec,
    QuestionSpec,
    RequestedConcept,
)
from formalimg.suites import WeightedQuestion as Weighted
from formalimg.suites import suite as suite_of

SIZE = 448
"""Width and height in pixels: few tokens, a size that no service changes, and far from the 1000 of some boxes."""

_BOTTLE, _FORK = "bottle", "fork"


@dataclass(frozen=True)
class KnownDrawing:
    """A drawing, what is asked about it, and what is right.

    Attributes:
        shows: what the drawing shows, in words.
        asked: what the judge is asked, in words.
        item: the question, as an item of the suite.
        scene: what the drawing shows.
        answers: the right answer to each question; empty where there are no yes/no questions.
    """

    shows: str
    asked: str
    item: Item[object]
    scene: Scene
    answers: tuple[bool, ...] = ()

    @property
    def box(self) -> Box:
        """The box of the one object."""
        return self.scene.objects[0].box

    def image(self) -> LoadedImage:
        """Draw it, each time with other corner pixels, which nobody sees: no cache knows the answer.

        It is drawn as the built-in models draw the suite, without the scene: a judge must look.
        """
        is_drawn = suite_of(self.item.suite).world == "drawn"
        drawing = draw_scene(DrawnScene(self.scene), SIZE) if is_drawn else draw(self.scene, SIZE)
        chance = random.SystemRandom()
        for corner in ((0, 0), (SIZE - 1, 0), (0, SIZE - 1), (SIZE - 1, SIZE - 1)):
            shown = drawing.getpixel(corner)
            assert isinstance(shown, tuple), "drawings are RGB"
            drawing.putpixel(corner, tuple(max(0, value - chance.randrange(8)) for value in shown))
        return LoadedImage(png_bytes(drawing), drawing)


def known_drawings(kind: JudgeKind, suite: str) -> tuple[KnownDrawing, KnownDrawing]:
    """Return two drawings about which the same is asked, and of which different things are true.

    The boxes lie so that no two ways of writing them down have similar numbers.

    Args:
        kind: how the suite is judged.
        suite: its name.
    """
    low = Scene.of([SceneObject(_BOTTLE, Box(100, 300, 300, 860), "red")])
    high = Scene.of([SceneObject(_BOTTLE, Box(620, 60, 780, 500), "red")])
    fork = Scene.of([SceneObject(_FORK, Box(560, 120, 720, 800), "green")])
    item = _item(kind, suite)
    match kind:
        case "scene":
            asked = "where the bottle is"
            return (
                KnownDrawing("a red bottle at the lower left", asked, item, low),
                KnownDrawing("a red bottle at the upper right", asked, item, high),
            )
        case "objects":
            asked = "whether there is a bottle"
            return (
                KnownDrawing("a red bottle", asked, item, low, (True,)),
                KnownDrawing("a green fork", asked, item, fork, (False,)),
            )
        case "compositions":
            asked = "whether there is a bottle, and how many"
            return (
                KnownDrawing("a red bottle", asked, item, low, (True, True)),
                KnownDrawing("a green fork", asked, item, fork, (False, False)),
            )
        case "clauses" | "questions" | "prompts" | "words":
            asked = "whether there is a bottle, and whether there is a fork"
            return (
                KnownDrawing("a red bottle", asked, item, low, (True, False)),
                KnownDrawing("a green fork", asked, item, fork, (False, True)),
            )
        case "scores":
            asked = "for a score of how far it shows a bottle"
            return KnownDrawing("a red bottle", asked, item, low), KnownDrawing("a green fork", asked, item, fork)


def _item(kind: JudgeKind, suite: str) -> Item[object]:
    words = (
        "There is a red bottle."
        if kind in ("scene", "scores", "objects")
        else "There is a bottle, and there is a fork."
    )
    spec: object
    match kind:
        case "scene":
            spec = FormulaSpec.of(parse(f"(exists ?x (and (Is ?x '{_BOTTLE}') (Has ?x 'red')))"))
        case "clauses":
            spec = FormulaSpec.of(parse(f"(exists ?x (exists ?y (and (Is ?x '{_BOTTLE}') (Is ?y '{_FORK}'))))"))
        case "questions":
            spec = ConceptSpec(tuple(_concept(word) for word in (_BOTTLE, _FORK)))
        case "prompts" | "words":
            asked = enumerate((_BOTTLE, _FORK), 1)
            spec = QuestionSpec(tuple(GraphQuestion(str(n), _concept(word).question) for n, word in asked))
        case "compositions":
            there = GraphQuestion("1", f"{_BOTTLE}?", category="object", weight=0.5)
            spec = QuestionSpec((there, GraphQuestion("2", f"How many {_BOTTLE}s?", ("1",), "one", "count", 0.5)))
        case "objects":
            spec = ObjectSpec("single_object", (IncludedObjects(_BOTTLE, 1),))
        case "scores":
            criteria = "1 if there is a bottle, 0 if there is none."
            spec = CounterfactualSpec("preflight", "", (Weighted("assessment", "Is there a bottle?", criteria, 1.0),))
    return Item(suite, "preflight", 1, words, spec)


def _concept(word: str) -> RequestedConcept:
    return RequestedConcept("object", word, f"the image contains a {word}", f"Does the image contain a {word}?")
