"""Convert clauses and rules to English text without capitalization or final periods."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.language.counted_clauses import realize_count
from formalimg.language.description import ClaimPart, CountedObjects, Disjunction, ObjectClaim, Rule, is_relation
from formalimg.language.lexicon import PRONOUNS
from formalimg.language.phrases import NounPhrase, PhraseBuilder, PropertyPhrase, join_list
from formalimg.language.planning import (
    AlignedGroup,
    Clause,
    Enumeration,
    Ordering,
    Planner,
    Statement,
    clear_neighbors,
    required_objects,
)

SHOWS = ("shows", "contains", "features", "includes")  # What an image does with the objects in it
NEXT_NAMED, NAMED_BEFORE = "the next one named", "the one named before"
"""To what each object of a list has a relation that gives no order."""

_OTHER_VERB = 40  # In how many cases of a hundred another verb stands for "is" before a place, where one can


class RuleBeginning(NamedTuple):
    """The first sentence of a rule, its subject (if any) and the remaining clauses."""

    text: str
    subject: str | None
    clauses: list[Clause]


def realize_clause(
    clause: Clause,
    phrases: PhraseBuilder,
    *,
    rule: str | None = None,
    also: bool = False,
    first: bool = False,
    pronoun: bool = False,
) -> str:
    """Convert a clause to English text."""
    phrases.tail, phrases.ends_in_list = None, False
    match clause:
        case Enumeration(objects):
            return _enumeration(objects, phrases, rule, also)
        case Ordering():
            return _ordering(clause, phrases)
        case AlignedGroup(objects, verb_phrase):
            return f"{phrases.refer_all(objects).text} together form one {phrases.lexicon.relations[verb_phrase].group}"
        case Disjunction(claims):
            return "either " + " or ".join(_simple_clause(claim, phrases) for claim in claims)
        case CountedObjects():
            return realize_count(clause, phrases)
        case Statement():
            return _statement(clause, phrases, rule, also, first, pronoun)


def verb_phrase(subject: NounPhrase, clause: Statement, phrases: PhraseBuilder, *, also: bool = False) -> str:
    """Return the text after the subject, such as "is above the plate and has a cup to its left"."""
    verb, owns = ("are", "have") if subject.many else ("is", "has")
    too = "also " if also else ""
    text = ""
    if clause.properties:
        rendered = phrases.render_properties(clause.properties, grouped=True)
        text = _predicate(clause, rendered, verb, too, phrases)
        if clause.neighbors:
            text += " and " if len(clause.properties) == 1 else ", and "
            too = ""
    if clause.neighbors:
        text += f"{too}{owns} {_neighbors(clause, phrases, many=subject.many)}"
        phrases.tail = None
    return text


def _predicate(clause: Statement, rendered: list[PropertyPhrase], verb: str, too: str, phrases: PhraseBuilder) -> str:
    """Return the verb and properties. Before a place, the verb may differ from "is"."""
    words = [phrase.text for phrase in rendered]
    mixed = len(rendered) == 2 and rendered[0].kind != rendered[1].kind
    joined = f"{words[0]} and {verb} {words[1]}" if mixed else join_list(words)
    beginning = f"{verb} {too}"
    if rendered[0].kind == "where" and (mixed or all(phrase.kind == "where" for phrase in rendered)):
        other = _choose_verb(clause, phrases)
        beginning = f"{too}{phrases.lexicon.verbs[other] if verb == 'are' else other} " if other else beginning
    return beginning + joined


def _choose_verb(clause: Statement, phrases: PhraseBuilder) -> str | None:
    """Choose a verb such as "lies" to replace "is" if it suits all subjects, or return None."""
    parts = [part for prop in clause.properties for part in prop]
    classes = {phrases.names[obj].noun.word for obj in clause.subjects}
    aligned = any(is_relation(part) and phrases.lexicon.relations[part.predicate].group for part in parts)
    if classes & {*phrases.lexicon.living, None} or aligned or not all(part.positive for part in parts):
        return None
    allowed = [set(phrases.lexicon.verbs_of(part.predicate)) for part in parts]
    verbs = [verb for verb in phrases.lexicon.verbs if all(verb in some for some in allowed)]
    return phrases.rng.one_of(verbs) if phrases.rng.likely(_OTHER_VERB) else None


def _neighbors(clause: Statement, phrases: PhraseBuilder, *, many: bool) -> str:
    """Return objects with their positions relative to the subject, such as "a cup to its left".

    The pronoun agrees with the verb, as in "a bunch of keys has a hat to its right" and "the keys have a hat to their
    right".
    """
    it = PRONOUNS["they" if many else phrases.names[clause.subjects[0]].noun.pronoun]
    return join_list([f"{phrases.refer(c.subject).text} {phrases.part_text(c.parts[0], it)}" for c in clause.neighbors])


def _enumeration(objects: list[str], phrases: PhraseBuilder, rule: str | None, also: bool) -> str:
    if len(objects) > 1 and rule is None:
        verb = phrases.rng.one_of(SHOWS)
        return f"the image {'also ' if also else ''}{verb} {phrases.refer_all(objects).text}"
    return f"there {'are' if len(objects) > 1 else 'is'} {phrases.refer_all(objects).text}"


def _ordering(clause: Ordering, phrases: PhraseBuilder) -> str:
    """Convert an ordered sequence to text. Three objects may use the form "a is above b, which is above c"."""
    links = [*clause.to_next, *clause.to_previous]
    objects = clause.objects if clause.to_next else clause.objects[::-1]
    sweeps = {name: phrases.lexicon.relations[name].sweep for name in links}
    clear = objects[1] in phrases.known or not phrases.names[objects[1]].clause
    if len(objects) == 3 and len(links) == 1 and clear and (not sweeps[links[0]] or phrases.rng.likely(50)):
        phrase = phrases.phrase_for(links[0])
        first, second = phrases.refer(objects[0]), phrases.refer(objects[1])
        who = "which" if phrases.names[objects[1]].noun.pronoun == "it" else "who"
        verbs = [f"{'are' if many else 'is'} {phrase}" for many in (first.many, second.many)]
        return f"{first.text} {verbs[0]} {second.text}, {who} {verbs[1]} {phrases.refer(objects[2]).text}"
    if not any(sweeps.values()):
        end = NEXT_NAMED if clause.to_next else NAMED_BEFORE
        return f"{phrases.refer_all(clause.objects).text} are each {phrases.phrase_for(links[0])} {end}"
    to_next, to_previous = list(clause.to_next), list(clause.to_previous)
    objects = clause.objects
    if not any(sweeps[name] for name in to_next):
        to_next, to_previous, objects = to_previous, to_next, objects[::-1]
    direction = next(name for name in to_next if sweeps[name])
    to_next.remove(direction)
    each = [*_links(to_next, "the next", phrases), *_links(to_previous, "the one before", phrases)]
    more = f", each {join_list(each)}" if each else ""
    return f"{phrases.refer_all(objects).text} are arranged {sweeps[direction]}{more}"


def _links(predicates: list[str], to: str, phrases: PhraseBuilder) -> list[str]:
    """Return the relations to a neighbour in a sequence, such as "to the left of the next"."""
    links = [phrases.phrase_for(name) for name in predicates]
    return [f"{link} {'it' if place else to}" for place, link in enumerate(links)]


def _simple_clause(claim: ObjectClaim, phrases: PhraseBuilder) -> str:
    subject = phrases.refer(claim.subject)
    return f"{subject.text} {'are' if subject.many else 'is'} {phrases.part_text(claim.parts[0])}"


def _statement(
    clause: Statement, phrases: PhraseBuilder, rule: str | None, also: bool, first: bool, pronoun: bool
) -> str:
    new = not any(obj in phrases.known for obj in clause.subjects)
    plain = not any(phrases.names[obj].clause for obj in clause.subjects)
    if new and not (rule or first) and _can_turn(clause, phrases, rule is not None) and phrases.rng.likely(25):
        place = phrases.join_properties(clause.properties)
        subject = phrases.refer_all(clause.subjects)
        return f"{place} {'are' if subject.many else 'is'} {subject.text}"
    there = new and plain and len(clause.subjects) == 1 and _can_be_there(clause, phrases)
    if there and (rule or first or phrases.rng.likely(25)):
        text = f"there is {phrases.refer(clause.subjects[0]).text}"
        if clause.properties:
            text += f" {phrases.join_properties(clause.properties, rule if first else None, verb='and')}"
        return f"{text} with {_neighbors(clause, phrases, many=False)}" if clause.neighbors else text
    if pronoun:
        it = phrases.subject_pronoun(clause.subjects[0])
        return f"{it} {verb_phrase(NounPhrase(it, it == 'they'), clause, phrases, also=also)}"
    subject = phrases.refer_all(clause.subjects)
    return f"{subject.text} {verb_phrase(subject, clause, phrases, also=also and not new)}"


def _can_turn(clause: Statement, phrases: PhraseBuilder, in_rule: bool) -> bool:
    """Return whether the position can come first, as in "on the table is a cup"."""
    if clause.neighbors or len(clause.properties) != 1 or len(clause.properties[0]) > 1:
        return False
    part = clause.properties[0][0]
    if not part.positive or not is_relation(part):
        return part.positive and part.predicate in phrases.lexicon.places and not in_rule
    return part.rest[0] in phrases.known and phrases.lexicon.relations[part.predicate].near is not None


def _can_be_there(clause: Statement, phrases: PhraseBuilder) -> bool:
    """Return whether the clause can begin with "there is" without becoming ambiguous."""
    parts = [part for prop in clause.properties for part in prop]
    kinds = {phrases.kind_of(part) for part in parts}
    placed = all(part.positive for part in parts) and (kinds <= {"where"} or (kinds == {"doing"} and len(parts) == 1))
    return placed and len(parts) == len(clause.properties) and not (clause.neighbors and any(map(is_relation, parts)))


def begin_rule(rule: Rule, claims: list[ObjectClaim], planner: Planner, phrases: PhraseBuilder) -> RuleBeginning:
    """Return the first sentence of a rule and the remaining clauses, given the claims not expressed by names."""
    obj, rng = rule.variable, phrases.rng
    turned = inverted_claim(rule, claims)
    if turned:
        new, part = turned.subject not in phrases.known, turned.parts[0]
        subject, who = phrases.refer(turned.subject), phrases.names[turned.subject].noun.who
        phrase = phrases.phrase_for(part.predicate)
        if new:
            return RuleBeginning(f"there is {subject.text} {who} is {phrase} {phrases.every(obj)}", None, [])
        verb = "are" if subject.many else "is"
        return RuleBeginning(f"{subject.text} {verb} {phrase} {phrases.every(obj)}", None, [])
    about = [claim for claim in claims if claim.subject == obj]
    neighbors = [claim for claim in claims if _is_by(claim, obj, planner, phrases)]
    related = [other for claim in claims for part in claim.parts for other in _pair(claim.subject, part, obj)]
    neighbors = [claim for claim in neighbors if related.count(claim.subject) == 1][:2]
    portions = planner.split_properties([claim.parts for claim in about])
    properties = portions[0] if portions else []
    neighbors = clear_neighbors(planner.lexicon, properties, neighbors)
    main = Statement([obj], properties, neighbors if len(about) < 3 else [])
    unclear = any(other not in phrases.known for other in required_objects(main, planner.with_clause))
    # "Every cup is not red" could mean that not every cup is.
    denied = bool(about) and not any(part.positive for part in main.properties[0])
    # "For every cup there is a fork to its left", but not "For every cup, the fork is to the left of the cup".
    has_known = any(claim.subject in phrases.known for claim in neighbors)
    if unclear or denied or (not about and (not neighbors or (not has_known and rng.likely(40)))):
        return _begin_for_every(rule, claims, planner, phrases)
    rest = [claim for claim in claims if claim not in main.neighbors and claim not in _claims_of(main)]
    more = rule.body.objects or rule.body.disjunctions or rule.body.counts
    bare = not (main.neighbors or rest or more or phrases.names[obj].clause)
    if bare and all(other in phrases.known for other in _objects(main)) and rng.likely(30):
        return RuleBeginning(f"{phrases.all_of(obj)} {verb_phrase(NounPhrase('', many=True), main, phrases)}", None, [])
    text = f"{phrases.every(obj)} {verb_phrase(NounPhrase(''), main, phrases)}"
    return RuleBeginning(text, obj, _plan(rule, rest, planner, phrases))


def _begin_for_every(rule: Rule, claims: list[ObjectClaim], planner: Planner, phrases: PhraseBuilder) -> RuleBeginning:
    every = phrases.every(rule.variable)
    clauses = _plan(rule, claims, planner, phrases)
    text = realize_clause(clauses[0], phrases, rule=rule.variable, first=True)
    is_there = text.startswith("there ")
    comma = "" if is_there and not phrases.names[rule.variable].clause else ","
    return RuleBeginning(f"for {every}{comma} {text}", None if is_there else subject_of(clauses[0]), clauses[1:])


def subject_of(clause: Clause) -> str | None:
    """Return the subject of a clause if it has exactly one."""
    return clause.subjects[0] if isinstance(clause, Statement) and len(clause.subjects) == 1 else None


def _plan(rule: Rule, claims: list[ObjectClaim], planner: Planner, phrases: PhraseBuilder) -> list[Clause]:
    body, rule_objects = rule.body, {rule.variable, *rule.body.objects}
    clauses = planner.plan(claims, body.disjunctions, body.objects, phrases.known, rule_objects=rule_objects)
    return [*clauses, *body.counts]


def _claims_of(statement: Statement) -> list[ObjectClaim]:
    return [ObjectClaim(subject, prop) for subject in statement.subjects for prop in statement.properties]


def inverted_claim(rule: Rule, claims: list[ObjectClaim]) -> ObjectClaim | None:
    """Return the only claim of a rule if it relates an outer object to every object of the rule, otherwise None."""
    if rule.body.objects or rule.body.disjunctions or rule.body.counts or len(claims) != 1:
        return None
    part = claims[0].single
    return claims[0] if part and is_relation(part) and part.rest[0] == rule.variable else None


def _is_by(claim: ObjectClaim, obj: str, planner: Planner, phrases: PhraseBuilder) -> bool:
    """Return whether the claim positions another object relative to this one, so that this one can "have" it."""
    part: ClaimPart | None = claim.single
    if part is None or not is_relation(part) or part.rest[0] != obj:
        return False
    clear = claim.subject in phrases.known or claim.subject not in planner.with_clause
    return clear and planner.lexicon.relations[part.predicate].near is not None


def _pair(subject: str, part: ClaimPart, obj: str) -> list[str]:
    """Return the object that a part relates to the given object, as a list with at most one element."""
    objects = {subject, *part.rest} if is_relation(part) else set()
    return sorted(objects - {obj}) if obj in objects else []


def _objects(statement: Statement) -> list[str]:
    return [part.rest[0] for prop in statement.properties for part in prop if is_relation(part)]
