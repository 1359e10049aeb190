"""What a text reader says of questions that a chat model answers: stored beside its answers, without effect on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from formalimg.benchmarks.questions.spec import GraphQuestion
from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_judge import total_cost
from formalimg.judges.text_judge import TextJudge, describe_match
from formalimg.language.quoted_text import find_wanted_texts
from formalimg.types import Unscored, Verdict


async def put_text_beside(
    verdict: Verdict, questions: Sequence[GraphQuestion], judge: TextJudge, image: LoadedImage
) -> Verdict:
    """Return a verdict whose reasons also say what a reader reads, where a question asks for text and nothing else.

    The evidence `by_reader` has the name of the reader, what it read, and for each question whether by it the image
    shows the text; None where the question asks for more.
    """
    wanted = [find_wanted_texts(one.question) for one in questions]
    if not any(wanted):
        return verdict
    reading = await judge.reader.read(image)
    if isinstance(reading, Unscored):
        unread = {"reader": judge.name, "unscored": reading.detail or reading.reason}
        evidence = {**verdict.evidence, "by_reader": unread}
        return replace(verdict, evidence=evidence, cost=total_cost((verdict.cost, reading.cost)))
    found = judge.match([text for texts in wanted for text in texts], reading)
    matches = iter(found.matches)
    parts, answers = [], []
    for part, texts in zip(verdict.parts, wanted, strict=True):
        own = [next(matches) for _ in texts]
        answers.append(all(map(judge.shows, own)) if own else None)
        said = "; ".join([part.reason, *(f"{judge.name} {describe_match(match, found)}" for match in own)])
        parts.append(replace(part, reason=said) if own else part)
    by_reader = {**judge.evidence(found, reading), "answers": answers}
    evidence = {**verdict.evidence, "by_reader": by_reader}
    return replace(verdict, parts=tuple(parts), evidence=evidence, cost=total_cost((verdict.cost, reading.cost)))
