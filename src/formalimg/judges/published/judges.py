"""Chat models as judges under the published protocols of FormalImg and ConceptMix: requests, answers and verdicts.

What the published scripts take for an answer counts as they count it. What they leave out of their totals, or count as
a fail because no answer came, is `Unscored`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Generic, Literal, TypeAlias, TypeVar

from formalimg.judges.base import LoadedImage, Part, Unscored, Verdict
from formalimg.judges.chat_images import encode_image
from formalimg.judges.chat_judge import NoValidAnswer, explain_unanswered, total_cost
from formalimg.judges.clause_judge import normalize_clause
from formalimg.judges.published.answers import ConstraintAnswer, ObjectsAnswer, WordAnswer
from formalimg.judges.published.verification import judge_objects
from formalimg.logic import FormulaError, PrenexForm, atoms, to_prenex, vocabulary
from formalimg.models import Answered, Attachment, ChatModel, Message, Price, Setting, TextAnswer, price_of
from formalimg.prompts import Prompt, load_prompts
from formalimg.suites import ConceptSpec, FormulaSpec, Item

Followed: TypeAlias = Literal["published", "paper", "official-code"]
"""The protocol that is followed: `published` where a paper and its published code do not differ."""

PublishedAnswerType = TypeVar("PublishedAnswerType", bound=TextAnswer)

PROMPTS = Path(__file__).parents[1] / "prompts" / "published"
_USER = "\n[user]\n"
"""A line of its own that ends the system message of a prompt."""


@dataclass(frozen=True)
class PublishedReply(Generic[PublishedAnswerType]):
    """An answer that the published scripts would count.

    Attributes:
        value: the answer.
        raw: its text.
        served: what was actually used, as far as the provider says.
        cost: in US dollars; None if the price is unknown.
        p_yes: the probability of yes, if the question was one of yes or no and the server reported it; else None.
        first_tokens: the probability of each token that could have begun the answer, as far as reported; else empty.
    """

    value: PublishedAnswerType
    raw: str
    served: Mapping[str, Setting]
    cost: float | None
    p_yes: float | None = None
    first_tokens: Mapping[str, float] = field(default_factory=dict)


class PublishedJudge:
    """Base of the judges that ask as the published scripts do."""

    rules: ClassVar[int] = 1
    """The version of the rules from answers to verdicts: raise it whenever a verdict may come out differently."""

    def __init__(
        self,
        chat: ChatModel,
        protocol: Followed,
        prompts: Mapping[str, str],
        own_prompts: Path | None = None,
        options: Mapping[str, Setting] | None = None,
    ) -> None:
        """Create a judge that asks this chat model.

        Args:
            chat: the chat model.
            protocol: what is followed.
            prompts: the names of the prompts that are sent, by the name of the setting that records each.
            own_prompts: a folder with prompts of the user that replace ours.
            options: how the model is asked; part of the settings.

        Raises:
            FormalimgError: if a prompt of the user cannot replace ours.
        """
        texts = load_prompts(PROMPTS, own_prompts)
        self._chat = chat
        self._protocol: Followed = protocol
        self._prompts = {setting: texts[name] for setting, name in prompts.items()}
        self._options = dict(options or {})

    @property
    def name(self) -> str:
        """The name of the chat model."""
        return self._chat.name

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The settings of the chat model, the protocol with the version of its rules, and the prompts."""
        return {
            **self._chat.settings,
            "protocol": self._protocol,
            **self._options,
            **{setting: str(prompt) for setting, prompt in self._prompts.items()},
            "protocol_rules": self.rules,
        }

    @property
    def price(self) -> Price:
        """The price of the chat model."""
        return price_of(self._chat)

    @property
    def concurrency(self) -> int:
        """As many images at a time as the chat model takes requests."""
        return self._chat.concurrency

    @property
    def as_code(self) -> bool:
        """Whether the published code decides where the paper says something else."""
        return self._protocol != "paper"

    async def _ask(
        self, messages: Sequence[Message], answer_type: type[PublishedAnswerType]
    ) -> PublishedReply[PublishedAnswerType] | NoValidAnswer:
        """Ask once; the chat model repeats the request where the answer cannot be read."""
        reply = await self._chat.ask(messages, answer_type)
        if isinstance(reply, Answered):
            return PublishedReply(reply.value, reply.raw, reply.served, reply.cost, reply.p_yes, reply.first_tokens)
        reason, detail = explain_unanswered(reply)
        return NoValidAnswer(reason, f"{self.name} {detail}", tuple(filter(None, (reply.raw,))), reply.cost)


async def attach(image: LoadedImage) -> Attachment:
    """Return the image as it is sent, encoded in a thread, so that other images do not wait for it."""
    return (await asyncio.to_thread(encode_image, image)).attachment


def system_and_user(prompt: Prompt, values: Mapping[str, str]) -> tuple[str, str]:
    """Return the two messages in a prompt, filled: up to the line `[user]`, and from there on."""
    system, separator, user = prompt.text.partition(_USER)
    first, second = (replace(prompt, text=part.strip()).fill(values) for part in (system, user))
    return (first, second) if separator else ("", first)


class PublishedSceneJudge(PublishedJudge):
    """FormalImg Knolling: one request for each class, and the published verdict on the objects as they were written.

    The system message is the instruction, the user message the image alone. Evidence, besides that of `judge_objects`:

    - `answers`: for each request, the class in it (`asked_for`) and the answer, word for word (`raw`);
    - `served`: what was actually used, as far as the provider says.
    """

    def __init__(self, chat: ChatModel, protocol: Followed = "published", prompts: Path | None = None) -> None:
        """Create a judge that asks this chat model; the arguments are those of `PublishedJudge`."""
        super().__init__(chat, protocol, {"prompt": "published-grounder"}, prompts)
        self._colors = json.dumps(list(vocabulary("knolling").words["color"]), indent=4)

    def questions(self, item: Item[object]) -> int:
        """Return how many requests are sent per image of this item."""
        return len(item.spec.object_classes) if isinstance(item.spec, FormulaSpec) else 0

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge whether the image satisfies the formula of the item."""
        spec = item.spec
        if not isinstance(spec, FormulaSpec) or not spec.object_classes:
            return Unscored("not understood", f"item {item.id} of {item.suite} has no formula that names a class")
        attachment = await attach(image)
        objects: list[object] = []
        answers: list[dict[str, object]] = []
        cost: float | None = 0.0
        served: Mapping[str, Setting] = {}
        for label in spec.object_classes:
            values = {"classes": json.dumps([label], indent=4), "colors": self._colors}
            messages = [
                Message("system", (self._prompts["prompt"].fill(values),)),
                Message("user", (attachment,)),
            ]
            reply = await self._ask(messages, ObjectsAnswer)
            cost = total_cost((cost, reply.cost))
            if isinstance(reply, NoValidAnswer):
                answers.append({"asked_for": [label], "raw": list(reply.raw)})
                return Unscored(reply.reason, f"{label}: {reply.detail}", {"answers": answers}, cost)
            answers.append({"asked_for": [label], "raw": [reply.raw]})
            objects += reply.value.objects
            served = reply.served
        found = await asyncio.to_thread(judge_objects, spec.formula, objects)
        evidence = {**found.evidence, "answers": answers, "served": dict(served)}
        return replace(found, evidence=evidence, cost=cost)


class PublishedClauseJudge(PublishedJudge):
    """FormalImg Natural: one request with the prompt and the lifted formula; the model's verdict decides.

    One user message, the text before the image. Evidence, all plain data:

    - `fulfilled`: the verdict;
    - `unknown_clauses`: clauses it says hold that are none of the formula; only if there are any;
    - `answers`, `served`: as of the other judges.
    """

    def __init__(self, chat: ChatModel, protocol: Followed = "official-code", prompts: Path | None = None) -> None:
        """Create a judge that asks this chat model; the arguments are those of `PublishedJudge`."""
        super().__init__(chat, protocol, {"prompt": "published-clause-judge"}, prompts)

    def questions(self, item: Item[object]) -> int:
        """Return how many requests are sent per image of this item."""
        return 1

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge whether the image satisfies the formula of the item."""
        spec = item.spec
        if not isinstance(spec, FormulaSpec):
            return Unscored("not understood", f"item {item.id} of {item.suite} has no formula to judge by")
        try:
            prenex = to_prenex(spec.formula)
        except FormulaError as error:
            if any(problem.kind != "size" for problem in error.problems):
                raise
            return Unscored("not understood", error.problems[0].message)
        text = self._prompts["prompt"].fill({"words": item.prompt, "formula": prenex.text})
        reply = await self._ask([Message("user", (text, await attach(image)))], ConstraintAnswer)
        if isinstance(reply, NoValidAnswer):
            return Unscored(reply.reason, reply.detail, {"answers": list(reply.raw)}, reply.cost)
        passed = reply.value.passed(as_code=self.as_code)
        listed = {normalize_clause(clause): clause for clause in reply.value.clauses}
        known = {normalize_clause(clause.text) for clause in prenex.clauses}
        evidence: dict[str, object] = {"fulfilled": passed, "answers": [reply.raw], "served": dict(reply.served)}
        if unknown := [clause for short, clause in listed.items() if short not in known]:
            evidence["unknown_clauses"] = unknown
        return Verdict(passed, _clause_parts(prenex, listed), evidence, reply.cost)


def _clause_parts(prenex: PrenexForm, listed: Mapping[str, str]) -> tuple[Part, ...]:
    return tuple(
        Part(
            clause.text,
            clause.kind,
            float(normalize_clause(clause.text) in listed),
            about=tuple(sorted({atom.predicate for atom in atoms(clause.formula)})),
        )
        for clause in prenex.clauses
    )


class PublishedQuestionJudge(PublishedJudge):
    """ConceptMix: one request for each question, and one word for an answer; whatever is not yes is a no.

    One user message, the text before the image. Evidence, all plain data:

    - `answers`: for each request, the question (`asked`) and the answer, word for word (`raw`);
    - `served`: what was actually used by the last request, as far as the provider says.
    """

    def __init__(self, chat: ChatModel, protocol: Followed = "official-code", prompts: Path | None = None) -> None:
        """Create a judge that asks this chat model; the arguments are those of `PublishedJudge`."""
        super().__init__(chat, protocol, {"prompt": "published-question-judge"}, prompts)

    def questions(self, item: Item[object]) -> int:
        """Return how many requests are sent per image of this item."""
        return len(item.spec.concepts) if isinstance(item.spec, ConceptSpec) else 0

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge whether the image shows every concept of the item."""
        spec = item.spec
        if not isinstance(spec, ConceptSpec) or not spec.concepts:
            return Unscored("not understood", f"item {item.id} of {item.suite} has no questions to judge by")
        if not all(concept.question.strip() for concept in spec.concepts):
            return Unscored("not understood", f"item {item.id} of {item.suite} has a concept without a question")
        attachment = await attach(image)
        parts: list[Part] = []
        answers: list[dict[str, object]] = []
        cost: float | None = 0.0
        served: Mapping[str, Setting] = {}
        for concept in spec.concepts:
            text = self._prompts["prompt"].fill({"question": concept.question})
            reply = await self._ask([Message("user", (text, attachment))], WordAnswer)
            cost = total_cost((cost, reply.cost))
            if isinstance(reply, NoValidAnswer):
                answers.append({"asked": [concept.question], "raw": list(reply.raw)})
                count = len(spec.concepts)
                detail = (
                    f"{count - len(parts)} of {count} questions have no answer ({concept.question}): {reply.detail}"
                )
                return Unscored(reply.reason, detail, {"answers": answers}, cost)
            answers.append({"asked": [concept.question], "raw": [reply.raw]})
            served = reply.served
            score = float(reply.value.is_yes(as_code=self.as_code))
            about = (concept.value,)
            parts.append(
                Part(concept.question, concept.category, score, about=about, reason=reply.raw, p_yes=reply.p_yes)
            )
        evidence: dict[str, object] = {"answers": answers, "served": dict(served)}
        return Verdict(all(part.score for part in parts), tuple(parts), evidence, cost)
