"""From an answer about clauses to what was found of each clause: matched letter by letter, or not at all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from formalimg.judges.clause_judge.answers import ClauseAnswer, PublishedAnswer


@dataclass(frozen=True)
class Findings:
    """What a judge says about the clauses of a formula.

    Attributes:
        fulfilled: its verdict on the image as a whole.
        holds: whether each clause holds, by the text of the clause; clauses that it left out are not there.
        because: its reasons, by the text of the clause.
        observations: what it saw.
        unknown: clauses that it judged although nobody asked for them, as it wrote them.
        torn: clauses of which it says both that they hold and that they do not.
    """

    fulfilled: bool
    holds: Mapping[str, bool]
    because: Mapping[str, str] = field(default_factory=dict)
    observations: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    torn: tuple[str, ...] = ()

    def contradiction(self) -> str | None:
        """Where the verdict and the clauses do not go together, in words; None if they do."""
        failing = [clause for clause, holds in self.holds.items() if not holds]
        if self.fulfilled and failing:
            return f"the verdict is true, but by the clauses not all of it holds: {_listed(failing)}"
        if not self.fulfilled and not failing:
            return "the verdict is false, but every clause is said to hold"
        return None


def findings_of(answer: ClauseAnswer | PublishedAnswer, clauses: Sequence[str]) -> Findings:
    """What an answer says of these clauses."""
    asked = {normalized(clause): clause for clause in clauses}
    if isinstance(answer, PublishedAnswer):
        return _of_published(answer, asked)
    holds: dict[str, bool] = {}
    because: dict[str, str] = {}
    unknown: list[str] = []
    torn: list[str] = []
    for judged in answer.clauses:
        clause = asked.get(normalized(judged.clause))
        if clause is None:
            unknown.append(judged.clause)
        elif holds.setdefault(clause, judged.holds) is not judged.holds:
            torn.append(clause)
        else:
            because.setdefault(clause, judged.because)
    return Findings(answer.fulfilled, holds, because, tuple(answer.observations), tuple(unknown), tuple(torn))


def _of_published(answer: PublishedAnswer, asked: Mapping[str, str]) -> Findings:
    """The published form says nothing of clauses that do not hold: what is not listed does not."""
    listed = {normalized(text): text for text in answer.satisfied_clauses}
    holds = {clause: text in listed for text, clause in asked.items()}
    unknown = tuple(text for short, text in listed.items() if short not in asked)
    return Findings(answer.satisfies_constraint, holds, unknown=unknown)


def problem_with(findings: Findings, clauses: Sequence[str], *, allow_unknown: bool) -> str | None:
    """Why findings cannot be used, in words for whoever made them; None if they can.

    Args:
        findings: what was found.
        clauses: what was asked.
        allow_unknown: whether clauses that were not asked for may stand beside the others.
    """
    if findings.torn:
        return f"it says both that these clauses hold and that they do not: {_listed(findings.torn)}"
    strays = f"it judges clauses that were not given: {_listed(findings.unknown)}" if findings.unknown else ""
    missing = [clause for clause in clauses if clause not in findings.holds]
    if missing:
        return " and ".join(filter(None, [f"it leaves out {_listed(missing)}", strays]))
    return None if allow_unknown or not strays else strays


def normalized(clause: str) -> str:
    """A clause without needless blanks: nothing else may differ between a clause and its copy."""
    return re.sub(r"(?<=\() | (?=\))", "", " ".join(clause.split()))


def _listed(clauses: Sequence[str]) -> str:
    more = f" and {len(clauses) - 3} more" if len(clauses) > 3 else ""
    return ", ".join(clause[:200] for clause in clauses[:3]) + more
