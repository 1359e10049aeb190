"""The published protocols of FormalImg: objects class by class, and constraints with a verdict."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from formalimg.benchmarks.formal.evaluator import judge_objects
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_judge import Followed, NoValidAnswer, PublishedJudge, attach_image, parse_json, total_cost
from formalimg.judges.clause_judge import normalize_clause
from formalimg.logic.errors import FormulaError
from formalimg.logic.prenex import to_prenex
from formalimg.logic.syntax import atoms
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.base import Message
from formalimg.models.structured_output import TextAnswer, json_or_literal
from formalimg.types import ChatModel, Item, Part, Setting, Unscored, Verdict

if TYPE_CHECKING:
    pass


_FENCED_OBJECT = re.compile(r"```(?:json)?\s*(?=\{)")
_END_OF_OBJECT = re.compile(r"\}(?=\s*```)")


class ObjectsAnswer(TextAnswer):
    """Knolling: what was seen of one class, entry by entry, as it was written.

    Attributes:
        objects: the entries; anything that JSON can hold.
    """

    objects: list[Any]

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the text in the first code fence, or the whole text, as JSON."""
        for fence in ("```json", "```"):
            if fence in text:
                text = text.split(fence)[1].split("```")[0]
                break
        answer = parse_json(text.strip())
        if not isinstance(answer, dict):
            raise ValueError("it is not a JSON object")
        objects = answer.get("objects", [])
        if not isinstance(objects, list | str | dict):
            raise ValueError(f'"objects" is {type(objects).__name__}, not a list')
        return cls(objects=list(objects))  # of a text its letters, which are no objects: the image fails


class ConstraintAnswer(TextAnswer):
    """Natural: the verdict, and the clauses that hold.

    Attributes:
        fields: the object as it was written.
    """

    json_object = True

    fields: dict[Any, Any]

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the first fenced object, or the text between the first and last brace, as JSON or a Python literal."""
        value = json_or_literal(_object_in(text))
        if not isinstance(value, dict) or not value:
            raise ValueError("it is not an object with a verdict")
        return cls(fields=value)

    def passed(self, *, as_code: bool) -> bool:
        """Return whether the answer passes the image."""
        value = self.fields.get("satisfies_constraint", False)
        if not as_code and isinstance(value, str) and value.strip().lower() == "false":
            return False
        return bool(value)

    @property
    def clauses(self) -> list[str]:
        """The satisfied clauses as written in the answer; empty if they are not a list."""
        listed = self.fields.get("satisfied_clauses")
        return [clause for clause in listed if isinstance(clause, str)] if isinstance(listed, list | tuple) else []


def _object_in(text: str) -> str:
    start = _FENCED_OBJECT.search(text)
    end = _END_OF_OBJECT.search(text, start.end()) if start else None
    if start and end:
        return text[start.end() : end.end()]
    first, last = text.find("{"), text.rfind("}")
    if first == -1 or last <= first:
        raise ValueError("there is no JSON object in it")
    return text[first : last + 1]


class PublishedSceneJudge(PublishedJudge):
    """The published judge of Knolling: one request per class, and the published verdict on the objects as written.

    The system message is the instruction; the user message is the image alone. The evidence is that of `judge_objects`,
    with the `answers` to all requests and the model `served`.
    """

    prompt_folder = Path(__file__).parent / "prompts"

    def __init__(self, chat: ChatModel, protocol: Followed = "published", prompts: Path | None = None) -> None:
        super().__init__(chat, protocol, {"prompt": "published-grounder"}, prompts)
        self._colors = json.dumps(list(vocabulary("knolling").words["color"]), indent=4)

    def questions(self, item: Item[object]) -> int:
        return len(item.spec.object_classes) if isinstance(item.spec, FormulaSpec) else 0

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        spec = item.spec
        if not isinstance(spec, FormulaSpec) or not spec.object_classes:
            return Unscored("not understood", f"item {item.id} of {item.suite} has no formula that names a class")
        prompt = self._prompts["prompt"]
        attachment = await attach_image(image, self._label(prompt, "image/jpeg"))
        objects: list[object] = []
        answers: list[dict[str, object]] = []
        cost: float | None = 0.0
        served: Mapping[str, Setting] = {}
        for label in spec.object_classes:
            values = {"classes": json.dumps([label], indent=4), "colors": self._colors}
            messages = [Message("system", (prompt.fill(values),)), Message("user", (attachment,))]
            reply = await self._ask(messages, ObjectsAnswer)
            cost = total_cost((cost, reply.cost))
            if isinstance(reply, NoValidAnswer):
                answers.append({"asked_for": [label], "raw": list(reply.raw)})
                return Unscored(reply.reason, f"{label}: {reply.detail}", {"answers": answers}, cost)
            answers.append({"asked_for": [label], "raw": [reply.raw]})
            objects += reply.value.objects
            served = reply.served
        verdict = await asyncio.to_thread(judge_objects, spec.formula, objects)
        evidence = {**verdict.evidence, "answers": answers, "served": dict(served)}
        return replace(verdict, evidence=evidence, cost=cost)


class PublishedClauseJudge(PublishedJudge):
    """The published judge of Natural: one request with prompt and lifted formula, decided by the model's verdict.

    There is one user message, with the text before the image. The evidence has the verdict (`fulfilled`), `answers`,
    `served`, and any `unknown_clauses`, which the model lists as satisfied although they are not in the formula.
    """

    prompt_folder = Path(__file__).parent / "prompts"

    def __init__(self, chat: ChatModel, protocol: Followed = "official-code", prompts: Path | None = None) -> None:
        super().__init__(chat, protocol, {"prompt": "published-clause-judge"}, prompts)

    def questions(self, item: Item[object]) -> int:
        return 1

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        spec = item.spec
        if not isinstance(spec, FormulaSpec):
            return Unscored("not understood", f"item {item.id} of {item.suite} has no formula")
        try:
            prenex = to_prenex(spec.formula)
        except FormulaError as error:
            if any(problem.kind != "size" for problem in error.problems):
                raise
            return Unscored("not understood", error.problems[0].message)
        prompt = self._prompts["prompt"]
        text = prompt.fill({"words": item.prompt, "formula": spec.lifted or prenex.text})
        attachment = await attach_image(image, self._label(prompt, "image/png"))
        reply = await self._ask([Message("user", (text, attachment))], ConstraintAnswer)
        if isinstance(reply, NoValidAnswer):
            return Unscored(reply.reason, reply.detail, {"answers": list(reply.raw)}, reply.cost)
        passed = reply.value.passed(as_code=self.as_code)
        listed = {normalize_clause(clause): clause for clause in reply.value.clauses}
        clauses = {normalize_clause(clause.text) for clause in prenex.clauses}
        evidence: dict[str, object] = {"fulfilled": passed, "answers": [reply.raw], "served": dict(reply.served)}
        if unknown := [clause for short, clause in listed.items() if short not in clauses]:
            evidence["unknown_clauses"] = unknown
        parts = tuple(
            Part(
                clause.text,
                clause.kind,
                float(normalize_clause(clause.text) in listed),
                about=tuple(sorted({atom.predicate for atom in atoms(clause.formula)})),
            )
            for clause in prenex.clauses
        )
        return Verdict(passed, parts, evidence, reply.cost)
