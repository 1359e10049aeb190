"""Express counts in English, such as "there are exactly three red cups"."""

from __future__ import annotations

from formalimg.language.counts import amount_text, is_singular
from formalimg.language.description import CountedObjects, ObjectClaim
from formalimg.language.phrases import PhraseBuilder

_AS_SUBJECT = 50  # In how many cases of a hundred the counted objects are the subject, where they can be


def realize_count(count: CountedObjects, phrases: PhraseBuilder) -> str:
    """Express a count in English. Objects introduced in the count are scoped to it."""
    known, ruled = set(phrases.known), phrases.ruled
    phrases.ruled = set()  # in here the jeans of a rule are called by their noun first, and then "them"
    name = phrases.names[count.variable]
    singular = is_singular(count.bound, count.number)
    verb = "is" if singular else "are"
    amount = f"{amount_text(count.bound, count.number)} {phrases.counted(count.variable, singular=singular)}"
    properties = [claim.parts for claim in name.clause]
    plain = all(claim.single is not None for claim in name.clause)
    # "Exactly two forks are left of a plate" could mean one plate for both of them.
    each = bool(count.body.objects)
    if properties and plain and not each and count.positive and not name.related and phrases.rng.likely(_AS_SUBJECT):
        text = f"{amount} {verb} {phrases.join_properties(properties)}"
    else:
        text = f"there {verb} {'' if count.positive else 'not '}{amount}"
        placed = plain and not each and all(_is_place(claim, phrases) for claim in name.clause)
        if properties:
            who = "" if placed else f"{name.noun.who} {verb} {'each ' if each and not singular else ''}"
            text += f" {who}{phrases.join_properties(properties)}"
        related = [_related(claim, phrases) for claim in name.related]
        text += (" and" if properties and related else "") + " and".join(related)
    phrases.known, phrases.ruled = known, ruled
    return text


def _related(claim: ObjectClaim, phrases: PhraseBuilder) -> str:
    """Express the relation of another object to the counted objects, such as "that the plate is above"."""
    subject, part = phrases.refer(claim.subject), claim.parts[0]
    verb = f"{'are' if subject.many else 'is'}{'' if part.positive else ' not'}"
    who = "which" if subject.text.startswith("that ") else "that"
    return f" {who} {subject.text} {verb} {phrases.phrase_for(part.predicate)}"


def _is_place(claim: ObjectClaim, phrases: PhraseBuilder) -> bool:
    """Return whether the claim can directly follow the noun, as in "two forks to the left of the plate"."""
    predicate = claim.parts[0].predicate
    return predicate in phrases.lexicon.places or predicate in phrases.lexicon.relations
