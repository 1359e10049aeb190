"""Express a single clause of a formula as an English sentence or question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from formalimg.language.lexicon import WordingError, lexicon
from formalimg.language.realization import realize
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Count, Exists, Forall, Formula, Not, Or, atoms, subformulas
from formalimg.logic.variables import free_variables


def clause_in_words(clause: str, formula: str, suite: str) -> str:
    """Express a clause of a formula in English, such as "A cup is to the left of a fork." for `(LeftOf ?a ?b)`.

    The classes and quantifiers of the variables are taken from the formula.
    """
    whole, part = parse(formula), parse(clause)
    literals = part.parts if isinstance(part, Or) else (part,)
    conditions = [literal.body for literal in literals if isinstance(literal, Not) and not _is_count(literal)]
    claims: list[Formula] = [literal for literal in literals if not isinstance(literal, Not) or _is_count(literal)]
    if not claims:
        conditions, claims = [], list(literals)
    if len(claims) > 1:
        raise WordingError(f"no words found for the clause {clause}: it offers a choice")
    text = realize(parse(_closed(whole, conditions, claims[0])), suite)
    for opening in lexicon(suite).openings.values():
        text = text.removeprefix(opening).lstrip()
    return text


def clause_question(clause: str, formula: str, suite: str) -> str:
    """Express a clause as a yes/no question, such as "Are there exactly three red cups?".

    The arguments and errors are the same as for `clause_in_words`.
    """
    said = clause_in_words(clause, formula, suite).removesuffix(".")
    words = said.split(" ", 2)
    if words[0] == "There" and words[1] in ("is", "are") and ". " not in said:
        return f"{words[1].capitalize()} there {words[2]}?"
    return f"Is this true of the image: {said[0].lower()}{said[1:]}?"


def _closed(whole: Formula, conditions: Sequence[Formula], claim: Formula) -> str:
    """Convert a claim to a closed formula, using the quantifiers and classes of the whole formula."""
    quantifiers = dict(_quantifiers(whole))
    order = [*quantifiers]
    found = dict.fromkeys(name for part in (claim, *conditions) for name in _names(part))
    # The witness that a strict `forall` asks for has a name of its own.
    used = [*(name for name in found if name not in quantifiers), *(name for name in order if name in found)]
    universal = [name for name in used if quantifiers.get(name)]
    classes = {name: text for name in used if (text := _class_atom(whole, name)) != str(claim) and text}
    if len(universal) > 1 or bool(universal) != bool(conditions):
        raise WordingError(f"no words found for the clause {claim}: it is not about one kind of object")
    if not universal:
        return _exists(used, classes, str(claim))
    place = used.index(universal[0])
    before, after = used[:place], used[place + 1 :]
    condition = str(conditions[0]) if len(conditions) == 1 else f"(and {' '.join(map(str, conditions))})"
    rule = f"(forall ?{universal[0]} (implies {condition} {_exists(after, classes, str(claim))}))"
    return _exists(before, classes, rule)


def _exists(names: Sequence[str], classes: dict[str, str], body: str) -> str:
    """Wrap the text of a formula in an `exists` for each name, adding the class of each."""
    known = [classes[name] for name in names if name in classes]
    text = f"(and {' '.join([*known, body])})" if known else body
    for name in reversed(names):
        text = f"(exists ?{name} {text})"
    return text


def _quantifiers(whole: Formula) -> Iterator[tuple[str, bool]]:
    """Yield each quantified variable in order, and whether it is bound by a `forall`."""
    for part in subformulas(whole):
        if isinstance(part, Exists | Forall):
            yield part.variable.name, isinstance(part, Forall)


def _names(part: Formula) -> list[str]:
    free = free_variables(part)
    return [name for atom in atoms(part) for name in atom.variables if name in free]


def _is_count(literal: Formula) -> bool:
    return isinstance(literal.body if isinstance(literal, Not) else literal, Count)


def _class_atom(whole: Formula, name: str) -> str:
    """Return the text of the atom that states the class of a variable, or an empty string if there is none."""
    return next((str(atom) for atom in atoms(whole) if atom.predicate == "Is" and atom.variables == (name,)), "")
