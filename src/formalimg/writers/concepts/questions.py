"""Whether questions that a model wrote ask for the concepts, each for the one in its place."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.errors import presentable
from formalimg.suites import BoundConcept, Concept, Pools, unasked, unsaid
from formalimg.writers.concepts.mix import Mix
from formalimg.writers.rejection import Rejection

_LONGEST_QUESTION = 400


def in_order(questions: Sequence[str], mix: Mix, pools: Pools) -> tuple[str, ...] | Rejection:
    """The questions, if there is one for each concept, in the order of the concepts.

    A question says its concept, of the right object and in the right direction, names all objects that the concept is
    about, and speaks of nothing that nobody asked for. What our reader does not understand is rejected: another draw
    costs little, and a wrong question would make every verdict on the item wrong.
    """
    if len(questions) != len(mix.concepts):
        return Rejection("wrong number of questions", f"{len(questions)} instead of {len(mix.concepts)}")
    lines = tuple(" ".join(question.split()) for question in questions)
    for line in lines:
        if not line.endswith("?") or not line.isprintable() or len(line) > _LONGEST_QUESTION:
            return Rejection("no question", presentable(line, 200, 50) or "an empty line")
    for number, (line, bound) in enumerate(zip(lines, mix.concepts, strict=True)):
        repeated = line in lines[:number] and mix.statements[number] not in mix.statements[:number]
        if repeated or not _asks_for(line, bound, mix) or unasked(line, mix.concepts, mix.binding, pools):
            category, value = bound.concept
            return Rejection("question out of order", f"not for {category} {value}: {presentable(line, 200, 50)}")
    return lines


def _asks_for(line: str, bound: BoundConcept, mix: Mix) -> bool:
    objects = [
        BoundConcept(Concept("object", mix.binding.objects[number - 1].item), (number,)) for number in bound.objects
    ]
    return not unsaid(line, (bound, *objects), mix.binding)
