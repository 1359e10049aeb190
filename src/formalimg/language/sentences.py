"""Sentences: clauses and rules as English text, without capitals and full stops."""

from __future__ import annotations

from formalimg.language.counted_clauses import realize_count
from formalimg.language.description import ClaimPart, Disjunction, ObjectClaim, Rule, is_relation
from formalimg.language.phrases import NounPhrase, PhraseBuilder, join_list
from formalimg.language.planning import (
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
    """Return a clause as English text.

    Args:
        clause: what to say.
        phrases: the words, and what has been introduced so far.
        rule: the object of the rule that the clause belongs to.
        also: has the clause before spoken of the same subject, or listed objects?
        first: does a text or a rule begin with it? Then it takes "there is", and "it" is what the rule is about.
    """
    match clause:
        case Enumeration(objects):
            return _enumeration(objects, phrases, rule, also)
        case Ordering():
            return _ordering(clause, phrases)
        case AlignedGroup(objects, verb_phrase):
            return f"{phrases.refer_all(objects).text} together form one {phrases.lexicon.relations[verb_phrase].group}"
        case Disjunction(claims):
            return "either " + " or ".join(_simple_clause(claim, phrases) for claim in claims)
        case Statement():
            return _statement(clause, phrases, rule, also, first)


def verb_phrase(subject: NounPhrase, clause: Statement, phrases: PhraseBuilder, *, also: bool = False) -> str:
    """Return what follows the subject: "is above the plate and has a cup to its left"."""
    verb, owns = ("are", "have") if subject.many else ("is", "has")
    text = ""
    if clause.properties:
        text = f"{verb}{' also' if also else ''} {phrases.join_properties(clause.properties, verb=f'and {verb}')}"
        if clause.neighbors:
            text += " and " if len(clause.properties) == 1 else ", and "
    return text + (f"{owns} {_neighbors(clause, phrases)}" if clause.neighbors else "")


def _neighbors(clause: Statement, phrases: PhraseBuilder) -> str:
    """Objects and where they are by the subject: "a cup to its left and a plate below it"."""
    it = phrases.pronoun(clause.subjects[0])
    return join_list([f"{phrases.refer(c.subject).text} {phrases.part_text(c.parts[0], it)}" for c in clause.neighbors])


def _enumeration(objects: list[str], phrases: PhraseBuilder, rule: str | None, also: bool) -> str:
    if len(objects) > 1 and rule is None:
        verb = phrases.rng.one_of(["shows", "contains"])
        return f"the image {'also ' if also else ''}{verb} {phrases.refer_all(objects).text}"
    return f"there {'are' if len(objects) > 1 else 'is'} {phrases.refer_all(objects).text}"


def _ordering(clause: Ordering, phrases: PhraseBuilder) -> str:
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
    """Return relations to a neighbor: "to the left of the next", and for further ones "in one row with it"."""
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
        text = f"there is {phrases.refer(clause.subjects[0]).text}"
        if clause.properties:
            text += f" {phrases.join_properties(clause.properties, rule if first else None, verb='and')}"
        return f"{text} with {_neighbors(clause, phrases)}" if clause.neighbors else text
    subject = phrases.refer_all(clause.subjects)
    return f"{subject.text} {verb_phrase(subject, clause, phrases, also=also and not new)}"


def _can_turn(clause: Statement, phrases: PhraseBuilder) -> bool:
    """Return whether the position can come first: "on the table is a cup"."""
    if clause.neighbors or len(clause.properties) != 1 or len(clause.properties[0]) > 1:
        return False
    part = clause.properties[0][0]
    if not part.positive or not is_relation(part):
        return part.positive and part.predicate in phrases.lexicon.places
    return part.rest[0] in phrases.known and phrases.lexicon.relations[part.predicate].near is not None


def _can_be_there(clause: Statement, phrases: PhraseBuilder) -> bool:
    """Return whether "there is a cup" works; not if "red" had to follow, or "it" could be another object."""
    parts = [part for prop in clause.properties for part in prop]
    placed = all(part.positive and (part.predicate in phrases.lexicon.relations or not part.rest) for part in parts)
    return placed and len(parts) == len(clause.properties) and not (clause.neighbors and any(map(is_relation, parts)))


def realize_rule(rule: Rule, claims: list[ObjectClaim], planner: Planner, phrases: PhraseBuilder) -> str:
    """Return a rule as English text; `claims` are those that no noun phrase expresses."""
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
    neighbors = [claim for claim in claims if _is_by(claim, obj, planner, phrases)]
    related = [other for claim in claims for part in claim.parts for other in _pair(claim.subject, part, obj)]
    neighbors = [claim for claim in neighbors if related.count(claim.subject) == 1][:2]
    main = Statement([obj], sort_properties([claim.parts for claim in about]), neighbors)
    unclear = any(other not in phrases.known for other in required_objects(main, planner.with_clause))
    # "Every cup is not red" could mean that not every cup is.
    denied = bool(about) and not any(part.positive for part in main.properties[0])
    if unclear or denied or (not about and (not neighbors or rng.likely(40))):
        return _for_every(rule, claims, planner, phrases)
    rest = [claim for claim in claims if claim not in about and claim not in neighbors]
    more = rule.body.objects or rule.body.disjunctions or rule.body.counts
    bare = not (neighbors or rest or more or phrases.names[obj].clause)
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
    texts: list[str] = []
    for clause in clauses:
        texts.append(realize_clause(clause, phrases, rule=rule.variable, first=first and not texts))
    return texts + [realize_count(count, phrases) for count in rule.body.counts]


def _joined(clauses: list[str]) -> str:
    """Join two clauses by "and", more by semicolons."""
    if len(clauses) < 3:
        return ", and ".join(clauses)
    return "; ".join([*clauses[:-1], f"and {clauses[-1]}"])


def inverted_claim(rule: Rule, claims: list[ObjectClaim]) -> ObjectClaim | None:
    """Return the only claim of a rule if it relates an outer object to every object of the rule; else None."""
    if rule.body.objects or rule.body.disjunctions or rule.body.counts or len(claims) != 1:
        return None
    part = claims[0].single
    return claims[0] if part and is_relation(part) and part.rest[0] == rule.variable else None


def _is_by(claim: ObjectClaim, obj: str, planner: Planner, phrases: PhraseBuilder) -> bool:
    """Return whether the claim places something relative to the object, so that the object can "have" it."""
    part: ClaimPart | None = claim.single
    if part is None or not is_relation(part) or part.rest[0] != obj:
        return False
    clear = claim.subject in phrases.known or claim.subject not in planner.with_clause
    return clear and planner.lexicon.relations[part.predicate].near is not None


def _pair(subject: str, part: ClaimPart, obj: str) -> list[str]:
    """Return the object that a part relates to the given one."""
    objects = {subject, *part.rest} if is_relation(part) else set()
    return sorted(objects - {obj}) if obj in objects else []


def _objects(statement: Statement) -> list[str]:
    return [part.rest[0] for prop in statement.properties for part in prop if is_relation(part)]
