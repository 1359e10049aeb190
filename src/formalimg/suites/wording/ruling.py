"""Rules in words: a sentence about every thing of a kind, whose scope is the sentence."""

from __future__ import annotations

from formalimg.suites.wording.clauses import Statement, needed
from formalimg.suites.wording.description import Claim, Part, Rule, is_relation
from formalimg.suites.wording.phrasing import Phrase, Phrasing
from formalimg.suites.wording.planning import Planner, in_order
from formalimg.suites.wording.speaking import predicate, spoken


def spoken_rule(rule: Rule, claims: list[Claim], planner: Planner, phrasing: Phrasing) -> str:
    """A rule in words, without capital and full stop; `claims` are those that no noun phrase says."""
    thing, chance = rule.variable, phrasing.chance
    turned = of_another(rule, claims)
    if turned:
        new, part = turned.subject not in phrasing.known, turned.parts[0]
        subject, who = phrasing.thing(turned.subject), phrasing.names[turned.subject].noun.who
        phrase = phrasing.phrase_for(part.predicate)
        if new:
            return f"there is {subject.text} {who} is {phrase} {phrasing.every(thing)}"
        return f"{subject.text} {'are' if subject.many else 'is'} {phrase} {phrasing.every(thing)}"
    about = [claim for claim in claims if claim.subject == thing]
    by_it = [claim for claim in claims if _is_by(claim, thing, planner, phrasing)]
    related = [other for claim in claims for part in claim.parts for other in _pair(claim.subject, part, thing)]
    by_it = [claim for claim in by_it if related.count(claim.subject) == 1][:2]
    main = Statement([thing], in_order([claim.parts for claim in about]), by_it)
    unclear = any(other not in phrasing.known for other in needed(main, planner.with_clause))
    # "Every cup is not red" could mean that not every cup is.
    denied = bool(about) and not any(part.positive for part in main.sayings[0])
    if unclear or denied or (not about and (not by_it or chance.likely(40))):
        return _for_every(rule, claims, planner, phrasing)
    rest = [claim for claim in claims if claim not in about and claim not in by_it]
    bare = not (by_it or rest or rule.body.things or rule.body.disputes or phrasing.names[thing].clause)
    if bare and all(other in phrasing.known for other in _objects(main)) and chance.likely(30):
        return f"{phrasing.all_of(thing)} {predicate(Phrase('', many=True), main, phrasing)}"
    head = f"{phrasing.every(thing)} {predicate(Phrase(''), main, phrasing)}"
    return _joined([head, *_clauses(rule, rest, planner, phrasing)])


def _for_every(rule: Rule, claims: list[Claim], planner: Planner, phrasing: Phrasing) -> str:
    every = phrasing.every(rule.variable)
    first, *others = _clauses(rule, claims, planner, phrasing, first=True)
    comma = "" if first.startswith("there ") and not phrasing.names[rule.variable].clause else ","
    return _joined([f"for {every}{comma} {first}", *others])


def _clauses(
    rule: Rule, claims: list[Claim], planner: Planner, phrasing: Phrasing, *, first: bool = False
) -> list[str]:
    clauses = planner.plan(claims, rule.body.disputes, rule.body.things, phrasing.known)
    said: list[str] = []
    for clause in clauses:
        said.append(spoken(clause, phrasing, rule=rule.variable, first=first and not said))
    return said


def _joined(clauses: list[str]) -> str:
    """Two clauses are joined by "and", more are set apart by semicolons."""
    if len(clauses) < 3:
        return ", and ".join(clauses)
    return "; ".join([*clauses[:-1], f"and {clauses[-1]}"])


def of_another(rule: Rule, claims: list[Claim]) -> Claim | None:
    """The one claim of a rule, if it is that a thing from outside stands in a relation to every thing of the rule."""
    if rule.body.things or rule.body.disputes or len(claims) != 1:
        return None
    part = claims[0].single
    return claims[0] if part and is_relation(part) and part.rest[0] == rule.variable else None


def _is_by(claim: Claim, thing: str, planner: Planner, phrasing: Phrasing) -> bool:
    """Does the claim say that something is by the thing, so that the thing can be said to have it there?"""
    part: Part | None = claim.single
    if part is None or not is_relation(part) or part.rest[0] != thing:
        return False
    clear = claim.subject in phrasing.known or claim.subject not in planner.with_clause
    return clear and planner.lexicon.relations[part.predicate].near is not None


def _pair(subject: str, part: Part, thing: str) -> list[str]:
    """The thing that a part relates to the given one."""
    things = {subject, *part.rest} if is_relation(part) else set()
    return sorted(things - {thing}) if thing in things else []


def _objects(statement: Statement) -> list[str]:
    return [part.rest[0] for saying in statement.sayings for part in saying if is_relation(part)]
