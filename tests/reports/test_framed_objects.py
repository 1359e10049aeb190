"""Which boxes are framed in an image: those of what failed, and nothing in the place of an object that is missing."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from formalimg import Box, Scene, SceneObject, parse
from formalimg.benchmarks.registry import suite
from formalimg.judges.base import Grounding
from formalimg.judges.scene_judge import judge_grounding
from formalimg.reports.examples import ExampleImage
from formalimg.reports.gallery import image_html
from formalimg.reports.report_images import LinkedImage
from formalimg.runs.database import PlannedItem
from formalimg.runs.queries import ImageOutcome
from formalimg.runs.reader import Judged
from formalimg.types import Verdict

FORMULA = "(exists ?cup (exists ?fork (and (Is ?cup 'cup') (Has ?cup 'red') (Is ?fork 'fork') (LeftOf ?cup ?fork))))"
CUP, FORK = SceneObject("cup", Box(100, 100, 200, 200), "red"), SceneObject("fork", Box(600, 100, 700, 200), "gray")
PLATE = SceneObject("plate", Box(300, 600, 500, 800), "red")


@pytest.mark.parametrize(
    ("objects", "framed"),
    [
        ([PLATE, FORK], []),  # the plate is red and to the left of the fork, but it is no cup
        ([PLATE], []),
        ([PLATE, replace(CUP, color="blue"), FORK], ["blue cup"]),
        ([PLATE, replace(CUP, box=Box(800, 100, 900, 200)), FORK], ["red cup", "gray fork"]),
    ],
)
def test_what_is_framed(objects: list[SceneObject], framed: list[str]) -> None:
    verdict = judge_grounding(parse(FORMULA), Grounding(Scene.of(objects)))
    assert isinstance(verdict, Verdict)
    item = PlannedItem("1", 1, "A red cup is to the left of a fork.", FORMULA, ())
    judged = Judged(ImageOutcome("1", 1, 0, False, verdict.score, "", ""), 0, None, {}, verdict)
    page = image_html(ExampleImage(item, judged, LinkedImage("images", 100, 100, b"")), suite("knolling"))
    assert re.findall(r'<g class="detected fault">.*?<text[^>]*>([^<]+)</text>', page) == framed
    assert page.count('class="detected') == len(objects)
