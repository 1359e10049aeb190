"""A chat model whose answers are known: it knows what each image shows, and does what the question asks of it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from PIL import Image

from formalimg.judges.base import LoadedImage
from formalimg.logic.prenex import Clause, to_prenex
from formalimg.logic.soft_score.best_binding import best_binding
from formalimg.logic.syntax import Atom, Value
from formalimg.models.base import Answered, Attachment, Message, Reply, Unanswered
from formalimg.models.structured_output import ParseFailure, parse_answer
from formalimg.scenes.scene import Scene
from formalimg.types import AnswerType, Setting


@dataclass(frozen=True)
class Known:
    """What an image shows."""

    scene: Scene
    style: str | None = None


@dataclass(frozen=True)
class Asked:
    """A question: its words, and the image it came with."""

    words: str
    shows: Known
    width: int
    height: int


Script = Callable[[Asked], dict[str, object]]
"""From a question to the answer, as plain data."""

Spoil = Callable[[str, int], str | Unanswered]
"""What becomes of an answer on its way: from the text and how many came before it in this conversation."""


@dataclass
class ScriptedChat:
    """Answers by a script; what is said, and how, can be spoilt.

    Attributes:
        images: what the images show, by their number; see `numbered`.
        script: the answer to a question.
        spoil: what becomes of an answer on its way.
        conversations: all that was asked.
    """

    images: Mapping[int, Known]
    script: Script
    spoil: Spoil = lambda raw, before: raw
    name: str = "test/scripted"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"temperature": 0.1})
    concurrency: int = 3
    cost: float | None = 0.25
    conversations: list[Sequence[Message]] = field(default_factory=list)

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        self.conversations.append(tuple(messages))
        words = "\n\n".join(part for part in messages[0].parts if isinstance(part, str))
        [sent] = [part for part in messages[0].parts if isinstance(part, Attachment)]
        with Image.open(io.BytesIO(sent.data)) as image:
            assert Image.MIME[image.format or ""] == sent.media_type
            asked = Asked(words, self.images[_number(image)], *image.size)
        raw = self.spoil(json.dumps(self.script(asked)), len(messages) // 2)
        if isinstance(raw, Unanswered):
            return raw
        answer = parse_answer(raw, answer_type)
        if isinstance(answer, ParseFailure):
            return Unanswered("unreadable", answer.reason, raw, cost=self.cost)
        return Answered(answer, raw, cost=self.cost, served={"model": "scripted-1"})


# --- images


def numbered(number: int, width: int = 64, height: int = 64, form: str = "PNG") -> LoadedImage:
    """An image that carries a number, whatever is done to its size."""
    image = Image.new("RGB", (width, height), (number // 256, number % 256, 77))
    file = io.BytesIO()
    image.save(file, form, lossless=True)
    return LoadedImage(file.getvalue(), image)


def _number(image: Image.Image) -> int:
    pixel = image.convert("RGB").getpixel((image.width // 2, image.height // 2))
    assert isinstance(pixel, tuple)
    assert pixel[2] == 77
    return int(pixel[0] * 256 + pixel[1])


# --- what a grounder asks


def tells_objects(asked: Asked) -> dict[str, object]:
    """The objects of the classes that are asked for, with boxes in the form that is asked for."""
    found = re.search(r"The (?:kind|list):\n(.+)\Z", asked.words)
    assert found, asked.words
    wanted = found[1].split(", ")
    across, down = _reach(asked)
    entries = []
    for obj in asked.shows.scene.objects:
        if obj.label.replace("_", " ") in wanted:
            left, top, right, bottom = obj.box
            box = [left * across, top * down, right * across, bottom * down]
            if "[ymin, xmin" in asked.words:
                box = [box[1], box[0], box[3], box[2]]
            box = [round(number, 3) if across < 0.01 else round(number) for number in box]
            entries.append({"label": obj.label, "color": obj.color, "box_2d": box})
    return {"objects": entries}


def _reach(asked: Asked) -> tuple[float, float]:
    """How many of the wanted units go into one unit of the canvas, across and down."""
    if "in pixels" in asked.words:
        assert f"{asked.width} pixels wide and {asked.height} pixels high" in asked.words
        return asked.width / 1000, asked.height / 1000
    if "fractions from 0 to 1" in asked.words:
        return 0.001, 0.001
    assert "from 0 to 1000" in asked.words
    return 1, 1


# --- what a clause judge asks


def judges_clauses(asked: Asked) -> dict[str, object]:
    """The clauses that are asked for, each judged by the rules of the question, from the logical expression in it."""
    holds = clause_outcomes(_after(asked.words, "The logical expression:"), asked.shows)
    clauses = _after(asked.words, "Its clauses, one on each line:").splitlines()
    assert clauses == list(holds)
    return {
        "observations": [obj.describe() for obj in asked.shows.scene.objects] or ["there is nothing to be seen"],
        "clauses": [{"clause": clause, "because": "look", "holds": holds[clause]} for clause in clauses],
        "fulfilled": all(holds.values()),
    }


def judges_as_published(asked: Asked) -> dict[str, object]:
    """The same in the published form."""
    holds = clause_outcomes(_after(asked.words, "The logical expression:"), asked.shows)
    return {
        "satisfies_constraint": all(holds.values()),
        "satisfied_clauses": [clause for clause, does in holds.items() if does],
    }


def clause_outcomes(expression: str, shows: Known) -> dict[str, bool]:
    """Which clauses of a lifted expression hold; one under `forall` does not without an object that shows it."""
    judged = best_binding(expression, shows.scene, "classical", shows.style)
    shown = {clause.text: _is_shown(clause, shows.scene) for clause in to_prenex(expression).clauses}
    return {clause.clause.text: clause.holds and shown[clause.clause.text] for clause in judged.clauses}


def _is_shown(clause: Clause, scene: Scene) -> bool:
    """Is there an object that meets all conditions of the clause?"""
    meeting = (1 << len(scene)) - 1
    conditions = [literal.atom for literal in clause.literals if not literal.positive]
    for atom in conditions:
        assert isinstance(atom, Atom)
        word = atom.arguments[1]
        assert isinstance(word, Value)
        meeting &= scene.having(atom.predicate, word.text)
    return bool(meeting) or not conditions


def _after(words: str, heading: str) -> str:
    return words.split(f"{heading}\n", 1)[1].split("\n\n", 1)[0]


# --- by name


def open_scripted_chat(model: str, options: Mapping[str, str]) -> ScriptedChat:
    """A scripted chat model that sees nothing, for tests of names and options."""
    return ScriptedChat({}, tells_objects, name=f"scripted/{model}", settings=dict(options))
