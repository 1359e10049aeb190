"""Convert clauses and rules to English text without capitalization or final periods."""

from __future__ import annotations

from formalimg.language.description import (
    ClaimPart,
    CountedObjects,
    Disjunction,
    ObjectClaim,
    Rule,
    is_relation,
)
from formalimg.language.lexicon import PRONOUNS, amount_text, is_singular
from formalimg.language.phrases import PhraseBuilder, PropertyPhrase, join_list
from formalimg.language.planning import (
    AlignedGroup,
    Clause,
    Enumeration,
    Ordering,
    Planner,
    Statement,
    clear_neighbors,
    prerequisites,
)

SHOWS = ("shows", "contains", "features", "includes")  # What an image does with the objects in it
NEXT_NAMED, NAMED_BEFORE = "the next one named", "the one named before"  # Neighbours in a list that gives no order

# Chances in percent
_OTHER_VERB = 40  # of replacing "is" before a place by another verb, if possible
_COUNT_AS_SUBJECT = 50  # of making counted objects the subject, if possible


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
            if len(objects) > 1 and rule is None:
                verb = phrases.rng.choice(SHOWS)
                return f"the image {'also ' if also else ''}{verb} {phrases.refer_all(objects).text}"
            return f"there {'are' if len(objects) > 1 else 'is'} {phrases.refer_all(objects).text}"
        case Ordering():
            return _ordering(clause, phrases)
        case AlignedGroup(objects, predicate):
            return f"{phrases.refer_all(objects).text} together form one {phrases.lexicon.relations[predicate].group}"
        case Disjunction(claims):
            texts = []
            for claim in claims:
                subject = phrases.refer(claim.subject)
                texts.append(f"{subject.text} {_be(subject.is_plural)} {phrases.part_text(claim.parts[0])}")
            return "either " + " or ".join(texts)
        case CountedObjects():
            return _count(clause, phrases)
        case Statement():
            return _statement(clause, phrases, rule, also, first, pronoun)


def verb_phrase(clause: Statement, phrases: PhraseBuilder, *, plural: bool, also: bool = False) -> str:
    """Return the text after the subject, such as "is above the plate and has a cup to its left"."""
    adverb = "also " if also else ""
    text = ""
    if clause.properties:
        text = _predicate(clause, phrases.render_properties(clause.properties, grouped=True), plural, adverb, phrases)
        if clause.neighbors:
            text += " and " if len(clause.properties) == 1 else ", and "
            adverb = ""
    if clause.neighbors:
        text += f"{adverb}{'have' if plural else 'has'} {_neighbors(clause, phrases, plural=plural)}"
        phrases.tail = None
    return text


def _be(plural: bool) -> str:
    return "are" if plural else "is"


def _predicate(
    clause: Statement, rendered: list[PropertyPhrase], plural: bool, adverb: str, phrases: PhraseBuilder
) -> str:
    """Return the verb and properties. Before a place, the verb may differ from "is"."""
    words = [phrase.text for phrase in rendered]
    is_mixed = len(rendered) == 2 and rendered[0].kind != rendered[1].kind
    verb = _be(plural)
    properties = f"{words[0]} and {verb} {words[1]}" if is_mixed else join_list(words)
    if rendered[0].kind == "where" and (is_mixed or all(phrase.kind == "where" for phrase in rendered)):
        place_verb = _choose_verb(clause, phrases)
        if place_verb:
            return f"{adverb}{phrases.lexicon.verbs[place_verb] if plural else place_verb} {properties}"
    return f"{verb} {adverb}{properties}"


def _choose_verb(clause: Statement, phrases: PhraseBuilder) -> str | None:
    """Choose a verb such as "lies" to replace "is" if it suits all subjects, or return None."""
    parts = [part for prop in clause.properties for part in prop]
    classes = {phrases.names[obj].noun.word for obj in clause.subjects}
    is_alignment = any(is_relation(part) and phrases.lexicon.relations[part.predicate].group for part in parts)
    if classes & {*phrases.lexicon.living, None} or is_alignment or not all(part.positive for part in parts):
        return None
    allowed = [phrases.lexicon.verbs_of(part.predicate) for part in parts]
    verbs = [verb for verb in phrases.lexicon.verbs if all(verb in choices for choices in allowed)]
    return phrases.rng.choice(verbs) if phrases.rng.likely(_OTHER_VERB) else None


def _neighbors(clause: Statement, phrases: PhraseBuilder, *, plural: bool) -> str:
    """Return objects with their positions relative to the subject, such as "a cup to its left".

    The pronoun agrees with the verb, as in "a bunch of keys has a hat to its right" and "the keys have a hat to their
    right".
    """
    pronoun = PRONOUNS["they" if plural else phrases.names[clause.subjects[0]].noun.pronoun]
    return join_list(
        [f"{phrases.refer(c.subject).text} {phrases.part_text(c.parts[0], pronoun)}" for c in clause.neighbors]
    )


def _ordering(clause: Ordering, phrases: PhraseBuilder) -> str:
    """Convert an ordered sequence to text. Three objects may use the form "a is above b, which is above c"."""
    links = [*clause.to_next, *clause.to_previous]
    objects = clause.objects if clause.to_next else clause.objects[::-1]
    sweeps = {name: phrases.lexicon.relations[name].sweep for name in links}
    is_clear = objects[1] in phrases.known or not phrases.names[objects[1]].clause
    if len(objects) == 3 and len(links) == 1 and is_clear and (not sweeps[links[0]] or phrases.rng.likely(50)):
        phrase = phrases.phrase_for(links[0])
        first, second = phrases.refer(objects[0]), phrases.refer(objects[1])
        relative = "which" if phrases.names[objects[1]].noun.pronoun == "it" else "who"
        text = (
            f"{first.text} {_be(first.is_plural)} {phrase} {second.text}, {relative} {_be(second.is_plural)} {phrase}"
        )
        return f"{text} {phrases.refer(objects[2]).text}"
    if not any(sweeps.values()):
        end = NEXT_NAMED if clause.to_next else NAMED_BEFORE
        return f"{phrases.refer_all(clause.objects).text} are each {phrases.phrase_for(links[0])} {end}"
    to_next, to_previous = list(clause.to_next), list(clause.to_previous)
    objects = clause.objects
    if not any(sweeps[name] for name in to_next):
        to_next, to_previous, objects = to_previous, to_next, objects[::-1]
    direction = next(name for name in to_next if sweeps[name])
    to_next.remove(direction)
    relations = [
        f"{phrases.phrase_for(name)} {'it' if index else neighbor}"
        for names, neighbor in ((to_next, "the next"), (to_previous, "the one before"))
        for index, name in enumerate(names)
    ]
    more = f", each {join_list(relations)}" if relations else ""
    return f"{phrases.refer_all(objects).text} are arranged {sweeps[direction]}{more}"


def _count(count: CountedObjects, phrases: PhraseBuilder) -> str:
    """Express a count in English. Objects introduced in the count are scoped to it."""
    outer_known, outer_ruled = set(phrases.known), phrases.ruled
    phrases.ruled = set()  # in here the jeans of a rule are called by their noun first, and then "them"
    name = phrases.names[count.variable]
    singular = is_singular(count.bound, count.number)
    verb = _be(not singular)
    amount = f"{amount_text(count.bound, count.number)} {phrases.counted(count.variable, singular=singular)}"
    properties = [claim.parts for claim in name.clause]
    # "Exactly two forks are left of a plate" could mean one plate for both of them.
    is_plain = all(claim.single is not None for claim in name.clause) and not count.body.objects
    if properties and is_plain and count.positive and not name.related and phrases.rng.likely(_COUNT_AS_SUBJECT):
        text = f"{amount} {verb} {phrases.join_properties(properties)}"
    else:
        text = f"there {verb} {'' if count.positive else 'not '}{amount}"
        if properties:
            # A place can directly follow the noun, as in "two forks to the left of the plate".
            placed = {*phrases.lexicon.places, *phrases.lexicon.relations}.issuperset(
                p[0].predicate for p in properties
            )
            each = "each " if count.body.objects and not singular else ""
            relative = "" if is_plain and placed else f"{name.noun.who} {verb} {each}"
            text += f" {relative}{phrases.join_properties(properties)}"
        related = [_relation_clause(claim, phrases) for claim in name.related]
        text += (" and" if properties and related else "") + " and".join(related)
    phrases.known, phrases.ruled = outer_known, outer_ruled
    return text


def _relation_clause(claim: ObjectClaim, phrases: PhraseBuilder) -> str:
    """Express the relation of another object to the counted objects, such as "that the plate is above"."""
    subject, part = phrases.refer(claim.subject), claim.parts[0]
    verb = f"{_be(subject.is_plural)}{'' if part.positive else ' not'}"
    relative = "which" if subject.text.startswith("that ") else "that"
    return f" {relative} {subject.text} {verb} {phrases.phrase_for(part.predicate)}"


def _statement(
    clause: Statement, phrases: PhraseBuilder, rule: str | None, also: bool, first: bool, pronoun: bool
) -> str:
    is_new = not any(obj in phrases.known for obj in clause.subjects)
    is_plain = not any(phrases.names[obj].clause for obj in clause.subjects)
    if is_new and not (rule or first) and _can_turn(clause, phrases, rule is not None) and phrases.rng.likely(25):
        position = phrases.join_properties(clause.properties)
        subject = phrases.refer_all(clause.subjects)
        return f"{position} {_be(subject.is_plural)} {subject.text}"
    can_be_there = is_new and is_plain and len(clause.subjects) == 1 and _can_be_there(clause, phrases)
    if can_be_there and (rule or first or phrases.rng.likely(25)):
        text = f"there is {phrases.refer(clause.subjects[0]).text}"
        if clause.properties:
            text += f" {phrases.join_properties(clause.properties, rule if first else None, verb='and')}"
        return f"{text} with {_neighbors(clause, phrases, plural=False)}" if clause.neighbors else text
    if pronoun:
        referent = phrases.pronoun_name(clause.subjects[0])
        return f"{referent} {verb_phrase(clause, phrases, plural=referent == 'they', also=also)}"
    subject = phrases.refer_all(clause.subjects)
    return f"{subject.text} {verb_phrase(clause, phrases, plural=subject.is_plural, also=also and not is_new)}"


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
    is_place = all(part.positive for part in parts) and (kinds <= {"where"} or (kinds == {"doing"} and len(parts) == 1))
    return is_place and len(parts) == len(clause.properties) and not (clause.neighbors and any(map(is_relation, parts)))


# --- rules


def begin_rule(
    rule: Rule, claims: list[ObjectClaim], planner: Planner, phrases: PhraseBuilder
) -> tuple[str, str | None, list[Clause]]:
    """Return the first sentence of a rule, its subject (if any) and the remaining clauses.

    `claims` are those not expressed by names.
    """
    obj, rng = rule.variable, phrases.rng
    inverted = inverse_claim(rule, claims)
    if inverted:
        is_new = inverted.subject not in phrases.known
        subject = phrases.refer(inverted.subject)
        relation = f"{phrases.phrase_for(inverted.parts[0].predicate)} {phrases.every(obj)}"
        if is_new:
            return f"there is {subject.text} {phrases.names[inverted.subject].noun.who} is {relation}", None, []
        return f"{subject.text} {_be(subject.is_plural)} {relation}", None, []
    claims_about = [claim for claim in claims if claim.subject == obj]
    portions = planner.split_properties([claim.parts for claim in claims_about])
    properties = portions[0] if portions else []
    neighbors = clear_neighbors(planner.lexicon, properties, _rule_neighbors(obj, claims, planner, phrases))
    main = Statement([obj], properties, neighbors if len(claims_about) < 3 else [])
    is_unclear = any(name not in phrases.known for name in prerequisites(main, planner.with_clause))
    # "Every cup is not red" could mean that not every cup is.
    is_denied = bool(claims_about) and not any(part.positive for part in main.properties[0])
    # "For every cup there is a fork to its left", but not "For every cup, the fork is to the left of the cup".
    has_known = any(claim.subject in phrases.known for claim in neighbors)
    if is_unclear or is_denied or (not claims_about and (not neighbors or (not has_known and rng.likely(40)))):
        every = phrases.every(obj)
        clauses = _plan(rule, claims, planner, phrases)
        text = realize_clause(clauses[0], phrases, rule=obj, first=True)
        if not text.startswith("there "):
            return f"for {every}, {text}", _only_subject(clauses[0]), clauses[1:]
        return f"for {every}{',' if phrases.names[obj].clause else ''} {text}", None, clauses[1:]
    expressed = {*main.neighbors, *(ObjectClaim(obj, prop) for prop in main.properties)}
    rest = [claim for claim in claims if claim not in expressed]
    more = rule.body.objects or rule.body.disjunctions or rule.body.counts
    is_bare = not (main.neighbors or rest or more or phrases.names[obj].clause)
    named = [part.rest[0] for prop in main.properties for part in prop if is_relation(part)]
    if is_bare and all(name in phrases.known for name in named) and rng.likely(30):
        return f"{phrases.all_of(obj)} {verb_phrase(main, phrases, plural=True)}", None, []
    text = f"{phrases.every(obj)} {verb_phrase(main, phrases, plural=False)}"
    return text, obj, _plan(rule, rest, planner, phrases)


def _rule_neighbors(obj: str, claims: list[ObjectClaim], planner: Planner, phrases: PhraseBuilder) -> list[ObjectClaim]:
    """Return at most two claims that position another object relative to this one, so that this one can "have" it."""
    related = [name for claim in claims for part in claim.parts for name in _partners(claim.subject, part, obj)]
    neighbors = []
    for claim in claims:
        part = claim.single
        if part is None or not is_relation(part) or part.rest[0] != obj or related.count(claim.subject) != 1:
            continue
        is_clear = claim.subject in phrases.known or claim.subject not in planner.with_clause
        if is_clear and planner.lexicon.relations[part.predicate].near is not None:
            neighbors.append(claim)
    return neighbors[:2]


def _partners(subject: str, part: ClaimPart, obj: str) -> list[str]:
    """Return the object that a part relates to the given object, as a list with at most one element."""
    objects = {subject, *part.rest} if is_relation(part) else set()
    return sorted(objects - {obj}) if obj in objects else []


def _only_subject(clause: Clause) -> str | None:
    return clause.subjects[0] if isinstance(clause, Statement) and len(clause.subjects) == 1 else None


def _plan(rule: Rule, claims: list[ObjectClaim], planner: Planner, phrases: PhraseBuilder) -> list[Clause]:
    body, rule_objects = rule.body, {rule.variable, *rule.body.objects}
    clauses = planner.plan(claims, body.disjunctions, body.objects, phrases.known, rule_objects=rule_objects)
    return [*clauses, *body.counts]


def inverse_claim(rule: Rule, claims: list[ObjectClaim]) -> ObjectClaim | None:
    """Return the only claim of a rule if it relates an outer object to every object of the rule, otherwise None."""
    if rule.body.objects or rule.body.disjunctions or rule.body.counts or len(claims) != 1:
        return None
    part = claims[0].single
    return claims[0] if part and is_relation(part) and part.rest[0] == rule.variable else None
