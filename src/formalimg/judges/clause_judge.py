"""The clause judge, which asks a chat model whether an image satisfies each clause of a formula.

Clauses in an answer must match exactly, except for whitespace.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict

from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage, find_formula
from formalimg.judges.chat_judge import PROMPTS, ChatJudge, NoValidAnswer, check_option
from formalimg.logic.errors import FormulaError
from formalimg.logic.prenex import to_prenex
from formalimg.logic.syntax import atoms
from formalimg.types import ChatModel, Item, Part, Unscored, Verdict

ClauseAnswerForm: TypeAlias = Literal["each clause", "published"]
ANSWERS: tuple[ClauseAnswerForm, ...] = get_args(ClauseAnswerForm)  # The forms of answer that can be asked for
Decider: TypeAlias = Literal["verdict", "clauses"]
DECIDERS: tuple[Decider, ...] = get_args(Decider)  # What can decide whether an image passes

# Answer types. Models are sent their names, fields and docstrings as a JSON schema. They are strict: a word in place of
# true or false is not an answer.


class JudgedClause(BaseModel):
    """One clause: the evidence first, then whether it holds."""

    model_config = ConfigDict(strict=True)

    clause: str
    because: str
    holds: bool


class ClauseAnswer(BaseModel):
    """What is seen, then clause by clause, then the verdict."""

    model_config = ConfigDict(strict=True)

    observations: list[str]
    clauses: list[JudgedClause]
    fulfilled: bool


class PublishedAnswer(BaseModel):
    """The verdict, then the clauses that hold."""

    model_config = ConfigDict(strict=True)

    satisfies_constraint: bool
    satisfied_clauses: list[str]


class ClauseJudge(ChatJudge):
    """A judge that asks a chat model whether an image satisfies each clause of a formula.

    An answer is valid only if it covers every clause, each copied letter by letter. After a second invalid answer the
    image is `Unscored`. Evidence, all plain data:

    - `explanation`: what the model says it saw;
    - `fulfilled`: its verdict on the whole;
    - `contradiction`: where that contradicts its clauses; only if it does;
    - `unknown_clauses`: clauses that it judged unasked; only if there are any;
    - `answers`: all answers, word for word;
    - `served`: what was actually used, as far as the provider says.
    """

    prompt_folder = PROMPTS / "clause_judge"
    retry_prompt = "clause-judge-again"
    image_position = "last"

    def __init__(
        self,
        chat: ChatModel,
        *,
        decide: Decider = "verdict",
        answers: ClauseAnswerForm = "each clause",
        prompts: Path | None = None,
    ) -> None:
        if decide not in DECIDERS:
            raise FormalimgError(f"cannot decide by {decide!r}: choose from {', '.join(DECIDERS)}")
        check_option("answers", answers, ANSWERS)
        is_published = answers == "published"
        prompt = "clause-judge-published" if is_published else "clause-judge"
        super().__init__(chat, {"decide": decide, "answers": answers}, {"prompt": prompt}, prompts)
        self._decide = decide
        self._answer_type: type[ClauseAnswer | PublishedAnswer] = PublishedAnswer if is_published else ClauseAnswer
        # In the published form a reworded clause goes missing without a trace; it must not decide anything.
        self._allow_unknown = decide == "verdict" or not is_published

    def questions(self, item: Item[object]) -> int:
        return 0 if isinstance(find_formula(item), Unscored) else 1

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        spec = find_formula(item)
        if isinstance(spec, Unscored):
            return spec
        try:
            prenex = to_prenex(spec.formula)
        except FormulaError as error:
            if any(problem.kind != "size" for problem in error.problems):
                raise
            return Unscored("not understood", error.problems[0].message)
        clauses = list(dict.fromkeys(clause.text for clause in prenex.clauses))
        answer = await self._ask(
            await self._encode(image),
            {"words": item.prompt, "formula": prenex.text, "clauses": "\n".join(clauses)},
            self._answer_type,
            lambda answer: find_problem(read_findings(answer, clauses), clauses, allow_unknown=self._allow_unknown),
        )
        if isinstance(answer, NoValidAnswer):
            return Unscored(answer.reason, answer.detail, {"answers": list(answer.raw)}, answer.cost)
        findings = read_findings(answer.value, clauses)
        passed = findings.fulfilled if self._decide == "verdict" else all(findings.holds.values())
        evidence: dict[str, object] = {
            "explanation": " ".join(findings.observations),
            "fulfilled": findings.fulfilled,
            "contradiction": findings.contradiction(),
            "unknown_clauses": list(findings.unknown),
            "answers": list(answer.raw),
            "served": dict(answer.served),
        }
        for name in ("explanation", "contradiction", "unknown_clauses"):
            if not evidence[name]:
                del evidence[name]
        parts = []
        for clause in prenex.clauses:
            predicates = tuple(sorted({atom.predicate for atom in atoms(clause.formula)}))
            reason = findings.because.get(clause.text, "")
            parts.append(
                Part(clause.text, clause.kind, float(findings.holds[clause.text]), about=predicates, reason=reason)
            )
        return Verdict(passed, tuple(parts), evidence, answer.cost)


@dataclass
class ClauseFindings:
    """The clause verdicts extracted from an answer."""

    fulfilled: bool  # its verdict on the image as a whole
    # whether each clause holds, by the text of the clause; clauses that it left out are missing
    holds: dict[str, bool] = field(default_factory=dict)
    because: dict[str, str] = field(default_factory=dict)  # its reasons, by the text of the clause
    observations: Sequence[str] = ()  # what it saw
    unknown: list[str] = field(default_factory=list)  # clauses that it judged without being asked, as it wrote them
    torn: list[str] = field(default_factory=list)  # clauses of which it says both that they hold and that they do not

    def contradiction(self) -> str | None:
        """Describe how the overall verdict contradicts the clauses, or return None if they agree."""
        failing = [clause for clause, holds in self.holds.items() if not holds]
        if self.fulfilled and failing:
            return f"the verdict is true, but by the clauses not all of it holds: {_list_clauses(failing)}"
        if not self.fulfilled and not failing:
            return "the verdict is false, but every clause is said to hold"
        return None


def read_findings(answer: ClauseAnswer | PublishedAnswer, clauses: Sequence[str]) -> ClauseFindings:
    """Extract the clause verdicts from an answer."""
    by_text = {normalize_clause(clause): clause for clause in clauses}
    if isinstance(answer, PublishedAnswer):  # it lists only clauses that hold: the others do not
        listed = {normalize_clause(text): text for text in answer.satisfied_clauses}
        findings = ClauseFindings(answer.satisfies_constraint)
        findings.holds = {clause: text in listed for text, clause in by_text.items()}
        findings.unknown = [text for normalized, text in listed.items() if normalized not in by_text]
        return findings
    findings = ClauseFindings(answer.fulfilled, observations=answer.observations)
    for judged in answer.clauses:
        clause = by_text.get(normalize_clause(judged.clause))
        if clause is None:
            findings.unknown.append(judged.clause)
        elif findings.holds.setdefault(clause, judged.holds) is not judged.holds:
            findings.torn.append(clause)
        else:
            findings.because.setdefault(clause, judged.because)
    return findings


def find_problem(findings: ClauseFindings, clauses: Sequence[str], *, allow_unknown: bool) -> str | None:
    """Return an error message for the model if the findings are invalid, else None."""
    if findings.torn:
        return f"it says both that these clauses hold and that they do not: {_list_clauses(findings.torn)}"
    strays = f"it judges clauses that were not given: {_list_clauses(findings.unknown)}" if findings.unknown else ""
    missing = [clause for clause in clauses if clause not in findings.holds]
    if missing:
        return " and ".join(filter(None, [f"it leaves out {_list_clauses(missing)}", strays]))
    return None if allow_unknown or not strays else strays


def normalize_clause(clause: str) -> str:
    """Normalize whitespace in a clause."""
    return re.sub(r"(?<=\() | (?=\))", "", " ".join(clause.split()))


def _list_clauses(clauses: Sequence[str]) -> str:
    more = f" and {len(clauses) - 3} more" if len(clauses) > 3 else ""
    return ", ".join(clause[:200] for clause in clauses[:3]) + more
