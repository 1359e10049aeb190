"""Tags of odd records in published ConceptMix data, and what each means.

A chat model wrote the published prompts, bindings and questions, and nobody compared their numbers and order. So an odd
record is read all the same, and its item has a tag for all that is odd about it.
"""

from __future__ import annotations

from collections.abc import Mapping

NO_PROMPT = "no-prompt"
NO_QUESTIONS = "no-questions"
BROKEN_TEXT = "broken-text"
REPEATED_FIELD = "repeated-field"
ODD_INDEX = "odd-index"
COUNTS_DIFFER = "counts-differ-from-k"
QUESTIONS_MOVED = "questions-moved"
NOT_A_QUESTION = "line-without-question"
NO_QUESTION = "concept-without-question"
NO_CONCEPT = "question-without-concept"
UNKNOWN_CONCEPT = "unknown-concept"
DUPLICATE_PROMPT = "duplicate-prompt"
NO_BINDING = "no-binding"
BINDING_CHANGED = "binding-changed"

CONCEPT_TAGS: Mapping[str, str] = {
    NO_PROMPT: "there is no prompt, so no image can be asked for: unscored",
    NO_QUESTIONS: "no questions were published: unscored",
    BROKEN_TEXT: "characters or values that are no text: replaced by U+FFFD, or left out",
    REPEATED_FIELD: "a field that is there twice: the last one counts",
    ODD_INDEX: "no index of its own: the id has an x and the place in the file, and there is no binding",
    COUNTS_DIFFER: "not k + 1 categories, concepts and questions: all questions are asked, and the level is k",
    QUESTIONS_MOVED: "a question stands in another place than its concept: paired by content",
    NOT_A_QUESTION: "a line that is no question about the image: left out",
    NO_QUESTION: "a concept that no question asks for: listed, and images are judged without it",
    NO_CONCEPT: "a question for none of the concepts: asked like the others, as the published code does",
    UNKNOWN_CONCEPT: "a concept without a name, or of no known category: its question is asked",
    DUPLICATE_PROMPT: "another item has the same prompt: images are told apart by the index in their names",
    NO_BINDING: "the file of bindings has no record for it, or two: read without one",
    BINDING_CHANGED: "the binding does not have the concepts of the item: read without it",
}
"""What each tag means, and what is made of such a record."""
