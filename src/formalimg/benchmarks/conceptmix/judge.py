"""Judges that ask a chat model one yes/no question per concept, by our protocol or the published one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from formalimg.benchmarks.conceptmix.plausibility import pool_objects, reference_objects
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.spec import ConceptSpec, RequestedConcept
from formalimg.benchmarks.conceptmix.words import noun_forms, plural_of
from formalimg.drawing.catalog import drawn_catalog
from formalimg.drawing.scene import DrawnScene
from formalimg.drawing.truth import DrawnConcept, concept_holds, is_clear_concept, size_items
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_judge import Followed, NoValidAnswer, PublishedJudge, WordAnswer, attach_image, total_cost
from formalimg.judges.factory import open_chat, open_published_chat, require_chat
from formalimg.judges.preflight import BOTTLE, BOTTLE_AND_FORK, FORK, KnownDrawing, bottle_and_fork
from formalimg.judges.question_judge import REQUESTS, AskedQuestion, YesNoJudge, combine_answers
from formalimg.models.base import Message
from formalimg.models.builtin.drawn_world import DrawnWorld, Meaning, MisreadRates, WorldNoun
from formalimg.types import ChatModel, Item, Judge, Part, Setting, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.judges.recorded_judge import RecordedModels


_OPTIONS = ("requests", "prompts")
_PEOPLE = (
    "; or make the images only, with `formalimg run --no-judge`, and let people answer: "
    "`formalimg agree` reads their votes from a CSV file"
)


def _find_concepts(item: Item[object]) -> Sequence[RequestedConcept] | Unscored:
    """Return the concepts to judge, or an unscored result if the item has no usable questions."""
    concepts = item.spec.concepts if isinstance(item.spec, ConceptSpec) else ()
    if not concepts:
        return Unscored("not understood", f"item {item.id} of {item.suite} has no questions")
    if not all(concept.question.strip() for concept in concepts):
        return Unscored("not understood", f"item {item.id} of {item.suite} has a concept without a question")
    return concepts


class QuestionJudge(YesNoJudge):
    """Judge that asks a chat model a yes/no question for each concept, by default each in a conversation of its own."""

    def questions(self, item: Item[object]) -> int:
        """Return how many requests are sent per image of this item."""
        count = len(item.spec.concepts) if isinstance(item.spec, ConceptSpec) else 0
        return count if self._one_by_one else min(1, count)

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge whether the image shows every concept of the item."""
        concepts = _find_concepts(item)
        if isinstance(concepts, Unscored):
            return concepts
        encoded = await self._encode(image)
        questions = [AskedQuestion(concept.question, concept.category, (concept.value,)) for concept in concepts]
        if self._one_by_one:
            return combine_answers(await self._request_all(encoded, [(question,) for question in questions]))
        return combine_answers([await self._request(encoded, questions)])


class PublishedQuestionJudge(PublishedJudge):
    """Judge by the published protocol: one request per question, and every answer other than yes counts as no.

    Evidence: `answers`, for each request the question (`asked`) and the answer (`raw`), and `served`.
    """

    prompt_folder = Path(__file__).parent / "prompts"

    def __init__(self, chat: ChatModel, protocol: Followed = "official-code", prompts: Path | None = None) -> None:
        """Initialize the judge with a chat model; the arguments are those of `PublishedJudge`."""
        super().__init__(chat, protocol, {"prompt": "published-question-judge"}, prompts)

    def questions(self, item: Item[object]) -> int:
        """Return how many requests are sent per image of this item."""
        return len(item.spec.concepts) if isinstance(item.spec, ConceptSpec) else 0

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge whether the image shows every concept of the item."""
        concepts = _find_concepts(item)
        if isinstance(concepts, Unscored):
            return concepts
        prompt = self._prompts["prompt"]
        attachment = await attach_image(image, self._label(prompt, "image/jpeg"))
        parts: list[Part] = []
        answers: list[dict[str, object]] = []
        cost: float | None = 0.0
        served: Mapping[str, Setting] = {}
        for concept in concepts:
            question = concept.question
            reply = await self._ask([Message("user", (prompt.fill({"question": question}), attachment))], WordAnswer)
            cost = total_cost((cost, reply.cost))
            if isinstance(reply, NoValidAnswer):
                answers.append({"asked": [question], "raw": list(reply.raw)})
                missing = f"{len(concepts) - len(parts)} of {len(concepts)} questions have no answer"
                return Unscored(reply.reason, f"{missing} ({question}): {reply.detail}", {"answers": answers}, cost)
            answers.append({"asked": [question], "raw": [reply.raw]})
            served = reply.served
            score = float(reply.value.is_yes(as_code=self.as_code))
            parts.append(
                Part(question, concept.category, score, about=(concept.value,), reason=reply.raw, p_yes=reply.p_yes)
            )
        evidence: dict[str, object] = {"answers": answers, "served": dict(served)}
        return Verdict(all(part.score for part in parts), tuple(parts), evidence, cost)


def open_judge(suite: str, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
    """Open a judge that asks a chat model about each concept."""
    if protocol != "default":
        published, followed, judge_options = open_published_chat(
            suite, name, options, protocol, temperature=0, max_tokens=1
        )
        return PublishedQuestionJudge(published, followed, **judge_options)
    name = require_chat(suite, name, "and cannot answer questions", _PEOPLE)
    chat, judge_options = open_chat(name, options, _OPTIONS, suite, {"requests": REQUESTS})
    return QuestionJudge(chat, **judge_options)


def reopen_judge(recorded: RecordedModels) -> Judge:
    """Reopen a judge from recorded settings and answers."""
    if "protocol" in recorded.settings:
        return PublishedQuestionJudge(recorded.chat, recorded.settings["protocol"])
    return QuestionJudge(recorded.chat, requests=recorded.settings["requests"])


# --- drawn scenes


def preflight_drawings(suite: str) -> tuple[KnownDrawing, KnownDrawing]:
    """Return the two preflight drawings with their yes/no questions."""
    concepts = (
        RequestedConcept("object", word, f"the image contains a {word}", f"Does the image contain a {word}?")
        for word in (BOTTLE, FORK)
    )
    return bottle_and_fork(Item(suite, "preflight", 1, BOTTLE_AND_FORK, ConceptSpec(tuple(concepts))))


def judge_drawn(item: Item[object], drawn: DrawnScene) -> Verdict | Unscored:
    """Return the verdict on a drawn scene; `unclear` in its evidence lists questions on which people may disagree."""
    spec = item.spec
    if not isinstance(spec, ConceptSpec) or not spec.concepts:
        return Unscored("not understood", f"item {item.id} of {item.suite} has no questions")
    parts, unclear = [], []
    for concept in spec.concepts:
        requested = _to_drawn_concept(concept, spec)
        if requested is None:
            detail = f"item {item.id} of {item.suite} does not tell which objects are meant by: {concept.question}"
            return Unscored("not understood", detail)
        try:
            holds = concept_holds(requested, drawn)
        except FormalimgError as error:  # published data may ask for anything
            return Unscored("not understood", str(error))
        reason = _describe_objects(requested, drawn)
        parts.append(Part(concept.question, concept.category, float(holds), about=(concept.value,), reason=reason))
        if not is_clear_concept(requested, drawn):
            unclear.append(concept.question)
    return Verdict(all(part.score == 1 for part in parts), tuple(parts), {"unclear": unclear} if unclear else {})


def _to_drawn_concept(concept: RequestedConcept, spec: ConceptSpec) -> DrawnConcept | None:
    if concept.category == "style":
        return DrawnConcept("style", concept.value)
    if concept.category == "object":
        return DrawnConcept("object", concept.value, (concept.value,))
    if spec.binding is None or not concept.objects:
        return None
    items = tuple(spec.binding.objects[number - 1].item for number in concept.objects)
    if concept.category == "size":
        items = size_items([(obj.item, obj.attributes.get("size")) for obj in spec.binding.objects], items[0])
    return DrawnConcept(concept.category, concept.value, items)


def _describe_objects(concept: DrawnConcept, drawn: DrawnScene) -> str:
    if concept.category == "style":
        return f"the style is {drawn.style}" if drawn.style else "it is a plain drawing"
    objects = [f"{obj.describe()} at {obj.box}" for obj in drawn.scene.objects if obj.label in concept.items]
    return ", ".join(objects) or f"no {' and no '.join(concept.items)}"


def _world_nouns() -> Iterator[WorldNoun]:
    for thing in (*pool_objects(), *reference_objects()):
        singular, plural, also = noun_forms(thing.name)
        yield WorldNoun(thing.name, singular, plural, (*also, *thing.names, *map(plural_of, thing.names)))


def _world_phrases() -> Iterator[tuple[str, Meaning]]:
    pools = load_pools(profile="official-code")
    for item in drawn_catalog().classes:
        singular, plural, _ = noun_forms(item)
        yield from ((text.replace("-", " "), ("class", item)) for text in (*singular, *plural))
    for category in ("color", "shape", "texture", "style"):
        kind = "material" if category == "texture" else category
        yield from ((value, (kind, value)) for value in pools[category].values)


# Pass rates fall with k as those of published models do; prompts have few facts.
WORLD = DrawnWorld(MisreadRates(0.2, 0.35, 0.15, 0.6, 0.6, 0.3), _world_nouns, _world_phrases)
