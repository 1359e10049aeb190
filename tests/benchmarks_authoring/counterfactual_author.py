"""A server with a chat model that writes CF-World as it should be: it knows our groups, and reads the question."""

from __future__ import annotations

import json
import re
import tomllib
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from formalimg.benchmarks.authoring.engine import AuthoringResult, author_suite
from formalimg.benchmarks.authoring.task import AuthoringPlan
from formalimg.benchmarks.cfworld.authoring.choices import CounterfactualChoices, Law
from formalimg.benchmarks.cfworld.group_checks import check_groups
from formalimg.benchmarks.cfworld.items import builtin_groups
from formalimg.benchmarks.cfworld.spec import CounterfactualGroup
from formalimg.models.registry import open_chat_model
from formalimg.types import ChatModel
from tests.support.loopback.dialects import Asked
from tests.support.loopback.faults import Fault, Faults, never
from tests.support.loopback.server import Loopback

Answer: TypeAlias = dict[str, Any]
Spoil: TypeAlias = Callable[[str, Answer, str], Answer]
"""What becomes of a right answer: from the step it belongs to, the answer, and the question."""

OURS = builtin_groups()
PAIRS: list[Answer] = tomllib.loads((files("formalimg.benchmarks.cfworld") / "pairs.toml").read_text(encoding="utf-8"))[
    "pair"
]
BY_LAW: defaultdict[str, list[CounterfactualGroup]] = defaultdict(list)
for _group in OURS:
    BY_LAW[_group.law].append(_group)

_STEPS = {
    "changed": "group",
    "deductive": "check",
    "questions": "questions",
    "criteria": "rule question",
    "named": "description",
    "nameless": "check description",
    "common_prompt": "pair",
    "rare": "check pair",
}
_FINE: Answer = {"thoughts": "all is well", "why": "", "safe": True}
_TEXTS = ("changed", "factual", "implicit", "outcome", "described", "shows_factual", "shows")


def laws(count: int) -> tuple[Law, ...]:
    """The first laws of ours, with their fields."""
    known = dict.fromkeys(Law(group.law, group.discipline, group.branch) for group in OURS)
    return tuple(known)[:count]


def plan_of(count: int, attempts: int = 2, **choices: Any) -> AuthoringPlan:
    """A plan for groups of the first laws."""
    return AuthoringPlan(
        "cf-world", attempts=attempts, choices=CounterfactualChoices(laws(count), **choices), version="mine"
    )


def step_of(schema: Any) -> str:
    """What is asked for, told by the form of the answer."""
    return next(step for field, step in _STEPS.items() if field in schema["properties"])


def after(question: str, label: str) -> str:
    """What a line of a question says after a label."""
    return question.split(label, 1)[1].splitlines()[0].strip()


def group_asked(question: str) -> CounterfactualGroup:
    """The group of ours that a question is about: it has its law, or one of its prompts."""
    if "The law: " in question:
        return BY_LAW[after(question, "The law: ")][0]
    return next(group for group in OURS if group.factual in question or group.explicit in question)


def right_answer(step: str, question: str) -> Answer:
    """What somebody answers who makes no mistakes."""
    match step:
        case "group":
            group = group_asked(question)
            own = {name: getattr(group, name) for name in _TEXTS}
            return {"thoughts": "it follows", "discipline": group.discipline, "branch": group.branch, **own}
        case "check":
            return {**_FINE, "unambiguous": True, "deductive": True, "valid": True}
        case "questions":
            return {"thoughts": "", "questions": questions_about(after(question, "is right: "))}
        case "rule question":
            asked = questions_about(after(question, "is right: "))[0]
            return {"thoughts": "", "question": asked["question"], "criteria": asked["criteria"]}
        case "description":
            return _description(question)
        case "check description":
            return {**_FINE, "same": True, "nameless": True}
        case "pair":
            return {"thoughts": "", **PAIRS[zlib.crc32(question.encode()) % len(PAIRS)]}
        case _:
            return {**_FINE, "rare": True, "common": True}


def questions_about(shows: str) -> list[Answer]:
    """Right questions, in another order than they will have."""
    criteria = "1: it is so. 0.5: nearly. 0: it is not so."
    return [
        {"dimension": "assessment", "question": f"Is it so that {shows.rstrip('.')}?", "criteria": criteria},
        {"dimension": "logic", "question": "Does the rest keep to the rule?", "criteria": criteria},
        {"dimension": "integrity", "question": "Is the picture sharp?", "criteria": criteria},
        {"dimension": "logic", "question": "Do the shadows fit?", "criteria": criteria},
    ]


def _description(question: str) -> Answer:
    group = next(group for group in OURS if group.explicit in question)
    known = set(re.findall(r"[a-z]+", f"{group.implicit} {group.described}".lower()))
    stems = {re.sub(r"(ing|ed|es|s|e)$", "", word) for word in known}
    named = [
        word
        for word in re.findall(r"[a-z]{4,}", group.outcome.lower())
        if re.sub(r"(ing|ed|es|s|e)$", "", word) not in stems
    ]
    return {"thoughts": "", "outcome": group.outcome, "named": named, "described": group.described}


def as_it_is(step: str, answer: Answer, question: str) -> Answer:
    """Nothing is spoilt."""
    return answer


class Author:
    """A server whose model answers rightly unless somebody spoils it.

    Attributes:
        steps: what was asked for since the last `write` began, in the order of the answers.
        questions: the same as it was sent.
    """

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.questions: list[str] = []
        self.spoil: Spoil = as_it_is
        self._faults: Faults = never
        self._requests = 0
        self.server = Loopback(reply=self._reply, faults=self._fault)

    def model(self, name: str = "some-model", hands: int = 4) -> ChatModel:
        """The model, called over HTTP by the real library."""
        options = {"base_url": f"{self.server.url}/v1", "cache": "off", "reads": "0", "tries": "1"}
        return open_chat_model(f"openai/{name}", {**options, "concurrency": str(hands)})

    def write(
        self, plan: AuthoringPlan, folder: Path, spoil: Spoil = as_it_is, faults: Faults = never, hands: int = 4
    ) -> AuthoringResult:
        """Write a plan; faults are told by the number of the request in this writing."""
        self.steps, self.questions, self.spoil, self._faults, self._requests = [], [], spoil, faults, 0
        return author_suite(plan, self.model(hands=hands), folder)

    def _reply(self, asked: Asked) -> str:
        question, step = "".join(asked.texts), step_of(asked.schema)
        self.steps.append(step)
        self.questions.append(question)
        return json.dumps(self.spoil(step, right_answer(step, question), question))

    def _fault(self, number: int) -> Fault | None:
        self._requests += 1
        return self._faults(self._requests - 1)


@contextmanager
def serving() -> Iterator[Author]:
    """An author who answers while this lasts."""
    found = Author()
    with pytest.MonkeyPatch.context() as patch, found.server:
        patch.setenv("OPENAI_API_KEY", "sk-planted-1")
        yield found


def assert_sound(written: AuthoringResult, groups: list[CounterfactualGroup], folder: Path) -> None:
    """Checked again, from the outside; and every attempt is accounted for."""
    assert check_groups(groups) == []
    assert len(written.items) == 3 * len(groups) == 3 * written.accepted
    assert written.tried == written.accepted + sum(written.rejections.values()) + written.unsettled
    for item in written.items:
        counts = Counter(question.dimension for question in item.spec.questions)
        assert counts["integrity"] == counts["assessment"] == 1
        assert 1 <= counts["logic"] <= 3
        assert {question.dimension: question.weight for question in item.spec.questions} == {
            "integrity": 3,
            "assessment": 15,
            "logic": 8,
        }
    manifest = json.loads((folder / "writing.json").read_text())
    assert manifest["rejections"] == {reason: count for reason, count in written.rejections.items() if count}
    assert manifest["groups"] == len(groups)
