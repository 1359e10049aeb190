"""Clauses in words, without capitals and full stops."""

from __future__ import annotations

from formalimg.suites.formula.wording.description import Claim, Dispute, Part, Rule, is_relation
from formalimg.suites.formula.wording.phrases import Phrase, Phrasing, listed
from formalimg.suites.formula.wording.planning import (
    Clause,
    Group,
    Lineup,
    Listing,
    Planner,
    Statement,
    in_order,
    needed,
)


def spoken(
    clause: Clause, phrasing: Phrasing, *, rule: str | None = None, also: bool = False, first: bool = False
) -> str:
    """A clause in words.

    Args:
        clause: what to say.
        phrasing: the words, and what has been introduced so far.
        rule: the thing of the rule that the clause belongs to.
        also: has the clause before spoken of the same subject, or listed things?
        first: does a text or a rule begin with it? Then it takes "there is", and "it" is what the rule is about.
    """
    match clause:
        case Listing(things):
            return _listing(things, phrasing, rule, also)
        case Lineup():
            return _lineup(clause, phrasing)
        case Group(things, predicate):
            return f"{phrasing.things(things).text} together form one {phrasing.lexicon.relations[predicate].group}"
        case Dispute(claims):
            return "either " + " or ".join(_simple(claim, phrasing) for claim in claims)
        case Statement():
            return _statement(clause, phrasing, rule, also, first)


def predicate(subject: Phrase, clause: Statement, phrasing: Phrasing, *, also: bool = False) -> str:
    """What stands behind the subject: "is above the plate and has a cup to its left"."""
    verb, owns = ("are", "have") if subject.many else ("is", "has")
    said = ""
    if clause.sayings:
        said = f"{verb}{' also' if also else ''} {phrasing.sayings(clause.sayings, verb=f'and {verb}')}"
        if clause.by_it:
            said += " and " if len(clause.sayings) == 1 else ", and "
    return said + (f"{owns} {_by_it(clause, phrasing)}" if clause.by_it else "")


def _by_it(clause: Statement, phrasing: Phrasing) -> str:
    """Things and where they are by the subject: "a cup to its left and a plate below it"."""
    it = phrasing.pronoun(clause.subjects[0])
    return listed([f"{phrasing.thing(c.subject).text} {phrasing.part(c.parts[0], it)}" for c in clause.by_it])


def _listing(things: list[str], phrasing: Phrasing, rule: str | None, also: bool) -> str:
    if len(things) > 1 and rule is None:
        verb = phrasing.chance.one_of(["shows", "contains"])
        return f"the image {'also ' if also else ''}{verb} {phrasing.things(things).text}"
    return f"there {'are' if len(things) > 1 else 'is'} {phrasing.things(things).text}"


def _lineup(clause: Lineup, phrasing: Phrasing) -> str:
    """Things in an order; three of them also as "a is above b, which is above c"."""
    links = [*clause.to_next, *clause.to_previous]
    things = clause.things if clause.to_next else clause.things[::-1]
    clear = things[1] in phrasing.known or not phrasing.names[things[1]].clause
    if len(things) == 3 and len(links) == 1 and clear and phrasing.chance.likely(70):
        phrase = phrasing.phrase_for(links[0])
        first, second = phrasing.thing(things[0]), phrasing.thing(things[1])
        who = "which" if phrasing.names[things[1]].noun.pronoun == "it" else "who"
        verbs = [f"{'are' if many else 'is'} {phrase}" for many in (first.many, second.many)]
        return f"{first.text} {verbs[0]} {second.text}, {who} {verbs[1]} {phrasing.thing(things[2]).text}"
    subject = phrasing.things(clause.things)
    each = [*_links(clause.to_next, "the next", phrasing), *_links(clause.to_previous, "the one before", phrasing)]
    return f"{subject.text} are arranged in this order, each {listed(each)}"


def _links(predicates: list[str], to: str, phrasing: Phrasing) -> list[str]:
    """Relations to a neighbour: "to the left of the next", and for further ones "in one row with it"."""
    phrases = [phrasing.phrase_for(name) for name in predicates]
    return [f"{phrase} {'it' if place else to}" for place, phrase in enumerate(phrases)]


def _simple(claim: Claim, phrasing: Phrasing) -> str:
    subject = phrasing.thing(claim.subject)
    return f"{subject.text} {'are' if subject.many else 'is'} {phrasing.part(claim.parts[0])}"


def _statement(clause: Statement, phrasing: Phrasing, rule: str | None, also: bool, first: bool) -> str:
    new = not any(thing in phrasing.known for thing in clause.subjects)
    plain = not any(phrasing.names[thing].clause for thing in clause.subjects)
    if new and not rule and not first and _can_turn(clause, phrasing) and phrasing.chance.likely(35):
        place = phrasing.sayings(clause.sayings)
        subject = phrasing.things(clause.subjects)
        return f"{place} {'are' if subject.many else 'is'} {subject.text}"
    there = new and plain and len(clause.subjects) == 1 and _can_be_there(clause, phrasing)
    if there and (rule or first or phrasing.chance.likely(50)):
        said = f"there is {phrasing.thing(clause.subjects[0]).text}"
        if clause.sayings:
            said += f" {phrasing.sayings(clause.sayings, rule if first else None, verb='and')}"
        return f"{said} with {_by_it(clause, phrasing)}" if clause.by_it else said
    subject = phrasing.things(clause.subjects)
    return f"{subject.text} {predicate(subject, clause, phrasing, also=also and not new)}"


def _can_turn(clause: Statement, phrasing: Phrasing) -> bool:
    """Can the place come first: "on the table is a cup"?"""
    if clause.by_it or len(clause.sayings) != 1 or len(clause.sayings[0]) > 1:
        return False
    part = clause.sayings[0][0]
    if not part.positive or not is_relation(part):
        return part.positive and part.predicate in phrasing.lexicon.places
    return part.rest[0] in phrasing.known and phrasing.lexicon.relations[part.predicate].near is not None


def _can_be_there(clause: Statement, phrasing: Phrasing) -> bool:
    """Can it be said with "there is a cup"? Not if "red" had to follow, or "it" could be another thing."""
    parts = [part for saying in clause.sayings for part in saying]
    placed = all(part.positive and (part.predicate in phrasing.lexicon.relations or not part.rest) for part in parts)
    return placed and len(parts) == len(clause.sayings) and not (clause.by_it and any(map(is_relation, parts)))


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
