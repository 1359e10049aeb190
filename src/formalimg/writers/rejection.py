"""Why an answer does not become an item."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, get_args

Reason: TypeAlias = Literal[
    "unanswered",  # no answer came from the writer or the checker: asked again, costs no attempt
    "refused",  # the writer declined
    "unreadable",  # the writer's answer has not the wanted form
    "unfit words",  # empty, endless, or with characters that no prompt has
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
    "nothing demanded",  # holds in a picture of something else, as a tautology does
    "contradiction",  # the solver proved that no scene satisfies it
    "too tight",  # only scenes on a knife's edge satisfy it
    "undecided",  # the solver came to no end
    "implausible",  # the ontology knows that no picture would show it
    "words say otherwise",  # our own reader understands the words, and they mean something else
    "check refused",
    "check unreadable",
    "check: implausible",
    "check: not aligned",
    "duplicate formula",
    "duplicate words",
    "near duplicate",
]

REASONS: tuple[Reason, ...] = get_args(Reason)
"""All reasons, in the order in which they are looked for."""


class Rejection(NamedTuple):
    """A reason, and what exactly was wrong, in one line."""

    reason: Reason
    detail: str
