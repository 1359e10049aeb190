"""A server with a chat model that does as it is told for ConceptMix: it reads what it is sent, and nothing else."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from formalimg.benchmarks.authoring.engine import AuthoringResult, author_suite
from formalimg.benchmarks.authoring.task import AuthoringPlan
from formalimg.benchmarks.conceptmix.completion import complete_binding
from formalimg.benchmarks.conceptmix.conflicts import find_conflicts
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.prompt_check import extra_concepts, missing_concepts
from formalimg.benchmarks.conceptmix.realization import write_prompt
from formalimg.benchmarks.conceptmix.spec import Binding, BoundConcept, Concept, bound_concepts
from formalimg.models.registry import open_chat_model
from tests.support.loopback.dialects import Asked
from tests.support.loopback.faults import Fault, Faults, never
from tests.support.loopback.server import Loopback

Answer: TypeAlias = dict[str, Any]
Spoil: TypeAlias = Callable[[str, Answer, str], Answer]
"""What becomes of a right answer: from which step it belongs to, the answer, and the question."""

POOLS = load_pools()
STEPS = {"objects": "binding", "possible": "caption", "valid": "check", "questions": "questions"}


def step_of(schema: Any) -> str:
    """What is asked for, told by the form of the answer; the checker of the published code has to repeat."""
    fields = schema["properties"]
    step = next(step for field, step in STEPS.items() if field in fields)
    return "repeat" if step == "check" and "caption" in fields else step


def right_answer(step: str, question: str) -> Answer:
    """What somebody answers who makes no mistakes."""
    match step:
        case "binding":
            return complete_binding(_binding(question), random.Random(0)).to_json()
        case "caption":
            binding = _binding(question)
            return {"possible": True, "why": "", "caption": write_prompt(_all_of(binding), binding, random.Random(0))}
        case "check":
            return {"valid": True, "why": ""}
        case "repeat":
            return {"valid": True, "why": "", "caption": question.split("The caption:\n")[1].splitlines()[0]}
        case _:
            return {"questions": [f"Is it true that {statement}?" for statement in statements_in(question)]}


def statements_in(question: str) -> list[str]:
    """The numbered lines of a question."""
    return re.findall(r"^\d+\. (the .*)$", question, re.MULTILINE)


def _binding(question: str) -> Binding:
    (line,) = re.findall(r'^\{"objects".*$', question, re.MULTILINE)
    return Binding.from_json(json.loads(line))


def _all_of(binding: Binding) -> list[BoundConcept]:
    """All that a binding says, those objects too that were added."""
    objects = [BoundConcept(Concept("object", obj.item), (number,)) for number, obj in enumerate(binding.objects, 1)]
    style = [] if binding.style is None else [BoundConcept(Concept("style", binding.style), ())]
    return objects + style


def as_it_is(step: str, answer: Answer, question: str) -> Answer:
    return answer


class Talk:
    """A server whose model answers rightly unless somebody spoils it.

    Attributes:
        steps: what was asked for in the last writing, in the order of the answers.
    """

    def __init__(self) -> None:
        self.steps: list[str] = []
        self._spoil: Spoil = as_it_is
        self._faults: Faults = never
        self._requests = 0
        self.server = Loopback(reply=self._reply, faults=self._fault)

    def write(
        self, plan: AuthoringPlan, folder: Path, spoil: Spoil = as_it_is, faults: Faults = never, hands: int = 4
    ) -> AuthoringResult:
        """Write a plan; faults are told by the number of the request in this writing."""
        self.steps, self._spoil, self._faults, self._requests = [], spoil, faults, 0
        options = {"base_url": f"{self.server.url}/v1", "cache": "off", "reads": "0", "tries": "1"}
        model = open_chat_model("openai/some-model", {**options, "concurrency": str(hands)})
        return author_suite(plan, model, folder)

    def _reply(self, asked: Asked) -> str:
        question, step = "".join(asked.texts), step_of(asked.schema)
        self.steps.append(step)
        return json.dumps(self._spoil(step, right_answer(step, question), question))

    def _fault(self, number: int) -> Fault | None:
        self._requests += 1
        return self._faults(self._requests - 1)


def assert_sound(written: AuthoringResult, folder: Path) -> None:
    """Checked again, from the outside; and every attempt is accounted for."""
    for item in written.items:
        spec = item.spec
        assert len(spec.concepts) == item.level + 1
        assert spec.binding is not None
        assert not spec.binding.is_open
        assert find_conflicts(spec.binding) == ()
        bound = bound_concepts([asked.concept for asked in spec.concepts], spec.binding)
        assert [asked.objects for asked in spec.concepts] == [each.objects for each in bound]
        assert missing_concepts(item.prompt, bound, spec.binding) == ()
        assert extra_concepts(item.prompt, bound, spec.binding, POOLS) == ()
        assert [asked.question for asked in spec.concepts] == [f"Is it true that {a.statement}?" for a in spec.concepts]
    assert len({item.prompt for item in written.items}) == len(written.items)
    assert written.tried == len(written.items) + sum(written.rejections.values()) + written.unsettled
    manifest = json.loads((folder / "writing.json").read_text())
    assert manifest["rejections"] == {reason: count for reason, count in written.rejections.items() if count}
