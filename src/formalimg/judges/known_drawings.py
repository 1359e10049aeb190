"""Drawings whose content is known, with an item for each: what a judge is asked about before a run begins."""

from __future__ import annotations

import random
from dataclasses import dataclass

from PIL import ImageDraw, ImageFont

from formalimg._util.images import png_bytes
from formalimg.benchmarks.questions.spec import QuestionSpec, text_questions
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.drawing.icon_scene import draw
from formalimg.drawing.render import draw_scene
from formalimg.drawing.scene import DrawnScene
from formalimg.judges.base import LoadedImage
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Item

SIZE = 448
"""Width and height in pixels: few tokens, a size that no service changes, and far from the 1000 of some boxes."""

BOTTLE, FORK = "bottle", "fork"
RED_BOTTLE, BOTTLE_AND_FORK = "There is a red bottle.", "There is a bottle, and there is a fork."
"""What is asked for: classes that all suites have, and prompts."""


@dataclass(frozen=True)
class KnownDrawing:
    """A drawing, what is asked about it, and what is right."""

    shows: str  # what the drawing shows, in words
    asked: str  # what the judge is asked, in words
    item: Item[object]  # the question, as an item of the suite
    scene: Scene  # what the drawing shows
    answers: tuple[bool, ...] = ()  # the right answer to each question; empty where there are no yes/no questions
    any_verdict: bool = False  # whether any verdict will do, as where a score is a matter of taste
    text: str = ""  # the text that it shows in place of a scene

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
        if self.text:
            pen = ImageDraw.Draw(drawing)
            pen.text((SIZE / 2, SIZE / 2), self.text, "black", ImageFont.load_default(SIZE / 7), anchor="mm")
        chance = random.SystemRandom()
        for corner in ((0, 0), (SIZE - 1, 0), (0, SIZE - 1), (SIZE - 1, SIZE - 1)):
            shown = drawing.getpixel(corner)
            assert isinstance(shown, tuple), "drawings are RGB"
            drawing.putpixel(corner, tuple(max(0, value - chance.randrange(8)) for value in shown))
        return LoadedImage(png_bytes(drawing), drawing)


# The boxes lie so that no two ways of writing them down have similar numbers.
_BOTTLE_SCENE = Scene.of([SceneObject(BOTTLE, Box(100, 300, 300, 860), "red")])
_OTHER_BOTTLE_SCENE = Scene.of([SceneObject(BOTTLE, Box(620, 60, 780, 500), "red")])
_FORK_SCENE = Scene.of([SceneObject(FORK, Box(560, 120, 720, 800), "green")])


def two_places(item: Item[object]) -> tuple[KnownDrawing, KnownDrawing]:
    """Return two drawings of a bottle, in different places: a judge is asked where it is."""
    asked = "where the bottle is"
    return (
        KnownDrawing("a red bottle at the lower left", asked, item, _BOTTLE_SCENE),
        KnownDrawing("a red bottle at the upper right", asked, item, _OTHER_BOTTLE_SCENE),
    )


def two_texts(suite: str) -> tuple[KnownDrawing, KnownDrawing]:
    """Return a drawing of a text that is asked for, and one of another text, for what reads text."""
    wanted, other = "Cafe 24", "BOOK SHOP"
    item = Item(suite, "preflight", 1, f"A sign that says '{wanted}'.", QuestionSpec(text_questions((wanted,))))
    asked, nothing = f"for the text {wanted}", Scene.of([])
    return (
        KnownDrawing(f"the text {wanted}", asked, item, nothing, (True,), text=wanted),
        KnownDrawing(f"the text {other}", asked, item, nothing, (False,), text=other),
    )


def two_things(
    item: Item[object],
    asked: str,
    of_bottle: tuple[bool, ...] = (),
    of_fork: tuple[bool, ...] = (),
    *,
    any_verdict: bool = False,
) -> tuple[KnownDrawing, KnownDrawing]:
    """Return a drawing of a bottle and one of a fork."""
    return (
        KnownDrawing("a red bottle", asked, item, _BOTTLE_SCENE, of_bottle, any_verdict),
        KnownDrawing("a green fork", asked, item, _FORK_SCENE, of_fork, any_verdict),
    )


def bottle_and_fork(item: Item[object]) -> tuple[KnownDrawing, KnownDrawing]:
    """Return a drawing of a bottle and one of a fork, for an item that asks about the one, then about the other."""
    asked = "whether there is a bottle, and whether there is a fork"
    return two_things(item, asked, (True, False), (False, True))
