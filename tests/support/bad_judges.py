"""Chat models that know what certificates show them, and answer badly in a known way: for loopback servers."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from PIL import Image

from formalimg.drawing.scene import DrawnScene
from formalimg.judges.certificates.flipped_scenes import FlippedScene, flipped_scenes
from formalimg.judges.certificates.measurement import FLIPPED, SHOWN, choose_drawing, draw_example
from formalimg.judges.certificates.scene_changes import NUISANCES, TEXT
from formalimg.judges.drawn_judge import judge_drawn_scene
from formalimg.types import Verdict
from tests.support.loopback import Asked

Say = Callable[[str, bool, bool], bool]
"""The answer about a clause or question, from its text, whether it is true, and whether the image has a text in it."""

_RELATIONS = re.compile(
    r"\((?:LeftOf|RightOf|Above|Below|On|OnTopOf|In|NextTo|Holding|InFrontOf|Behind|Outside) "
    r"|\b(?:left|right|above|below|top|bottom|behind|front|inside|outside|near|next|on|under)\b"
)


def is_relation(question: str) -> bool:
    """Whether a clause of Natural or a question of ConceptMix is about a relation."""
    return _RELATIONS.search(question) is not None


def truly(question: str, true: bool, text: bool) -> bool:
    """The right answer."""
    return true


def always_yes(question: str, true: bool, text: bool) -> bool:
    """Yes, whatever is asked."""
    return True


def blind_to_relations(question: str, true: bool, text: bool) -> bool:
    """The right answer, but yes to every relation."""
    return true or is_relation(question)


def swayed_by_text(question: str, true: bool, text: bool) -> bool:
    """The right answer, but yes where a text in the image asks for it."""
    return true or text


@dataclass
class KnowingModel:
    """Answers questions and clauses about the drawings of a certificate.

    Attributes:
        suite, scenes, seed: of the certificate.
        say: what it makes of the truth.
        examples: the items, with their scenes.
        asked: how many requests came in.
    """

    suite: str
    scenes: int
    seed: int
    say: Say = truly
    examples: list[FlippedScene] = field(default_factory=list)
    asked: int = 0

    def __post_init__(self) -> None:
        self._known: dict[str, tuple[set[str], bool]] = {}
        self.examples = list(flipped_scenes(self.suite, self.scenes, self.seed))
        for number, example in enumerate(self.examples):
            drawings = {SHOWN: example.shown, FLIPPED: example.flipped}
            images = {name: draw_example(self.suite, drawn) for name, drawn in drawings.items()}
            for name, image in images.items():
                self._learn(example, drawings[name], image)
            for name, nuisance in NUISANCES.items():
                base = choose_drawing(name, number)
                self._learn(example, drawings[base], nuisance.change(images[base], drawings[base]), name == TEXT)

    def _learn(self, example: FlippedScene, drawn: DrawnScene, image: Image.Image | None, text: bool = False) -> None:
        truth = judge_drawn_scene(example.item, drawn)
        assert isinstance(truth, Verdict)
        if image is not None:
            self._known[_digest(image)] = ({part.name for part in truth.parts if part.score == 1}, text)

    def __call__(self, asked: Asked) -> str:
        self.asked += 1
        words = "\n".join(asked.texts)
        with Image.open(io.BytesIO(asked.images[0])) as image:
            true, text = self._known[_digest(image)]
        if "Its clauses, one on each line:" in words:
            lines = words.partition("Its clauses, one on each line:\n")[2].splitlines()
            said = {line: self.say(line, line in true, text) for line in lines if line.startswith("(")}
            clauses = [{"clause": line, "because": "seen", "holds": holds} for line, holds in said.items()]
            return json.dumps({"observations": [], "clauses": clauses, "fulfilled": all(said.values())})
        listed = re.findall(r"^\d+\. (.*)$", words.partition("The questions:\n")[2], re.MULTILINE)
        answers = ["yes" if self.say(each, each in true, text) else "no" for each in listed]
        numbered = [{"number": n, "observation": "seen", "answer": each} for n, each in enumerate(answers, 1)]
        return json.dumps({"answers": numbered})


def _digest(image: Image.Image) -> str:
    """The digest of the pixels besides the corners, which are other ones each time an anchor set is asked."""
    pixels = image.convert("RGB")
    for corner in ((0, 0), (pixels.width - 1, 0), (0, pixels.height - 1), (pixels.width - 1, pixels.height - 1)):
        pixels.putpixel(corner, (0, 0, 0))
    return hashlib.sha256(pixels.tobytes()).hexdigest()
