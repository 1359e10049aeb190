"""Whether what a writer gave is a group, and what the checker has against it."""

from __future__ import annotations

from formalimg._util.text import truncate
from formalimg.authoring.counterfactuals.answers import CriteriaAnswer, GroupAnswer
from formalimg.authoring.counterfactuals.choices import Law
from formalimg.authoring.counterfactuals.fielding import fit_fields, in_one_line
from formalimg.authoring.counterfactuals.roots import likeness
from formalimg.authoring.rejection import Reason, Rejection
from formalimg.suites import Group, check_group, check_groups

_TEXTS = ("changed", "factual", "implicit", "outcome", "described", "shows_factual", "shows")
_WORTH_A_LOOK = 0.3
"""Groups with less in common than this are not compared word by word: what is nearly the same has far more."""


def group_of(answer: GroupAnswer, law: Law, name: str) -> Group | Rejection:
    """The group that an answer gives, if nothing can be said against its words."""
    texts = fit_fields({field: getattr(answer, field) for field in _TEXTS})
    if isinstance(texts, Rejection):
        return texts
    discipline = law.discipline or answer.discipline
    branch = law.branch if law.discipline else (answer.branch if answer.discipline == "physics" else "")
    group = Group(name, discipline, branch, law.law, **texts)
    problems = sorted(check_group(group), key=lambda problem: problem.reason != "unsafe")
    if problems:
        return Rejection(problems[0].reason, truncate("; ".join(problem.detail for problem in problems), 250, 50))
    if _plain(group.changed) == _plain(group.law):
        return Rejection("law not changed", truncate(group.changed, 250, 50))
    return group


def nearly_the_same(one: Group, other: Group) -> bool:
    """Would `check_groups` call one of them a duplicate of the other, whatever their ids?"""
    if min(likeness(one.implicit, other.implicit), likeness(one.outcome, other.outcome)) < _WORTH_A_LOOK:
        return False
    return any(problem.reason == "duplicate" for problem in check_groups([one, other]))


def objection(answer: CriteriaAnswer) -> Rejection | None:
    """Why the checker would not use a group; None if it would."""
    found: tuple[tuple[bool, Reason], ...] = (
        (answer.safe, "check: unsafe"),
        (answer.valid, "check: invalid"),
        (answer.unambiguous, "check: ambiguous"),
        (answer.deductive, "check: not deductive"),
    )
    return next((Rejection(reason, in_one_line(answer.why)) for fine, reason in found if not fine), None)


def _plain(sentence: str) -> list[str]:
    return "".join(letter if letter.isalnum() else " " for letter in sentence.lower()).split()
