"""Choose the noun and adjectives of each object, and distinguish objects of the same class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeVar

from formalimg.language.description import (
    ClaimPart,
    CountedObjects,
    Description,
    DescriptionBlock,
    ObjectClaim,
    claim_objects,
    is_relation,
)
from formalimg.language.lexicon import PARTICULAR, AdjectiveEntry, Noun, SuiteLexicon, WordingError

_Choice = TypeVar("_Choice")


class HashRng:
    """Reproducible random number generator based on a hash of a text and a counter."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._drawn = 0

    def below(self, bound: int) -> int:
        """Return a random integer from 0 up to, but not including, the bound."""
        self._drawn += 1
        digest = sha256(f"{self._drawn}:{self._source}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % bound

    def likely(self, percent: int) -> bool:
        """Return True with the given probability in percent."""
        return self.below(100) < percent

    def one_of(self, choices: Sequence[_Choice]) -> _Choice:
        """Return a random element, with equal probability for each."""
        return choices[self.below(len(choices))]


@dataclass
class ObjectName:
    """The noun phrase that introduces an object and the form used for later references.

    `adjectives` stand before the noun when it is introduced, each a list of alternatives ("red or blue"); `clause` is
    what follows "that is". `distinguishing` is the adjective that is repeated in later references. An object with a
    `number` gets its ordinal as `mark` when it is introduced; the number says how many of its class count before all
    that have one.
    """

    noun: Noun
    adjectives: list[tuple[AdjectiveEntry, ...]] = field(default_factory=list)
    clause: list[ObjectClaim] = field(default_factory=list)
    distinguishing: AdjectiveEntry | None = None
    mark: str | None = None
    number: int | None = None
    related: list[ObjectClaim] = field(default_factory=list)
    """Of counted objects: what other objects are to them, "that the plate is above"."""


@dataclass(frozen=True)
class Naming:
    """The names of all objects and the claims not expressed by them."""

    names: dict[str, ObjectName]
    left: dict[str, list[ObjectClaim]]
    """The remaining claims by the variable of their rule; under the empty name those of no rule."""

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
    names: dict[str, ObjectName] = {}
    left: dict[str, list[ObjectClaim]] = {}
    for variable, block in [("", top), *((rule.variable, rule.body) for rule in top.rules)]:
        left[variable] = list(block.claims)
        for obj in block.objects:
            names[obj] = _name(obj, left[variable], lexicon, rng, guard=False)
    for rule in top.rules:
        names[rule.variable] = _name(rule.variable, list(rule.guard), lexicon, rng, guard=True)
    for rule_variable, block in [("", top), *((rule.variable, rule.body) for rule in top.rules)]:
        outside = [*top.objects, *(block.objects if rule_variable else ()), *filter(None, [rule_variable])]
        for count in block.counts:
            names |= _counted_names(count, {names[obj].noun for obj in outside}, lexicon, rng)
    naming = Naming(names, left)
    _distinguish(description, naming, lexicon)
    return naming


def _name(obj: str, claims: list[ObjectClaim], lexicon: SuiteLexicon, rng: HashRng, *, guard: bool) -> ObjectName:
    """Return the name of an object, removing the claims that it expresses from `claims`."""
    name = ObjectName(lexicon.unnamed)
    for claim in [claim for claim in claims if claim.subject == obj]:
        adjectives = tuple(_adjectives(claim.parts, lexicon))
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


def _counted_names(
    count: CountedObjects, taken: set[Noun], lexicon: SuiteLexicon, rng: HashRng
) -> dict[str, ObjectName]:
    """Return the names of the counted objects and of the objects introduced within the count."""
    left = list(count.body.claims)
    counted = _name(count.variable, left, lexicon, rng, guard=True)
    counted.related = [claim for claim in left if claim_objects(claim)[1:] == [count.variable]]
    left = [claim for claim in left if claim not in counted.related]
    names = {count.variable: counted}
    for obj in count.body.objects:
        names[obj] = _name(obj, left, lexicon, rng, guard=True)
        if any(is_relation(part) for claim in names[obj].clause for part in claim.parts) or names[obj].noun in taken:
            raise WordingError(
                f"no words found for {obj} inside a count: move it out in front, or give it its own class"
            )
        taken = {*taken, names[obj].noun}
    if not _introduces_plainly(count.body, counted):
        raise WordingError(f"no words found for the count of {count.variable}: an object inside it is under not or or")
    return names


def _introduces_plainly(body: DescriptionBlock, counted: ObjectName) -> bool:
    """Return whether every object within a count is introduced outside of negations and alternatives."""
    claims = [*counted.clause, *counted.related]
    named = [obj for claim in claims if claim.single for obj in claim_objects(claim)]
    doubtful = [obj for claim in claims if not claim.single for obj in claim_objects(claim)]
    return all(obj in named and obj not in doubtful for obj in body.objects)


def _belongs_behind(claim: ObjectClaim, adjectives: tuple[AdjectiveEntry, ...], rng: HashRng) -> bool:
    """Return whether an attribute should follow the noun, as in "a lamp that is switched on"."""
    if not adjectives or len(claim.parts) > 1:
        return False
    return adjectives[0].before is None if claim.single else rng.likely(50)


def _adjectives(parts: Iterable[ClaimPart], lexicon: SuiteLexicon) -> Iterator[AdjectiveEntry]:
    """Return the adjectives for the parts, or nothing unless all parts are attributes."""
    found = [lexicon.adjectives.get((part.predicate, part.rest[0])) if part.rest else None for part in parts]
    return iter([adjective for adjective in found if adjective] if all(found) else [])


def _fits_before(adjectives: tuple[AdjectiveEntry, ...], name: ObjectName, claim: ObjectClaim) -> bool:
    """Return whether the alternatives can precede the noun: all of one kind not yet used."""
    kinds = {adjective.predicate for adjective in adjectives}
    taken = {group[0].predicate for group in name.adjectives}
    expressible = all(part.positive for part in claim.parts) and all(adjective.before for adjective in adjectives)
    return expressible and len(kinds) == 1 and not kinds & taken


def _distinguish(description: Description, naming: Naming, lexicon: SuiteLexicon) -> None:
    top, names = description.block, naming.names
    for noun in {id(name.noun): name.noun for name in names.values()}.values():
        outer = [obj for obj in top.objects if names[obj].noun is noun]
        ruled = [rule for rule in top.rules if names[rule.variable].noun is noun]
        inner = [[obj for obj in rule.body.objects if names[obj].noun is noun] for rule in top.rules]
        if len(outer) == 1 and ruled and not any(inner):
            names[outer[0]].mark = PARTICULAR
            continue
        most = max(map(len, inner), default=0)
        if len(outer) + most + bool(ruled) > 1:
            if not ruled and not any(inner) and _distinguish_by_color(outer, names):
                continue
            if len(outer) + most + bool(ruled) > len(lexicon.ordinals):
                raise WordingError(
                    f"there are too many objects of the class {noun.text} to distinguish them in a prompt"
                )
            for obj in outer:
                names[obj].number = 0
            for rule, objects in zip(top.rules, inner, strict=True):
                alone = not outer and len(objects) == 1 and rule not in ruled
                for obj in objects:
                    names[obj].number = None if alone else int(rule in ruled and not outer)


def _distinguish_by_color(objects: list[str], names: dict[str, ObjectName]) -> bool:
    """Distinguish objects by colour if every object has a unique one."""
    colors = []
    for obj in objects:
        found = [g[0] for g in names[obj].adjectives if len(g) == 1 and g[0].predicate in ("Has", "HasColor")]
        if not found:
            return False
        colors += found
    if len({color.word for color in colors}) < len(colors):
        return False
    for obj, color in zip(objects, colors, strict=True):
        names[obj].distinguishing = color
    return True
