"""Why an answer does not become an item."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, get_args

Reason: TypeAlias = Literal[
    "unanswered",  # no answer came from the writer or the checker: asked again, costs no attempt
    "refused",  # the writer declined
    "unreadable",  # the writer's answer has not the wanted form
    "unfit words",  # empty, endless, or with characters that no prompt has
    # FormalImg
    "no formula",  # the formula cannot be parsed
    "unbound variable",
    "unused variable",
    "unknown predicate",
    "wrong number of arguments",
    "wrong kind of argument",
    "unknown word",
    "too large",
    "wrong level",  # another K than asked for
    "several components",
    "not on offer",  # a class, word, predicate, style or connective that the assignment does not have
    "class not said",  # a variable of which nobody says what it is
    "nothing demanded",  # holds in an image of something else, as a tautology does
    "contradiction",  # the solver proved that no scene satisfies it
    "too tight",  # only scenes on a knife's edge satisfy it
    "undecided",  # the solver came to no end
    "implausible",  # the ontology knows that no image would show it
    "words say otherwise",  # our own reader understands the words, and they mean something else
    # ConceptMix
    "binding unfit",  # no binding: wrong ids, strange fields, no words
    "binding left open",  # a relation of which it is still not said what it is between
    "binding changed",  # what was given is not there any more as it was, or something needless was added
    "conflict",  # the concepts, as bound, cannot be in one image
    "called impossible",  # the writer says that it cannot be done
    "concept not said",
    "something added",  # the words speak of a concept that nobody asked for
    # CF-World: what `check_groups` finds, and then what is found of outcomes without names and of pairs
    "form",
    "unsafe",
    "law not changed",  # the changed law is the law
    "not ordinary",
    "another scene",
    "law not told",
    "gives it away",
    "outcome not told",
    "not visual",
    "not about the outcome",
    "same in both worlds",
    "not described",
    "outcome not quoted",  # what was to be described is not in the prompt as the writer has it
    "more than the outcome",  # the law or the scene was said again, or described as well
    "thing not said",  # a prompt of a pair without one of its two objects, or with the other's partner
    "another frame",  # the two prompts of a pair differ in more than the partner
    # the check, of all
    "check refused",
    "check unreadable",
    "check: implausible",
    "check: not aligned",
    "check: invalid",  # a caption that the checker would not use; an outcome that does not follow from its law
    "check: unsafe",
    "check: ambiguous",  # one could not tell from an image
    "check: not deductive",  # the outcome is told, or nothing has to be deduced
    "check: another outcome",  # described without names, it is something else
    "check: named",  # it is named all the same
    "check: not rare",
    "check: not common",
    # the questions of ConceptMix and CF-World
    "wrong number of questions",
    "no question",  # what is not asked, or cannot be printed
    "question out of order",  # a question that does not ask for the concept in its place
    "no criteria",  # which do not say what 1 and 0 are for
    "question beside the point",  # the question that decides is not about what decides
    # said before
    "duplicate",
    "duplicate formula",
    "duplicate concepts",
    "duplicate words",
    "near duplicate",
]

REASONS: tuple[Reason, ...] = get_args(Reason)
"""All reasons, for each suite in the order in which they are looked for, but for unfit words."""


class Rejection(NamedTuple):
    """A reason, and what exactly was wrong, in one line."""

    reason: Reason
    detail: str
