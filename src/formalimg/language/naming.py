"""Choose the noun and adjectives of each object, and distinguish objects of the same class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeVar

from formalimg.language.description import (
    ClaimPart,
    CountedObjects,
    Description,
    ObjectClaim,
    claim_objects,
    is_relation,
)
from formalimg.language.lexicon import PARTICULAR, UNNAMED, AdjectiveEntry, Noun, SuiteLexicon, WordingError

T = TypeVar("T")


class HashRng:
    """Reproducible random number generator based on a hash of a text and a counter."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._counter = 0

    def below(self, bound: int) -> int:
        """Return a random integer from 0 up to, but not including, the bound."""
        self._counter += 1
        digest = sha256(f"{self._counter}:{self._source}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % bound

    def likely(self, percent: int) -> bool:
        """Return True with the given probability in percent."""
        return self.below(100) < percent

    def choice(self, choices: Sequence[T]) -> T:
        """Return a random element, with equal probability for each."""
        return choices[self.below(len(choices))]


@dataclass
class ObjectName:
    """The noun phrase that introduces an object and the form used for later references."""

    noun: Noun
    adjectives: list[tuple[AdjectiveEntry, ...]] = field(default_factory=list)  # alternatives, such as "red or blue"
    clause: list[ObjectClaim] = field(default_factory=list)  # what follows "that is"
    distinguishing: AdjectiveEntry | None = None  # repeated in later references
    mark: str | None = None
    number: int | None = None  # if set, `mark` becomes an ordinal; it counts those before all that have a number
    related: list[ObjectClaim] = field(default_factory=list)  # of counted objects: "that the plate is above"


@dataclass(frozen=True)
class Naming:
    """The names of all objects and the claims not expressed by them."""

    names: dict[str, ObjectName]
    remaining: dict[str, list[ObjectClaim]]  # by the variable of their rule; under the empty name those of no rule

    @property
    def with_clause(self) -> set[str]:
        """The objects introduced with a relative clause."""
        return {obj for obj, name in self.names.items() if name.clause}

    @property
    def people(self) -> set[str]:
        """The objects with a pronoun other than "it"."""
        return {obj for obj, name in self.names.items() if name.noun.pronoun != "it"}


def name_objects(description: Description, lexicon: SuiteLexicon, rng: HashRng) -> Naming:
    """Give every object a name that is unambiguous wherever it is referenced."""
    top = description.block
    blocks = [("", top), *((rule.variable, rule.body) for rule in top.rules)]
    names: dict[str, ObjectName] = {}
    remaining: dict[str, list[ObjectClaim]] = {}
    for variable, block in blocks:
        remaining[variable] = list(block.claims)
        for obj in block.objects:
            names[obj] = _name(obj, remaining[variable], lexicon, rng, guard=False)
    for rule in top.rules:
        names[rule.variable] = _name(rule.variable, list(rule.guard), lexicon, rng, guard=True)
    for variable, block in blocks:
        outside = [*top.objects, *block.objects, variable] if variable else top.objects
        for count in block.counts:
            names |= _count_names(count, {names[obj].noun for obj in outside}, lexicon, rng)
    _distinguish(description, names, lexicon)
    return Naming(names, remaining)


def _name(obj: str, claims: list[ObjectClaim], lexicon: SuiteLexicon, rng: HashRng, *, guard: bool) -> ObjectName:
    """Return the name of an object, removing the claims that it expresses from `claims`."""
    name = ObjectName(lexicon.nouns[UNNAMED])
    for claim in [claim for claim in claims if claim.subject == obj]:
        adjectives = _adjectives(claim.parts, lexicon)
        if claim.single and claim.single.predicate == "Is":
            name.noun = lexicon.nouns[claim.single.rest[0]]
        elif adjectives and _fits_before(adjectives, name, claim) and (guard or len(adjectives) == 1 or rng.likely(60)):
            name.adjectives.append(adjectives)
        elif guard or _belongs_behind(claim, adjectives, rng):
            name.clause.append(claim)
        else:
            continue
        claims.remove(claim)
    name.adjectives.sort(key=lambda group: group[0].rank)
    return name


def _adjectives(parts: tuple[ClaimPart, ...], lexicon: SuiteLexicon) -> tuple[AdjectiveEntry, ...]:
    """Return the adjectives for the parts, or nothing unless all parts are attributes."""
    entries = [lexicon.adjectives.get((part.predicate, part.rest[0])) for part in parts if part.rest]
    adjectives = tuple(entry for entry in entries if entry)
    return adjectives if len(adjectives) == len(parts) else ()


def _fits_before(adjectives: tuple[AdjectiveEntry, ...], name: ObjectName, claim: ObjectClaim) -> bool:
    """Return whether the alternatives can precede the noun: all of one kind not yet used."""
    kinds = {adjective.predicate for adjective in adjectives}
    is_expressible = all(part.positive for part in claim.parts) and all(adjective.before for adjective in adjectives)
    return is_expressible and len(kinds) == 1 and not kinds & {group[0].predicate for group in name.adjectives}


def _belongs_behind(claim: ObjectClaim, adjectives: tuple[AdjectiveEntry, ...], rng: HashRng) -> bool:
    """Return whether an attribute should follow the noun, as in "a lamp that is switched on"."""
    if not adjectives or len(claim.parts) > 1:
        return False
    return adjectives[0].before is None if claim.single else rng.likely(50)


def _count_names(
    count: CountedObjects, outer_nouns: set[Noun], lexicon: SuiteLexicon, rng: HashRng
) -> dict[str, ObjectName]:
    """Return the names of the counted objects and of the objects introduced within the count."""
    claims = list(count.body.claims)
    counted = _name(count.variable, claims, lexicon, rng, guard=True)
    counted.related = [claim for claim in claims if claim_objects(claim)[1:] == [count.variable]]
    claims = [claim for claim in claims if claim not in counted.related]
    names = {count.variable: counted}
    for obj in count.body.objects:
        names[obj] = _name(obj, claims, lexicon, rng, guard=True)
        is_related = any(is_relation(part) for claim in names[obj].clause for part in claim.parts)
        if is_related or names[obj].noun in outer_nouns:
            raise WordingError(
                f"no words found for {obj} inside a count: move it out in front, or give it its own class"
            )
        outer_nouns = {*outer_nouns, names[obj].noun}
    counted_claims = [*counted.clause, *counted.related]
    plain = {obj for claim in counted_claims if claim.single for obj in claim_objects(claim)}
    doubtful = {obj for claim in counted_claims if not claim.single for obj in claim_objects(claim)}
    if not plain - doubtful >= {*count.body.objects}:
        raise WordingError(f"no words found for the count of {count.variable}: an object inside it is under not or or")
    return names


def _distinguish(description: Description, names: dict[str, ObjectName], lexicon: SuiteLexicon) -> None:
    top = description.block
    for noun in {id(name.noun): name.noun for name in names.values()}.values():
        outer = [obj for obj in top.objects if names[obj].noun is noun]
        rules = [rule for rule in top.rules if names[rule.variable].noun is noun]
        inner = [[obj for obj in rule.body.objects if names[obj].noun is noun] for rule in top.rules]
        if len(outer) == 1 and rules and not any(inner):
            names[outer[0]].mark = PARTICULAR
            continue
        count = len(outer) + max(map(len, inner), default=0) + bool(rules)
        if count < 2 or (not rules and not any(inner) and _distinguish_by_color(outer, names)):
            continue
        if count > len(lexicon.ordinals):
            raise WordingError(f"there are too many objects of the class {noun.text} to distinguish them in a prompt")
        for obj in outer:
            names[obj].number = 0
        for rule, objects in zip(top.rules, inner, strict=True):
            is_alone = not outer and len(objects) == 1 and rule not in rules
            for obj in objects:
                names[obj].number = None if is_alone else int(rule in rules and not outer)


def _distinguish_by_color(objects: list[str], names: dict[str, ObjectName]) -> bool:
    """Distinguish objects by colour if every object has a unique one."""
    colors = []
    for obj in objects:
        groups = [group for group in names[obj].adjectives if len(group) == 1]
        own_colors = [group[0] for group in groups if group[0].predicate in ("Has", "HasColor")]
        if not own_colors:
            return False
        colors += own_colors
    if len({color.word for color in colors}) < len(colors):
        return False
    for obj, color in zip(objects, colors, strict=True):
        names[obj].distinguishing = color
    return True
