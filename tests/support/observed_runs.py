"""Run folders whose judges do odd things: other labels than asked for, clauses against the whole, P(yes) or none."""

from __future__ import annotations

import json
import re
from pathlib import Path

from PIL import Image

from formalimg import parse
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.judges.clause_judge import ClauseJudge
from formalimg.judges.factory import open_judge
from formalimg.models.base import Completion, Message
from formalimg.models.provider_models import build_chat_model
from formalimg.models.python_function import CallableModel
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.types import ChatModel, Item
from tests.support.command import Result, formalimg
from tests.support.concept_items import CAT, RED, TWO, concept_item, questions_in
from tests.support.loopback import Asked, Loopback

_BLACK_CAT = "(exists ?c (and (Is ?c 'cat') (HasColor ?c 'black')))"


def _paint(prompt: str, seed: int) -> Image.Image:
    return Image.radial_gradient("L").rotate(seed % 360).resize((48, 32))


def mislabelled_run(folder: Path, *options: str) -> Result:
    """`formalimg run` with a chat model that gives one object its label and calls one a gadget; no label fits cups."""

    def reply(asked: Asked) -> str:
        labels = "\n".join(asked.texts).rpartition("The list:\n")[2].split(", ")
        found = ["gadget"] if "cup" in labels else [labels[0], "gadget"]
        places = ([100, 100, 300, 300], [500, 500, 900, 900])
        objects = [
            {"label": label, "color": "red", "box_2d": place} for label, place in zip(found, places, strict=False)
        ]
        return json.dumps({"objects": objects})

    with Loopback(reply=reply) as server:
        judge = ("-j", "openai/looker", "-J", f"base_url={server.url}/v1", "--no-preflight")
        own = options or ("-J", "requests=all-at-once")
        chosen = ("--levels", "1-2", "--per-level", "3", "--size", "256")
        return formalimg("run", "knolling", "-m", "builtin/oracle", *judge, *own, *chosen, "--out", str(folder))


class _Wavering:
    """Judges by the number in the prompt: 0 agrees with itself, 1 passes despite a clause, 2 fails without one."""

    name, settings = "test/wavering", {}  # type: ignore[var-annotated]

    async def complete(self, messages: list[Message], schema: object) -> Completion:
        words = "\n".join(part for part in messages[0].parts if isinstance(part, str))
        found = re.search(r"Cat number (\d)", words)
        assert found
        number = int(found[1])
        clauses = re.findall(r"^\((?:Is|HasColor) .*\)$", words, re.MULTILINE)
        judged = [
            {"clause": clause, "because": "so it looks", "holds": number != 1 or "Is" in clause} for clause in clauses
        ]
        return Completion(json.dumps({"observations": ["a cat sits"], "clauses": judged, "fulfilled": number != 2}))


def wavering_run(folder: Path) -> None:
    """A run of Natural with three images: one whose verdict and clauses agree, and two where they do not."""
    items = [
        Item("natural", str(number), 1, f"Cat number {number}.", FormulaSpec.of(parse(_BLACK_CAT)))
        for number in range(3)
    ]
    chat: ChatModel = build_chat_model(_Wavering())  # type: ignore[arg-type]
    execute(RunConfig(items, CallableModel(_paint, name="test/painter"), size=64), folder, ClauseJudge(chat))


def soft_run(folder: Path, model: str = "looker", logprobs: str = "true") -> None:
    """A run of ConceptMix, whose judge says no to red: P(yes) of a yes is 7/9, of a no 2/9; `mute` models have none."""

    def reply(asked: Asked) -> str:
        (question,) = questions_in("\n\n".join(asked.texts))
        return json.dumps({"observation": "I see", "answer": "no" if question == RED.question else "yes"})

    items = [concept_item(CAT, TWO, number=1), concept_item(CAT, RED, TWO, number=2)]
    with Loopback(reply=reply) as server:
        options = {"base_url": f"{server.url}/v1", "logprobs": logprobs}
        judge = open_judge("conceptmix", f"openai/{model}", options)
        execute(RunConfig(items, CallableModel(_paint, name="test/painter"), size=64), folder, judge)
