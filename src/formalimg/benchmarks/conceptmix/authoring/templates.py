"""Prompt templates, answer schemas and conversations for authoring ConceptMix items with chat models."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import Rejection
from formalimg.benchmarks.authoring.task import VERSION, AuthoringPlan, Slot
from formalimg.benchmarks.conceptmix.pools import Pools
from formalimg.benchmarks.conceptmix.questions import concept_statements
from formalimg.benchmarks.conceptmix.sampling import bind_attributes, draw_concepts
from formalimg.benchmarks.conceptmix.spec import Binding, BoundConcept, Concept, ConceptSpec, bound_concepts
from formalimg.judges.chat_judge import WordAnswer, parse_json
from formalimg.models.base import Message
from formalimg.models.structured_output import TextAnswer
from formalimg.prompts import load_prompts, read_prompt


class ObjectAnswer(BaseModel):
    """An object of a binding, as published; null for attributes that it has not. Numbers may come as numbers."""

    model_config = ConfigDict(extra="forbid")
    id: int | str
    item: str
    color: str | None = None
    number: Annotated[int | str, AfterValidator(str)] | None = None
    shape: str | None = None
    size: str | None = None
    texture: str | None = None


class RelationAnswer(BaseModel):
    """A relation of a binding, as published."""

    model_config = ConfigDict(extra="forbid")
    name: str
    description: str
    first: int | str = Field(alias="ObjectA_id")
    second: int | str = Field(alias="ObjectB_id")


class BindingAnswer(BaseModel):
    """A binding in the published form; whether it makes sense is for others to say."""

    model_config = ConfigDict(extra="forbid")
    objects: list[ObjectAnswer]
    style: str | None = None
    relation: list[RelationAnswer] | None = None


class CaptionAnswer(BaseModel):
    """A caption, or why there can be none."""

    model_config = ConfigDict(extra="forbid")
    possible: bool
    why: str
    caption: str


class ValidityAnswer(BaseModel):
    """Whether a caption makes sense and says what it should."""

    model_config = ConfigDict(extra="forbid")
    valid: bool
    why: str


class RepeatedAnswer(BaseModel):
    """The same, and the caption once more: in the published code, what is repeated becomes the prompt."""

    model_config = ConfigDict(extra="forbid")
    valid: bool
    why: str
    caption: str


class QuestionsAnswer(BaseModel):
    """A question for each statement, in their order."""

    model_config = ConfigDict(extra="forbid")
    questions: list[str]


class DrawnConcepts(NamedTuple):
    """Sampled concepts, their binding with open relations, and the random generator to continue with."""

    concepts: tuple[Concept, ...]
    binding: Binding
    rng: random.Random


@dataclass(frozen=True)
class ConceptMixture:
    """Concepts with a complete binding."""

    concepts: tuple[BoundConcept, ...]  # each with the objects it is about
    binding: Binding  # which belongs to which
    statements: tuple[str, ...]  # what each says of the image

    def spec(self, questions: Sequence[str]) -> ConceptSpec:
        """Return the spec of an item with these questions."""
        return ConceptSpec.of(self.concepts, self.statements, questions, self.binding)


def draw_mixture(plan: AuthoringPlan, pools: Pools, slot: Slot, attempt: int) -> DrawnConcepts:
    """Sample the concepts for an attempt, deterministically for the same plan, slot and attempt."""
    rng = random.Random(f"write {VERSION} {plan.suite} {plan.seed} {slot.level} {slot.id} {attempt}")
    choices = plan.choices
    concepts = draw_concepts(slot.level, pools, rng, profile=choices.profile, only=choices.only)
    return DrawnConcepts(concepts, bind_attributes(concepts, pools, rng), rng)


def make_mixture(concepts: Sequence[Concept], binding: Binding, pools: Pools) -> ConceptMixture:
    """Combine concepts with their complete binding."""
    bound = bound_concepts(concepts, binding)
    return ConceptMixture(bound, binding, concept_statements(bound, binding, pools))


_PROMPTS = Path(__file__).parent / "prompts"


class ConceptTemplates:
    """Prompt templates for ConceptMix."""

    def __init__(self, folder: Path | None = None) -> None:
        """Load the templates, with the user's folder overriding the built-in ones."""
        self._texts = load_prompts(_PROMPTS, folder)
        # whether the texts are those of the authors
        self.is_published = bool(self._texts["write-caption"].origin)
        if folder is not None and self.is_published:
            self._texts |= {name: read_prompt(folder / f"{name}.txt") for name in ("binding-again", "caption-again")}
        self.versions = {name: text.version for name, text in self._texts.items()}

    def binding_request(self, binding: Binding) -> str:
        """Return the prompt for completing a binding."""
        return self._texts["write-binding"].fill({"binding": _format_binding(binding)})

    def caption_request(self, mix: ConceptMixture) -> str:
        """Return the prompt for the caption."""
        values = _statement_list(mix)
        if self.is_published:
            values["statements"] = "".join(f"* {statement}\n" for statement in mix.statements)
        return self._texts["write-caption"].fill(values)

    def published(self, name: str) -> str:
        """Return a template that exists only in the authors' published prompts."""
        return self._texts[name].fill({})

    def check_request(self, mix: ConceptMixture, caption: str, *, repeat: bool) -> str:
        """Return the prompt for the checker; with `repeat`, it also requests the caption, as in the published code."""
        text = self._texts["repeat-caption" if repeat else "check-caption"]
        return text.fill({**_statement_list(mix), "caption": caption})

    def questions_request(self, mix: ConceptMixture, caption: str) -> str:
        """Return the prompt for the questions."""
        return self._texts["write-questions"].fill(
            {
                "statements": _number_lines(mix.statements),
                "caption": caption,
                "count": str(len(mix.statements)),
                "first": mix.concepts[0].concept.value,
            }
        )


def _statement_list(mix: ConceptMixture) -> dict[str, str]:
    return {"statements": _number_lines(mix.statements), "binding": _format_binding(mix.binding)}


def _number_lines(statements: Sequence[str]) -> str:
    return "\n".join(f"{number}. {statement}" for number, statement in enumerate(statements, 1))


def _format_binding(binding: Binding) -> str:
    return json.dumps(binding.to_json(), ensure_ascii=False)


@dataclass(frozen=True)
class ItemTalk:
    """The conversation about one item, with independent requests and schema-conforming answers."""

    talk: Conversation  # asks the models
    texts: ConceptTemplates

    async def bind(self, binding: Binding) -> BindingAnswer | Rejection:
        """Request a completed binding from the writer."""
        return await self.talk.ask("writer", self.texts.binding_request(binding), BindingAnswer)

    async def write(self, mix: ConceptMixture) -> CaptionAnswer | Rejection:
        """Request the caption from the writer."""
        return await self.talk.ask("writer", self.texts.caption_request(mix), CaptionAnswer)

    async def check(
        self, mix: ConceptMixture, caption: str, *, repeat: bool
    ) -> ValidityAnswer | RepeatedAnswer | Rejection:
        """Request the checker's verdict on the caption; with `repeat`, also a repetition of the caption."""
        form: type[ValidityAnswer | RepeatedAnswer] = RepeatedAnswer if repeat else ValidityAnswer
        return await self.talk.ask("checker", self.texts.check_request(mix, caption, repeat=repeat), form)

    async def ask_questions(self, mix: ConceptMixture, caption: str) -> QuestionsAnswer | Rejection:
        """Request one question for each statement from the writer."""
        return await self.talk.ask("writer", self.texts.questions_request(mix, caption), QuestionsAnswer)


_NO = "WRONG"


class WrittenBinding(TextAnswer):
    """A binding as JSON, perhaps in a code fence."""

    binding: BindingAnswer

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse the binding from JSON, with or without a code fence."""
        data = parse_json(text.removeprefix("```json").removesuffix("```"))
        try:
            return cls(binding=BindingAnswer.model_validate(data))
        except ValidationError as error:
            raise ValueError("it is not a binding") from error


@dataclass(frozen=True)
class PublishedTalk(ItemTalk):
    """The conversation of the published code, with the authors' prompts and plain-text answers.

    The JSON of the binding is requested once more by itself. The checker continues the writer's conversation about the
    caption; so does the request for questions, but without the check. An answer that begins with WRONG is a rejection.
    """

    # the request for the caption and its answer, on which checker and questions follow
    turns: list[Message] = field(default_factory=list)

    async def bind(self, binding: Binding) -> BindingAnswer | Rejection:
        """Request a completed binding, then request its JSON alone."""
        request = self.texts.binding_request(binding)
        first = await self.talk.ask("writer", request, WordAnswer)
        if isinstance(first, Rejection):
            return first
        before = (Message("user", (request,)), Message("assistant", (first.text,)))
        answer = await self.talk.ask("writer", self.texts.published("binding-again"), WrittenBinding, before=before)
        return answer if isinstance(answer, Rejection) else answer.binding

    async def write(self, mix: ConceptMixture) -> CaptionAnswer | Rejection:
        """Request the caption and start the conversation that later requests continue."""
        request = self.texts.caption_request(mix)
        answer = await self.talk.ask("writer", request, WordAnswer)
        if isinstance(answer, Rejection):
            return answer
        self.turns[:] = (Message("user", (request,)), Message("assistant", (answer.text,)))
        is_no = answer.text.startswith(_NO)
        return CaptionAnswer(possible=not is_no, why=answer.text if is_no else "", caption=answer.text)

    async def check(
        self, mix: ConceptMixture, caption: str, *, repeat: bool
    ) -> ValidityAnswer | RepeatedAnswer | Rejection:
        """Request the checker's verdict on the caption; with `repeat`, the answer text replaces the caption."""
        answer = await self.talk.ask("checker", self.texts.published("caption-again"), WordAnswer, before=self.turns)
        if isinstance(answer, Rejection):
            return answer
        is_no = answer.text.startswith(_NO)
        validity = ValidityAnswer(valid=not is_no, why=answer.text if is_no else "")
        return RepeatedAnswer(**validity.model_dump(), caption=answer.text) if repeat else validity

    async def ask_questions(self, mix: ConceptMixture, caption: str) -> QuestionsAnswer | Rejection:
        """Request the questions and return one per non-blank line of the answer."""
        request = self.texts.questions_request(mix, "")
        answer = await self.talk.ask("writer", request, WordAnswer, before=self.turns)
        if isinstance(answer, Rejection):
            return answer
        return QuestionsAnswer(questions=[line for line in answer.text.split("\n") if line.strip()])
