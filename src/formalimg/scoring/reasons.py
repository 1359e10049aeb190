"""Reasons in English: which question has which answer, and which part of a formula does not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formalimg.judges import Part, Unscored, Verdict
from formalimg.logic import And, Atom, Formula, FormulaError, Not, Or, Value, Variable, parse
from formalimg.suites import GraphQuestion, QuestionSpec, lexicon

_NOT_ASKED = "not asked"


def failure_reason(verdict: Verdict | Unscored, spec: QuestionSpec) -> str:
    """Return what an image does not show, as one line; empty if it shows everything.

    `no: Is the cup red?` is a question with the wrong answer; `not: the cup is to the left of the fork` a part of a
    formula that does not hold.
    """
    if isinstance(verdict, Unscored):
        return f"unscored, {verdict.reason}: {verdict.detail}" if verdict.detail else f"unscored, {verdict.reason}"
    if verdict.passed:
        return ""
    if "rule" in verdict.evidence:  # no judge looked at it, as at a blank image
        return f"failed by rule: {verdict.evidence['rule']}"
    if spec.formula is not None:
        failed = [part.name for part in verdict.parts if part.score < 1]
        said = [_english(name, spec.vocabulary, [part.name for part in verdict.parts]) for name in failed]
        return "; ".join(f"not: {text}" for text in dict.fromkeys(said))
    return "; ".join(_answer(part, question) for part, question in _failed(verdict.parts, spec.questions))


def _failed(parts: Sequence[Part], questions: Sequence[GraphQuestion]) -> list[tuple[Part, GraphQuestion | None]]:
    """Return the parts that failed, with their questions; a judge of the user's own may have other parts."""
    asked: Sequence[GraphQuestion | None] = questions if len(parts) == len(questions) else [None] * len(parts)
    return [(part, question) for part, question in zip(parts, asked, strict=True) if part.score < 0.5]


def _answer(part: Part, question: GraphQuestion | None) -> str:
    if part.reason.startswith(_NOT_ASKED):
        return f"{_NOT_ASKED}: {part.name}"
    return f"{'yes' if question is not None and question.expected == 'no' else 'no'}: {part.name}"


def _english(clause: str, vocabulary: str, clauses: Sequence[str]) -> str:
    """Return a clause in English; as it is where there are no words for it."""
    try:
        nouns = _nouns([parse(text) for text in clauses], vocabulary)
        return _statement(parse(clause), vocabulary, nouns)
    except (FormulaError, LookupError):
        return clause


def _nouns(clauses: Sequence[Formula], vocabulary: str) -> Mapping[str, str]:
    """Return the noun of each variable, by the clauses that say what it is."""
    words = lexicon(vocabulary)
    return {
        variable.name: words.nouns[value.text].text
        for clause in clauses
        for part in (clause.parts if isinstance(clause, And) else (clause,))
        if isinstance(part, Atom) and part.predicate == "Is"
        for variable, value in [part.arguments]
        if isinstance(variable, Variable) and isinstance(value, Value)
    }


def _statement(formula: Formula, vocabulary: str, nouns: Mapping[str, str]) -> str:
    """Return a literal, or a disjunction of some, in English.

    Raises:
        LookupError: if there are no words for it.
    """
    words = lexicon(vocabulary)
    match formula:
        case Or(parts):
            return " or ".join(_statement(part, vocabulary, nouns) for part in parts)
        case Not(body):
            return f"it is not so that {_statement(body, vocabulary, nouns)}"
        case Atom("Is", (Variable(), Value(word))):
            noun = words.nouns[word]
            return f"there are {noun.text}" if noun.many else f"there is {_article(noun.text)} {noun.text}"
        case Atom("IsStyle", (Value(style),)):
            return f"the style is {style}"
        case Atom(predicate, (Variable(name), Value(word))):
            return f"the {nouns[name]} is {words.adjectives[predicate, word].after}"
        case Atom(predicate, (Variable(name), Variable(other))):
            return f"the {nouns[name]} is {words.relations[predicate].phrases[0]} the {nouns[other]}"
        case Atom(predicate, (Variable(name),)):
            return f"the {nouns[name]} is {words.places[predicate][0]}"
    raise LookupError(str(formula))


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"
