"""One attempt at one item of ConceptMix, step by step (paper, 2.3 and appendix C)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from formalimg.authoring.concepts.answers import (
    BindingAnswer,
    CaptionAnswer,
    QuestionsAnswer,
    RepeatedAnswer,
    ValidityAnswer,
)
from formalimg.authoring.concepts.captions import checked, written
from formalimg.authoring.concepts.closing import closed, is_incomplete, left_open
from formalimg.authoring.concepts.mix import Drawn, Mix, draw, mixed
from formalimg.authoring.concepts.questions import in_order
from formalimg.authoring.concepts.texts import Texts
from formalimg.authoring.conversation import Conversation
from formalimg.authoring.outcome import Outcome
from formalimg.authoring.plan import Slot, WritingPlan
from formalimg.authoring.rejection import Rejection
from formalimg.authoring.shelf import Shelf
from formalimg.suites import Binding, ConceptSpec, Item, Pools, complete_binding, conflicts, template_questions


@dataclass(frozen=True)
class Attempt:
    """An attempt under way.

    Attributes:
        plan, slot, number: which attempt at which item.
        pools: what concepts are drawn from.
        talk: asks the models.
        texts: what they are sent.
        shelf: the items there are.
        notes: `drawn`, the categories of the concepts; `bound_by`, who closed the binding; `added`, how many objects
            were added to it.
    """

    plan: WritingPlan
    slot: Slot
    number: int
    pools: Pools
    talk: Conversation
    texts: Texts
    shelf: Shelf
    notes: dict[str, Any] = field(default_factory=dict)

    async def made(self) -> Outcome:
        """Make the attempt."""
        drawn = draw(self.plan, self.pools, self.slot, self.number)
        self.notes["drawn"] = [concept.category for concept in drawn.concepts]
        result = await self._written(drawn)
        return Outcome(self.slot.id, self.number, result, self.talk.expense, self.notes)

    async def _written(self, drawn: Drawn) -> Item[ConceptSpec] | Rejection:
        mix = await self._mixed(drawn)
        if isinstance(mix, Rejection):
            return mix
        caption = await self._caption(mix)
        if isinstance(caption, Rejection):
            return caption
        caption = await self._checked(mix, caption)
        if isinstance(caption, Rejection):
            return caption
        questions = await self._questions(mix, caption)
        if isinstance(questions, Rejection):
            return questions
        level, spec = self.slot.level, mix.spec(questions)
        return Item(self.plan.suite, str(self.slot.id), level, caption, spec, (), self.plan.version)

    async def _mixed(self, drawn: Drawn) -> Mix | Rejection:
        """Step 2, and what can be said against the concepts before anyone writes about them."""
        clash = _clash(drawn.binding)
        if clash is not None:
            return clash
        binding = await self._bound(drawn)
        if isinstance(binding, Rejection):
            return binding
        self.notes["added"] = len(binding.objects) - len(drawn.binding.objects)
        clash = _clash(binding)
        if clash is not None:
            return clash
        mix = mixed(drawn.concepts, binding, self.pools)
        return self.shelf.twin(mix.spec(template_questions(mix.concepts, mix.binding))) or mix

    async def _bound(self, drawn: Drawn) -> Binding | Rejection:
        if not is_incomplete(drawn.binding):
            self.notes["bound_by"] = "nobody"
            return drawn.binding
        self.notes["bound_by"] = self.plan.choices.binder
        if self.plan.choices.binder == "offline":
            binding = complete_binding(drawn.binding, drawn.chance)
            return left_open() if is_incomplete(binding) else binding
        answer = await self.talk.ask("writer", self.texts.asking_to_bind(drawn.binding), BindingAnswer)
        return answer if isinstance(answer, Rejection) else closed(drawn.binding, answer, self.pools)

    async def _caption(self, mix: Mix) -> str | Rejection:
        """Step 3."""
        answer = await self.talk.ask("writer", self.texts.asking_for_caption(mix), CaptionAnswer)
        return answer if isinstance(answer, Rejection) else self._new(written(answer, mix, self.pools), mix)

    async def _checked(self, mix: Mix, caption: str) -> str | Rejection:
        """Step 4. The published code takes what the checker repeats for the caption; the paper does not."""
        repeat = self.plan.choices.profile == "official-code"
        form: type[ValidityAnswer | RepeatedAnswer] = RepeatedAnswer if repeat else ValidityAnswer
        answer = await self.talk.ask("checker", self.texts.asking_to_check(mix, caption, repeat=repeat), form)
        return answer if isinstance(answer, Rejection) else self._new(checked(answer, caption, mix, self.pools), mix)

    def _new(self, caption: str | Rejection, mix: Mix) -> str | Rejection:
        """The caption, unless another item has it, so that no question is asked for nothing."""
        if isinstance(caption, Rejection):
            return caption
        spec = mix.spec(template_questions(mix.concepts, mix.binding))
        return self.shelf.objection(caption, spec, self.slot.level) or caption

    async def _questions(self, mix: Mix, caption: str) -> Sequence[str] | Rejection:
        """One for each statement; section 2.4 and C.3."""
        if self.plan.choices.questions == "template":
            return template_questions(mix.concepts, mix.binding)
        answer = await self.talk.ask("writer", self.texts.asking_for_questions(mix, caption), QuestionsAnswer)
        return answer if isinstance(answer, Rejection) else in_order(answer.questions, mix, self.pools)


def _clash(binding: Binding) -> Rejection | None:
    clash = next(iter(conflicts(binding)), None)
    return None if clash is None else Rejection("conflict", clash.detail)
