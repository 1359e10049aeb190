"""Clauses in words, without capitals and full stops."""

from __future__ import annotations

from formalimg.suites.formula.wording.description import ClaimPart, Disjunction, ObjectClaim, Rule, is_relation
from formalimg.suites.formula.wording.phrases import NounPhrase, PhraseBuilder, join_list
from formalimg.suites.formula.wording.planning import (
    AlignedGroup,
    Clause,
    Enumeration,
    Ordering,
    Planner,
    Statement,
    required_objects,
    sort_properties,
)


def realize_clause(
    clause: Clause, phrases: PhraseBuilder, *, rule: str | None = None, also: bool = False, first: bool = False
) -> str:
    """A clause in words.

    Args:
        clause: what to say.
        phrases: the words, and what has been introduced so far.
        rule: the object of the rule that the clause belongs to.
        also: has the clause before spoken of the same subject, or listed objects?
        first: does a text or a rule begin with it? Then it takes "there is", and "it" is what the rule is about.
    """
    match clause:
        case Enumeration(objects):
            return _listing(objects, phrases, rule, also)
        case Ordering():
            return _lineup(clause, phrases)
        case AlignedGroup(objects, verb_phrase):
            return f"{phrases.refer_all(objects).text} together form one {phrases.lexicon.relations[verb_phrase].group}"
        case Disjunction(claims):
            return "either " + " or ".join(_simple_clause(claim, phrases) for claim in claims)
        case Statement():
            return _statement(clause, phrases, rule, also, first)


def verb_phrase(subject: NounPhrase, clause: Statement, phrases: PhraseBuilder, *, also: bool = False) -> str:
    """What stands behind the subject: "is above the plate and has a cup to its left"."""
    verb, owns = ("are", "have") if subject.many else ("is", "has")
    said = ""
    if clause.properties:
        said = f"{verb}{' also' if also else ''} {phrases.join_properties(clause.properties, verb=f'and {verb}')}"
        if clause.by_it:
            said += " and " if len(clause.properties) == 1 else ", and "
    return said + (f"{owns} {_by_it(clause, phrases)}" if clause.by_it else "")


def _by_it(clause: Statement, phrases: PhraseBuilder) -> str:
    """Objects and where they are by the subject: "a cup to its left and a plate below it"."""
    it = phrases.pronoun(clause.subjects[0])
    return join_list([f"{phrases.refer(c.subject).text} {phrases.part_text(c.parts[0], it)}" for c in clause.by_it])


def _listing(objects: list[str], phrases: PhraseBuilder, rule: str | None, also: bool) -> str:
    if len(objects) > 1 and rule is None:
        verb = phrases.rng.one_of(["shows", "contains"])
        return f"the image {'also ' if also else ''}{verb} {phrases.refer_all(objects).text}"
    return f"there {'are' if len(objects) > 1 else 'is'} {phrases.refer_all(objects).text}"


def _lineup(clause: Ordering, phrases: PhraseBuilder) -> str:
    """Objects in an order; three of them also as "a is above b, which is above c"."""
    links = [*clause.to_next, *clause.to_previous]
    objects = clause.objects if clause.to_next else clause.objects[::-1]
    clear = objects[1] in phrases.known or not phrases.names[objects[1]].clause
    if len(objects) == 3 and len(links) == 1 and clear and phrases.rng.likely(70):
        phrase = phrases.phrase_for(links[0])
        first, second = phrases.refer(objects[0]), phrases.refer(objects[1])
        who = "which" if phrases.names[objects[1]].noun.pronoun == "it" else "who"
        verbs = [f"{'are' if many else 'is'} {phrase}" for many in (first.many, second.many)]
        return f"{first.text} {verbs[0]} {second.text}, {who} {verbs[1]} {phrases.refer(objects[2]).text}"
    subject = phrases.refer_all(clause.objects)
    each = [*_links(clause.to_next, "the next", phrases), *_links(clause.to_previous, "the one before", phrases)]
    return f"{subject.text} are arranged in this order, each {join_list(each)}"


def _links(predicates: list[str], to: str, phrases: PhraseBuilder) -> list[str]:
    """Relations to a neighbour: "to the left of the next", and for further ones "in one row with it"."""
    links = [phrases.phrase_for(name) for name in predicates]
    return [f"{link} {'it' if place else to}" for place, link in enumerate(links)]


def _simple_clause(claim: ObjectClaim, phrases: PhraseBuilder) -> str:
    subject = phrases.refer(claim.subject)
    return f"{subject.text} {'are' if subject.many else 'is'} {phrases.part_text(claim.parts[0])}"


def _statement(clause: Statement, phrases: PhraseBuilder, rule: str | None, also: bool, first: bool) -> str:
    new = not any(obj in phrases.known for obj in clause.subjects)
    plain = not any(phrases.names[obj].clause for obj in clause.subjects)
    if new and not rule and not first and _can_turn(clause, phrases) and phrases.rng.likely(35):
        place = phrases.join_properties(clause.properties)
        subject = phrases.refer_all(clause.subjects)
        return f"{place} {'are' if subject.many else 'is'} {subject.text}"
    there = new and plain and len(clause.subjects) == 1 and _can_be_there(clause, phrases)
    if there and (rule or first or phrases.rng.likely(50)):
        said = f"there is {phrases.refer(clause.subjects[0]).text}"
        if clause.properties:
            said += f" {phrases.join_properties(clause.properties, rule if first else None, verb='and')}"
        return f"{said} with {_by_it(clause, phrases)}" if clause.by_it else said
    subject = phrases.refer_all(clause.subjects)
    return f"{subject.text} {verb_phrase(subject, clause, phrases, also=also and not new)}"


def _can_turn(clause: Statement, phrases: PhraseBuilder) -> bool:
    """Can the place come first: "on the table is a cup"?"""
    if clause.by_it or len(clause.properties) != 1 or len(clause.properties[0]) > 1:
        return False
    part = clause.properties[0][0]
    if not part.positive or not is_relation(part):
        return part.positive and part.predicate in phrases.lexicon.places
    return part.rest[0] in phrases.known and phrases.lexicon.relations[part.predicate].near is not None


def _can_be_there(clause: Statement, phrases: PhraseBuilder) -> bool:
    """Can it be said with "there is a cup"? Not if "red" had to follow, or "it" could be another object."""
    parts = [part for prop in clause.properties for part in prop]
    placed = all(part.positive and (part.predicate in phrases.lexicon.relations or not part.rest) for part in parts)
    return placed and len(parts) == len(clause.properties) and not (clause.by_it and any(map(is_relation, parts)))


def realize_rule(rule: Rule, claims: list[ObjectClaim], planner: Planner, phrases: PhraseBuilder) -> str:
    """A rule in words, without capital and full stop; `claims` are those that no noun phrase says."""
    obj, rng = rule.variable, phrases.rng
    turned = inverted_claim(rule, claims)
    if turned:
        new, part = turned.subject not in phrases.known, turned.parts[0]
        subject, who = phrases.refer(turned.subject), phrases.names[turned.subject].noun.who
        phrase = phrases.phrase_for(part.predicate)
        if new:
            return f"there is {subject.text} {who} is {phrase} {phrases.every(obj)}"
        return f"{subject.text} {'are' if subject.many else 'is'} {phrase} {phrases.every(obj)}"
    about = [claim for claim in claims if claim.subject == obj]
    by_it = [claim for claim in claims if _is_by(claim, obj, planner, phrases)]
    related = [other for claim in claims for part in claim.parts for other in _pair(claim.subject, part, obj)]
    by_it = [claim for claim in by_it if related.count(claim.subject) == 1][:2]
    main = Statement([obj], sort_properties([claim.parts for claim in about]), by_it)
    unclear = any(other not in phrases.known for other in required_objects(main, planner.with_clause))
    # "Every cup is not red" could mean that not every cup is.
    denied = bool(about) and not any(part.positive for part in main.properties[0])
    if unclear or denied or (not about and (not by_it or rng.likely(40))):
        return _for_every(rule, claims, planner, phrases)
    rest = [claim for claim in claims if claim not in about and claim not in by_it]
    bare = not (by_it or rest or rule.body.objects or rule.body.disjunctions or phrases.names[obj].clause)
    if bare and all(other in phrases.known for other in _objects(main)) and rng.likely(30):
        return f"{phrases.all_of(obj)} {verb_phrase(NounPhrase('', many=True), main, phrases)}"
    head = f"{phrases.every(obj)} {verb_phrase(NounPhrase(''), main, phrases)}"
    return _joined([head, *_clauses(rule, rest, planner, phrases)])


def _for_every(rule: Rule, claims: list[ObjectClaim], planner: Planner, phrases: PhraseBuilder) -> str:
    every = phrases.every(rule.variable)
    first, *others = _clauses(rule, claims, planner, phrases, first=True)
    comma = "" if first.startswith("there ") and not phrases.names[rule.variable].clause else ","
    return _joined([f"for {every}{comma} {first}", *others])


def _clauses(
    rule: Rule, claims: list[ObjectClaim], planner: Planner, phrases: PhraseBuilder, *, first: bool = False
) -> list[str]:
    clauses = planner.plan(claims, rule.body.disjunctions, rule.body.objects, phrases.known)
    said: list[str] = []
    for clause in clauses:
        said.append(realize_clause(clause, phrases, rule=rule.variable, first=first and not said))
    return said


def _joined(clauses: list[str]) -> str:
    """Two clauses are joined by "and", more are set apart by semicolons."""
    if len(clauses) < 3:
        return ", and ".join(clauses)
    return "; ".join([*clauses[:-1], f"and {clauses[-1]}"])


def inverted_claim(rule: Rule, claims: list[ObjectClaim]) -> ObjectClaim | None:
    """The one claim of a rule, if it is that an object from outside stands in a relation to every object of the rule."""
    if rule.body.objects or rule.body.disjunctions or len(claims) != 1:
        return None
    part = claims[0].single
    return claims[0] if part and is_relation(part) and part.rest[0] == rule.variable else None


def _is_by(claim: ObjectClaim, obj: str, planner: Planner, phrases: PhraseBuilder) -> bool:
    """Does the claim say that something is by the object, so that the object can be said to have it there?"""
    part: ClaimPart | None = claim.single
    if part is None or not is_relation(part) or part.rest[0] != obj:
        return False
    clear = claim.subject in phrases.known or claim.subject not in planner.with_clause
    return clear and planner.lexicon.relations[part.predicate].near is not None


def _pair(subject: str, part: ClaimPart, obj: str) -> list[str]:
    """The object that a part relates to the given one."""
    objects = {subject, *part.rest} if is_relation(part) else set()
    return sorted(objects - {obj}) if obj in objects else []


def _objects(statement: Statement) -> list[str]:
    return [part.rest[0] for prop in statement.properties for part in prop if is_relation(part)]
