"""Front."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict

from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage, Part, Unscored, Verdict
from formalimg.judges.chat_images import question_about, shown
from formalimg.judges.chat_judge import NoAnswer, Understood, ask_until_understood
from formalimg.logic import Clause, FormulaError, PrenexForm, atoms, to_prenex
from formalimg.models import ChatModel, Setting
from formalimg.prompts import load_prompts
from formalimg.suites import FormulaSpec, Item


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


RULES = 1
"""The version of the rules from answers to verdicts: a new number wherever a verdict may come out differently."""

Answers: TypeAlias = Literal["each clause", "published"]
ANSWERS: tuple[Answers, ...] = get_args(Answers)
"""The forms in which a chat model can be made to answer."""

Decider: TypeAlias = Literal["verdict", "clauses"]
DECIDERS: tuple[Decider, ...] = get_args(Decider)
"""What can decide whether an image passes."""


class ClauseJudge:
    """Asks a chat model that can see whether an image fulfils a formula, with a verdict on each of its clauses.

    An answer counts only if it speaks of every clause, each copied letter by letter. If it does not, it is asked for
    once more, and then the image is `Unscored`. Evidence, all plain data:

    - `explanation`: what the model says it saw;
    - `fulfilled`: its verdict on the whole;
    - `contradiction`: where that does not go together with its clauses, in words; only if it does not;
    - `unknown_clauses`: clauses that it judged unasked; only if there are any;
    - `answers`: all answers, word for word;
    - `served`: what was really used, as far as the provider says.
    """

    def __init__(
        self,
        chat: ChatModel,
        *,
        decide: Decider = "verdict",
        answers: Answers = "each clause",
        prompts: Path | None = None,
    ) -> None:
        """A judge that asks this chat model.

        Args:
            chat: who looks.
            decide: whether an image passes by the model's overall verdict, as published, or if all clauses hold.
            answers: the form of the answer: each clause with true or false, or the published one, which lists the
                clauses that hold.
            prompts: a folder with the user's own texts in place of ours.

        Raises:
            FormalimgError: if an option is wrong.
        """
        if decide not in DECIDERS:
            raise FormalimgError(f"cannot decide by {decide!r}: known are {', '.join(DECIDERS)}")
        if answers not in ANSWERS:
            raise FormalimgError(f"unknown answers {answers!r}: known are {', '.join(ANSWERS)}")
        self._chat = chat
        self._decide = decide
        self._answers = answers
        texts = load_prompts(Path(__file__).parent / "prompts" / "clause_judge", prompts)
        self._prompt = texts["clause-judge" if answers == "each clause" else "clause-judge-published"]
        self._again = texts["clause-judge-again"]

    @property
    def name(self) -> str:
        """The name of the chat model."""
        return self._chat.name

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The settings of the chat model, how it is asked, what decides, and the version of the rules."""
        return {
            **self._chat.settings,
            "decide": self._decide,
            "answers": self._answers,
            "prompt": str(self._prompt),
            "prompt_again": str(self._again),
            "judging_rules": RULES,
        }

    @property
    def concurrency(self) -> int:
        """As many images as the chat model takes questions."""
        return self._chat.concurrency

    def questions(self, item: Item[object]) -> int:
        """How many questions are asked about an image of this item."""
        return 1

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Whether the image shows what the formula of the item asks for."""
        spec = item.spec
        if not isinstance(spec, FormulaSpec):
            return Unscored("not understood", f"item {item.id} of {item.suite} has no formula to judge by")
        try:
            lifted = to_prenex(spec.formula)
        except FormulaError as error:
            if any(problem.kind != "size" for problem in error.problems):
                raise
            return Unscored("not understood", error.problems[0].message)
        view = await asyncio.to_thread(shown, image)
        clauses = list(dict.fromkeys(clause.text for clause in lifted.clauses))
        words = {"words": item.prompt, "formula": lifted.text, "clauses": "\n".join(clauses)}
        question = question_about(view.attachment, self._prompt, words, "last")
        asked = await ask_until_understood(
            self._chat, question, self._answer_type, lambda answer: self._problem(answer, clauses), self._again
        )
        if isinstance(asked, NoAnswer):
            return Unscored(asked.reason, asked.detail, {"answers": list(asked.raw)}, asked.cost)
        return self._verdict(lifted, findings_of(asked.value, clauses), asked)

    @property
    def _answer_type(self) -> type[ClauseAnswer | PublishedAnswer]:
        return ClauseAnswer if self._answers == "each clause" else PublishedAnswer

    def _problem(self, answer: ClauseAnswer | PublishedAnswer, clauses: Sequence[str]) -> str | None:
        # In the published form a clause that was reworded is missing without a trace; that must not decide anything.
        allow = self._decide == "verdict" or self._answers == "each clause"
        return problem_with(findings_of(answer, clauses), clauses, allow_unknown=allow)

    def _verdict(
        self, lifted: PrenexForm, findings: Findings, asked: Understood[ClauseAnswer | PublishedAnswer]
    ) -> Verdict:
        parts = tuple(_part(clause, findings) for clause in lifted.clauses)
        by_clauses = all(findings.holds.values())
        told: dict[str, object] = {
            "explanation": " ".join(findings.observations),
            "fulfilled": findings.fulfilled,
            "contradiction": findings.contradiction(),
            "unknown_clauses": list(findings.unknown),
            "answers": list(asked.raw),
            "served": dict(asked.served),
        }
        for name in ("explanation", "contradiction", "unknown_clauses"):
            if not told[name]:
                del told[name]
        return Verdict(findings.fulfilled if self._decide == "verdict" else by_clauses, parts, told, asked.cost)


def _part(clause: Clause, findings: Findings) -> Part:
    about = tuple(sorted({atom.predicate for atom in atoms(clause.formula)}))
    reason = findings.because.get(clause.text, "")
    return Part(clause.text, clause.kind, float(findings.holds[clause.text]), about=about, reason=reason)
