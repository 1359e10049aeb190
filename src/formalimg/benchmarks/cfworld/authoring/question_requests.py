"""Requests for questions about an image: by our prompts, or by the authors' (CF-World, appendix C.2 and section 5.1).

The authors' texts are filled with the prompt and its assessment points, and for groups with a section on whose laws
hold, which is a text of its own. Their answer is a bare list, with the published names of the dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import ValidationError

from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import Rejection
from formalimg.benchmarks.cfworld.authoring.answers import QuestionAnswer, RuleQuestionAnswer, ScoresAnswer
from formalimg.benchmarks.cfworld.authoring.templates import CounterfactualTemplates
from formalimg.benchmarks.cfworld.published_groups import QUESTION_TYPES
from formalimg.judges.published_protocol import parse_json
from formalimg.models.base import Message
from formalimg.models.text_answer import TextAnswer


class ListedQuestions(TextAnswer):
    """The questions about one image, as the authors' text asks for them; weights are not for the model to say."""

    questions: list[QuestionAnswer]

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the list from the first bracket to the last."""
        found = parse_json(text[text.find("[") : text.rfind("]") + 1])
        if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
            raise ValueError("it is not a list of questions")
        try:
            return cls(
                questions=[
                    QuestionAnswer(
                        dimension=QUESTION_TYPES.get(entry.get("question_type")),  # type: ignore[arg-type]  # validated
                        question=entry.get("question"),
                        criteria=entry.get("evaluation_criteria"),
                    )
                    for entry in found
                ]
            )
        except (ValidationError, TypeError) as error:
            raise ValueError("a question has no type, words or criteria") from error


async def ask_for_questions(
    texts: CounterfactualTemplates, talk: Conversation, prompt: str, rule: str, shows: str, level: Literal[1, 2]
) -> Sequence[QuestionAnswer] | Rejection:
    """Return the questions about an image of a group."""
    if texts.is_published("write-scores"):
        values = {"input_prompt": prompt, "assessment_points": shows, "section": texts.dimension(level)}
        return await _ask_as_published(texts, talk, "write-scores", values)
    answer = await talk.ask("writer", texts.asking_for_questions(prompt, rule, shows), ScoresAnswer)
    return answer if isinstance(answer, Rejection) else answer.questions


async def ask_for_rule_question(
    texts: CounterfactualTemplates, talk: Conversation, prompt: str, shows: str
) -> Sequence[QuestionAnswer] | Rejection:
    """Return the one question about a drawing in which a rule decides."""
    if texts.is_published("write-rule-question"):
        values = {"input_prompt": prompt, "assessment_points": shows}
        return await _ask_as_published(texts, talk, "write-rule-question", values)
    answer = await talk.ask("writer", texts.asking_for_rule_question(prompt, shows), RuleQuestionAnswer)
    if isinstance(answer, Rejection):
        return answer
    return [QuestionAnswer(dimension="assessment", question=answer.question, criteria=answer.criteria)]


async def _ask_as_published(
    texts: CounterfactualTemplates, talk: Conversation, name: str, values: dict[str, str]
) -> Sequence[QuestionAnswer] | Rejection:
    system, user = texts.messages(name, values)
    before = (Message("system", (system,)),) if system else ()
    answer = await talk.ask("writer", user, ListedQuestions, before=before)
    return answer if isinstance(answer, Rejection) else answer.questions
