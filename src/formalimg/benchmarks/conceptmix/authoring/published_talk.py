"""The conversation by which the published code writes an item, with the authors' texts; answers are plain words.

Binding: the JSON is asked for once more by itself. Caption: the checker reads on where the writer ended, and so does
who writes the questions, without the check in between. Whoever begins with WRONG says no.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from pydantic import ValidationError

from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import Rejection
from formalimg.benchmarks.conceptmix.authoring.answers import (
    BindingAnswer,
    CaptionAnswer,
    QuestionsAnswer,
    RepeatedAnswer,
    ValidityAnswer,
)
from formalimg.benchmarks.conceptmix.authoring.templates import ConceptMixture, ConceptTemplates
from formalimg.benchmarks.conceptmix.spec import Binding
from formalimg.judges.published_protocol import WordAnswer, parse_json
from formalimg.models.base import Message
from formalimg.models.text_answer import TextAnswer

_NO = "WRONG"


class WrittenBinding(TextAnswer):
    """A binding as JSON, perhaps in a code fence."""

    binding: BindingAnswer

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the JSON."""
        try:
            return cls(
                binding=BindingAnswer.model_validate(parse_json(text.removeprefix("```json").removesuffix("```")))
            )
        except ValidationError as error:
            raise ValueError("it is not a binding") from error


@dataclass(frozen=True)
class PublishedTalk:
    """The conversation about one item."""

    talk: Conversation  # asks the models
    texts: ConceptTemplates  # the authors' texts
    # the request for the caption and its answer, on which checker and questions follow
    turns: list[Message] = field(default_factory=list)

    async def bind(self, binding: Binding) -> BindingAnswer | Rejection:
        """Return the binding with what was open filled in."""
        request = self.texts.asking_to_bind(binding)
        first = await self.talk.ask("writer", request, WordAnswer)
        if isinstance(first, Rejection):
            return first
        before = (Message("user", (request,)), Message("assistant", (first.text,)))
        answer = await self.talk.ask("writer", self.texts.published("binding-again"), WrittenBinding, before=before)
        return answer if isinstance(answer, Rejection) else answer.binding

    async def write(self, mix: ConceptMixture) -> CaptionAnswer | Rejection:
        """Return the caption."""
        request = self.texts.asking_for_caption(mix)
        answer = await self.talk.ask("writer", request, WordAnswer)
        if isinstance(answer, Rejection):
            return answer
        self.turns[:] = (Message("user", (request,)), Message("assistant", (answer.text,)))
        is_no = answer.text.startswith(_NO)
        return CaptionAnswer(possible=not is_no, why=answer.text if is_no else "", caption=answer.text)

    async def check(self, *, repeat: bool) -> ValidityAnswer | RepeatedAnswer | Rejection:
        """Return what the checker says of the caption; with `repeat`, its words are the caption."""
        text = self.texts.published("caption-again")
        answer = await self.talk.ask("checker", text, WordAnswer, before=tuple(self.turns))
        if isinstance(answer, Rejection):
            return answer
        is_no = answer.text.startswith(_NO)
        why = answer.text if is_no else ""
        if repeat:
            return RepeatedAnswer(valid=not is_no, why=why, caption=answer.text)
        return ValidityAnswer(valid=not is_no, why=why)

    async def ask_questions(self, mix: ConceptMixture) -> QuestionsAnswer | Rejection:
        """Return the questions, one on each line that is not blank."""
        text = self.texts.asking_for_questions(mix, "")
        answer = await self.talk.ask("writer", text, WordAnswer, before=tuple(self.turns))
        if isinstance(answer, Rejection):
            return answer
        return QuestionsAnswer(questions=[line for line in answer.text.split("\n") if line.strip()])
