"""Convert formulas to English prompts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from formalimg.language.description import DescriptionBlock, claim_objects, describe
from formalimg.language.equivalence import is_equivalent_as_written
from formalimg.language.flow import write_clauses, write_rule
from formalimg.language.lexicon import SuiteLexicon, WordingError, lexicon, lexicon_of, with_classes
from formalimg.language.naming import HashRng, Naming, name_objects
from formalimg.language.parser import parse_with
from formalimg.language.phrase_parser import MAX_CHARACTERS
from formalimg.language.phrases import PhraseBuilder
from formalimg.language.planning import (
    AlignedGroup,
    Clause,
    Enumeration,
    Ordering,
    Planner,
    mentioned_objects,
)
from formalimg.language.sentences import SHOWS, begin_rule, inverted_claim
from formalimg.logic.syntax import Formula, atoms, to_text
from formalimg.logic.vocabulary import Vocabulary, vocabulary

LISTED_FIRST = {"knolling": 35, "natural": 15}
"""In how many cases of a hundred the objects are listed before anything is said of them."""

_NOT_SHOWN = ("there is no ", "there is not ", "there are not ")
"""How sentences begin that do not say what a picture is of."""


def realize(formula: Formula, suite: str, *, seed: int = 0) -> str:
    """Convert a formula to an English prompt with exactly the same meaning.

    The seed chooses between sentence shapes; the same formula and seed give the same text on any machine. The text
    is parsed back before it is returned, so that it always leads to the same formula.

    Args:
        formula: a closed formula over the vocabulary of the suite; predicates that it does not have are said by the
            phrases of another suite, or by their names.
        suite: `knolling` or `natural`.
        seed: which of the possible wordings to take.

    Raises:
        WordingError: if the formula is not of a shape that can be put into words, or too long or too confusing.
    """
    words = lexicon_of(formula, suite)
    text = _written(formula, suite, seed, words)
    if len(text) > MAX_CHARACTERS:
        raise WordingError(
            f"no words found for the formula: they have {len(text):,} characters, over {MAX_CHARACTERS:,}"
        )
    understood = parse_with(text, words)
    try:
        reads_back = is_equivalent_as_written(understood, formula)
    except WordingError as error:
        raise WordingError(f"no words found for the formula: {error}") from error
    if not reads_back and words is not lexicon(suite):
        raise WordingError("no words found for the formula: the names of its predicates read as something else")
    if not reads_back:
        raise RuntimeError(f"the text does not parse back to the formula {formula}: {text}")
    return text


def has_wording(formula: Formula, suite: str, classes: Collection[str] = ()) -> bool:
    """Return whether a formula can be expressed in English that parses back to the same formula."""
    words, known = with_classes(lexicon_of(formula, suite), classes), vocabulary(suite)
    if not words.nouns.keys() >= {*classes}:  # two classes of one noun
        return False
    named = {**known.words, "class": tuple(dict.fromkeys((*known.words["class"], *classes)))}
    try:
        text = _written(formula, suite, 0, words, replace(known, words=named))
        return is_equivalent_as_written(parse_with(text, words), formula)
    except WordingError:
        return False


def _written(formula: Formula, suite: str, seed: int, words: SuiteLexicon, known: Vocabulary | None = None) -> str:
    rng = HashRng(f"{seed} {suite} {to_text(formula)}")
    description = describe(formula, known or suite)
    naming = name_objects(description, words, rng)
    phrases = PhraseBuilder(words, naming.names, rng)
    listed_first = rng.likely(LISTED_FIRST[suite])
    clauses = _planned(description.block, naming, words, rng, listed_first)
    there = description.style is not None and rng.likely(90)
    sentences = write_clauses([*clauses, *description.block.counts], phrases, there=there)
    sentences += _rules(description.block, naming, phrases)
    if description.style:
        sentences = _styled(words.styles[description.style], sentences, rng)
    opening = _opening(formula, suite, words)
    return " ".join([*opening, *(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)])


def _planned(
    block: DescriptionBlock, naming: Naming, words: SuiteLexicon, rng: HashRng, listed_first: bool
) -> list[Clause]:
    """Plan the clauses outside of rules, omitting an object that is better introduced by a rule."""
    planner = Planner(words, rng, naming.with_clause, naming.with_clause | naming.people)
    claims, objects = naming.left[""], [obj for obj in block.objects if obj != _left_to_rule(block, naming)]
    clauses = planner.plan(claims, block.disjunctions, objects, ())
    orders = [clause for clause in clauses if isinstance(clause, Ordering | AlignedGroup)]
    if (
        len(objects) < 3
        or not listed_first
        or any(len(mentioned_objects(order)) * 2 > len(objects) for order in orders)
    ):
        return clauses
    return [Enumeration(objects), *planner.plan(claims, block.disjunctions, objects, objects)]


def _left_to_rule(block: DescriptionBlock, naming: Naming) -> str | None:
    """Return an object whose only claim is its relation to every object of the only rule."""
    if len(block.rules) != 1 or block.disjunctions or block.counts:
        return None
    rule = block.rules[0]
    turned = inverted_claim(rule, naming.left[rule.variable])
    if turned is None or naming.names[turned.subject].clause or naming.names[rule.variable].clause:
        return None
    return None if any(turned.subject in claim_objects(claim) for claim in naming.left[""]) else turned.subject


def _rules(block: DescriptionBlock, naming: Naming, phrases: PhraseBuilder) -> list[str]:
    """Return the sentences of all rules. Objects introduced in a rule are scoped to it."""
    planner = Planner(phrases.lexicon, phrases.rng, naming.with_clause, set(naming.names))
    outside = set(phrases.known)
    sentences: list[str] = []
    for rule in block.rules:
        phrases.known = set(outside)
        beginning = begin_rule(rule, naming.left[rule.variable], planner, phrases)
        sentences += write_rule(rule, beginning, phrases)
    return sentences


def _styled(style: str, sentences: list[str], rng: HashRng) -> list[str]:
    """Add the style at the start, either merged into the first sentence or as a separate one."""
    first = sentences[0] if sentences else ""
    for beginning in ("there is ", "there are ", *(f"the image {verb} " for verb in SHOWS)):
        if first.startswith(beginning) and not first.startswith(_NOT_SHOWN) and rng.likely(90):
            return [f"{style} of {first.removeprefix(beginning)}", *sentences[1:]]
    if first.startswith(("every ", "a ", "an ", "all ")) and rng.likely(85):
        return [f"{style} in which {first}", *sentences[1:]]
    return [f"this is {style}", *sentences]


def _opening(formula: Formula, suite: str, words: SuiteLexicon) -> list[str]:
    """Return the fixed opening sentence if the suite or formula requires one."""
    if suite in words.openings:
        return [words.openings[suite]]
    directed = any(atom.predicate in ("LeftOf", "RightOf") for atom in atoms(formula))
    return [words.openings["directions"]] if directed else []
