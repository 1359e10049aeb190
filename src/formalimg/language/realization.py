"""Convert formulas to English prompts, and clauses of formulas to sentences."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from formalimg.language.description import DescriptionBlock, Rule, claim_objects, describe
from formalimg.language.equivalence import is_equivalent_as_written
from formalimg.language.lexicon import PRONOUNS, SuiteLexicon, WordingError, lexicon, lexicon_of, with_classes
from formalimg.language.naming import HashRng, Naming, name_objects
from formalimg.language.parser import parse_with
from formalimg.language.phrase_parser import MAX_CHARACTERS
from formalimg.language.phrases import PhraseBuilder, Tail
from formalimg.language.planning import AlignedGroup, Clause, Enumeration, Ordering, Planner, Statement, objects_in
from formalimg.language.sentences import SHOWS, begin_rule, inverse_claim, realize_clause, verb_phrase
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Count, Exists, Forall, Formula, Not, Or, atoms, subformulas, to_text
from formalimg.logic.variables import free_variables
from formalimg.logic.vocabulary import Vocabulary, vocabulary

_SHORT = 16  # Limit on the words of the beginning of a rule to which another clause is joined
_MAX_WORDS = 32  # Limit on the words of a sentence that is joined from two, or has a relative clause
_SUBJECT_WORDS = ("the", "a", "an", "that", *PRONOUNS)  # First words of a sentence that begins with its subject
_RELATIVE_CHANCE = 85  # Percentage of relative clauses about the last object, if possible
_PAIR_CHANCE = 75  # Percentage of short sentences that are joined, if possible


@dataclass
class Sentence:
    """A sentence without capitalization or final period. `subjects` are the subjects of its last clause."""

    text: str
    subjects: tuple[str, ...] = ()
    first_subjects: tuple[str, ...] = ()  # the subjects it begins with, unless they are pronouns
    is_joinable: bool = False  # whether it can be joined to the sentence before
    tail: Tail | None = None  # the object at its end, to which a relative clause can be attached
    ends_in_list: bool = False  # whether it ends with several objects, so that "and a cup" would seem to continue them
    pronouns: int = 0  # how many sentences in a row have a pronoun as their subject
    mentioned: set[str] = field(default_factory=set)  # the objects that a pronoun after it could stand for


def write_rule(
    rule: Rule, text: str, subject: str | None, clauses: Sequence[Clause], phrases: PhraseBuilder
) -> list[str]:
    """Return the sentences of a rule that begins with the text, which contains "every", about the subject."""
    tail = phrases.tail if subject == rule.variable else None
    first = Sentence(text, (subject,) if subject else (), tail=tail, ends_in_list=phrases.ends_in_list)
    return write_clauses(clauses, phrases, rule_objects={rule.variable, *rule.body.objects}, first=first)


def write_clauses(
    clauses: Sequence[Clause],
    phrases: PhraseBuilder,
    *,
    rule_objects: set[str] | None = None,
    first: Sentence | None = None,
    there: bool = False,
) -> list[str]:
    """Convert clauses to sentences. With `there`, the first begins with "there is" if possible."""
    sentences = [first] if first else []
    each_case = phrases.lexicon.each_case
    for clause in clauses:
        previous = sentences[-1] if sentences else Sentence("")
        if isinstance(clause, Statement) and previous.tail and _can_extend(clause, previous, phrases):
            relative = "which" if phrases.names[previous.tail.obj].noun.pronoun == "it" else "who"
            text = f"{previous.text}, {relative} {verb_phrase(clause, phrases, plural=previous.tail.is_plural)}"
            sentences[-1] = Sentence(text, first_subjects=previous.first_subjects, is_joinable=previous.is_joinable)
            continue
        is_anchored = rule_objects is None or bool(rule_objects & phrases.known & set(objects_in(clause)))
        rule = None if rule_objects is None else "" if is_anchored else each_case
        sentence = _write_clause(clause, previous, phrases, rule=rule, first=there and not sentences)
        if is_anchored:
            sentences.append(sentence)
        elif _can_append_unanchored(previous, sentence, each_case, is_first=len(sentences) == 1):
            sentences[-1] = Sentence(f"{previous.text}, and {sentence.text}", sentence.subjects)
        else:
            sentences.append(Sentence(f"{each_case}, {sentence.text}", sentence.subjects))
    return [sentence.text for sentence in _join_pairs(sentences, phrases)]


def _can_append_unanchored(previous: Sentence, sentence: Sentence, each_case: str, *, is_first: bool) -> bool:
    """Return whether a clause that mentions no object of its rule can be joined to the previous sentence."""
    if previous.ends_in_list:
        return False
    if is_first:
        return len(previous.text.split()) <= _SHORT and "," not in previous.text
    words = len(previous.text.split()) + len(sentence.text.split())
    return previous.text.startswith(each_case) and previous.text.count(",") == 1 and words <= _MAX_WORDS


def _write_clause(
    clause: Clause, previous: Sentence, phrases: PhraseBuilder, *, rule: str | None, first: bool
) -> Sentence:
    subjects = tuple(clause.subjects) if isinstance(clause, Statement) else ()
    is_new = not any(obj in phrases.known for obj in subjects)
    also = subjects == previous.subjects if subjects else isinstance(clause, Enumeration) and bool(previous.text)
    pronoun = also and not is_new and len(subjects) == 1 and previous.pronouns < 2
    pronoun = pronoun and _is_clear_pronoun(subjects[0], previous, phrases)
    text = realize_clause(clause, phrases, rule=rule, also=also, first=first, pronoun=pronoun)
    words = text.split()
    leading = subjects if words[0] in _SUBJECT_WORDS else ()
    return Sentence(
        text,
        leading,
        () if pronoun else leading,
        not pronoun and not isinstance(clause, Enumeration) and "every" not in words,
        phrases.tail if leading else None,
        phrases.ends_in_list,
        previous.pronouns + 1 if pronoun else 0,
        {*objects_in(clause), *(previous.mentioned if pronoun else ())},
    )


def _is_clear_pronoun(obj: str, previous: Sentence, phrases: PhraseBuilder) -> bool:
    """Return whether a pronoun would refer unambiguously to the object.

    "They" is never clear, because it could refer to all objects in the previous sentence.
    """
    pronoun = phrases.pronoun_name(obj)
    other_pronouns = {phrases.pronoun_name(name) for name in previous.mentioned - {obj}}
    return pronoun != "they" and obj not in phrases.ruled and pronoun not in other_pronouns


def _can_extend(clause: Statement, previous: Sentence, phrases: PhraseBuilder) -> bool:
    """Return whether a clause can be attached as a relative clause, such as "which is above the plate"."""
    if previous.tail is None or clause.subjects != [previous.tail.obj]:
        return False
    parts = [part for prop in clause.properties for part in prop]
    if len(clause.properties) > 2 or len(clause.neighbors) + bool(parts) > 1 or not all(p.positive for p in parts):
        return False
    words = len(previous.text.split()) + 6 * len(clause.properties) + 7 * len(clause.neighbors)
    return words <= _MAX_WORDS and phrases.rng.likely(_RELATIVE_CHANCE)


def _join_pairs(sentences: list[Sentence], phrases: PhraseBuilder) -> list[Sentence]:
    joined: list[Sentence] = []
    for sentence in sentences:
        previous = joined[-1] if joined else Sentence("")
        words = len(previous.text.split()) + len(sentence.text.split())
        is_short = words <= _MAX_WORDS and "," not in previous.text and not previous.ends_in_list
        has_other_subjects = bool(previous.first_subjects) and not {*previous.first_subjects} & {
            *sentence.first_subjects
        }
        if is_short and has_other_subjects and sentence.is_joinable and phrases.rng.likely(_PAIR_CHANCE):
            joined[-1] = Sentence(f"{previous.text}, and {sentence.text}", sentence.subjects)
        else:
            joined.append(sentence)
    return joined


LIST_CHANCE = {"knolling": 35, "natural": 15}  # Percentage of prompts that begin with a list of their objects

_NEGATIONS = ("there is no ", "there is not ", "there are not ")


def realize(formula: Formula, suite: str, *, seed: int = 0) -> str:
    """Convert a formula to an English prompt with exactly the same meaning.

    The seed chooses between sentence shapes; the same formula and seed give the same text on any machine. The text
    is parsed back before it is returned, so that it always leads to the same formula.

    Args:
        formula: a closed formula over the vocabulary of the suite; predicates that are not in it are expressed by the
            phrases of another suite, or by their names.
        suite: `knolling` or `natural`.
        seed: selects among the possible wordings.

    Raises:
        WordingError: if the formula has a form that cannot be expressed in English, or is too long or too confusing.
    """
    words = lexicon_of(formula, suite)
    text = _write(formula, suite, seed, words)
    if len(text) > MAX_CHARACTERS:
        raise WordingError(
            f"no words found for the formula: they have {len(text):,} characters, over {MAX_CHARACTERS:,}"
        )
    parsed = parse_with(text, words)
    try:
        reads_back = is_equivalent_as_written(parsed, formula)
    except WordingError as error:
        raise WordingError(f"no words found for the formula: {error}") from error
    if not reads_back and words is not lexicon(suite):
        raise WordingError("no words found for the formula: the names of its predicates read as something else")
    if not reads_back:
        raise RuntimeError(f"the text does not parse back to the formula {formula}: {text}")
    return text


def has_wording(formula: Formula, suite: str, classes: Collection[str] = ()) -> bool:
    """Return whether a formula can be expressed in English that parses back to the same formula."""
    words, base = with_classes(lexicon_of(formula, suite), classes), vocabulary(suite)
    if not words.nouns.keys() >= {*classes}:  # two classes of one noun
        return False
    extended = {**base.words, "class": tuple(dict.fromkeys((*base.words["class"], *classes)))}
    try:
        text = _write(formula, suite, 0, words, replace(base, words=extended))
        return is_equivalent_as_written(parse_with(text, words), formula)
    except WordingError:
        return False


def _write(formula: Formula, suite: str, seed: int, words: SuiteLexicon, extended: Vocabulary | None = None) -> str:
    rng = HashRng(f"{seed} {suite} {to_text(formula)}")
    description = describe(formula, extended or suite)
    block = description.block
    naming = name_objects(description, words, rng)
    phrases = PhraseBuilder(words, naming.names, rng)
    clauses = _plan(block, naming, words, rng, rng.likely(LIST_CHANCE[suite]))
    there = description.style is not None and rng.likely(90)
    sentences = write_clauses([*clauses, *block.counts], phrases, there=there)
    planner = Planner(words, rng, naming.with_clause, set(naming.names))
    outside = set(phrases.known)
    for rule in block.rules:
        phrases.known = set(outside)  # what a rule introduces is scoped to it
        sentences += write_rule(rule, *begin_rule(rule, naming.remaining[rule.variable], planner, phrases), phrases)
    if description.style:
        sentences = _add_style(words.styles[description.style], sentences, rng)
    has_directions = any(atom.predicate in ("LeftOf", "RightOf") for atom in atoms(formula))
    opening = words.openings.get(suite, words.openings["directions"] if has_directions else "")
    return " ".join([*filter(None, [opening]), *(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)])


def _plan(
    block: DescriptionBlock, naming: Naming, words: SuiteLexicon, rng: HashRng, lists_objects: bool
) -> list[Clause]:
    """Plan the clauses outside of rules, omitting an object that is better introduced by a rule."""
    planner = Planner(words, rng, naming.with_clause, naming.with_clause | naming.people)
    claims, deferred = naming.remaining[""], _rule_subject(block, naming)
    objects = [obj for obj in block.objects if obj != deferred]
    clauses = planner.plan(claims, block.disjunctions, objects, ())
    orders = [clause for clause in clauses if isinstance(clause, Ordering | AlignedGroup)]
    is_order_long = any(len(objects_in(order)) * 2 > len(objects) for order in orders)
    if len(objects) < 3 or not lists_objects or is_order_long:
        return clauses
    return [Enumeration(objects), *planner.plan(claims, block.disjunctions, objects, objects)]


def _rule_subject(block: DescriptionBlock, naming: Naming) -> str | None:
    """Return an object whose only claim is its relation to every object of the only rule."""
    if len(block.rules) != 1 or block.disjunctions or block.counts:
        return None
    rule = block.rules[0]
    claim = inverse_claim(rule, naming.remaining[rule.variable])
    if claim is None or naming.names[claim.subject].clause or naming.names[rule.variable].clause:
        return None
    is_mentioned = any(claim.subject in claim_objects(top_claim) for top_claim in naming.remaining[""])
    return None if is_mentioned else claim.subject


def _add_style(style: str, sentences: list[str], rng: HashRng) -> list[str]:
    """Add the style at the start, either merged into the first sentence or as a separate one."""
    first = sentences[0] if sentences else ""
    for beginning in ("there is ", "there are ", *(f"the image {verb} " for verb in SHOWS)):
        if first.startswith(beginning) and not first.startswith(_NEGATIONS) and rng.likely(90):
            return [f"{style} of {first.removeprefix(beginning)}", *sentences[1:]]
    if first.startswith(("every ", "a ", "an ", "all ")) and rng.likely(85):
        return [f"{style} in which {first}", *sentences[1:]]
    return [f"this is {style}", *sentences]


# --- clauses


def clause_in_words(clause: str, formula: str, suite: str) -> str:
    """Express a clause of a formula in English, such as "A cup is to the left of a fork." for `(LeftOf ?a ?b)`.

    The classes and quantifiers of the variables are taken from the formula.
    """
    whole, part = parse(formula), parse(clause)
    literals = part.parts if isinstance(part, Or) else (part,)
    conditions = [literal.body for literal in literals if isinstance(literal, Not) and not _is_count(literal)]
    claims: list[Formula] = [literal for literal in literals if not isinstance(literal, Not) or _is_count(literal)]
    if not claims:
        conditions, claims = [], list(literals)
    if len(claims) > 1:
        raise WordingError(f"no words found for the clause {clause}: it offers a choice")
    text = realize(parse(_close(whole, conditions, claims[0])), suite)
    for opening in lexicon(suite).openings.values():
        text = text.removeprefix(opening).lstrip()
    return text


def _is_count(literal: Formula) -> bool:
    return isinstance(literal.body if isinstance(literal, Not) else literal, Count)


def _close(whole: Formula, conditions: Sequence[Formula], claim: Formula) -> str:
    """Convert a claim to a closed formula, using the quantifiers and classes of the whole formula."""
    quantifiers = {p.variable.name: isinstance(p, Forall) for p in subformulas(whole) if isinstance(p, Exists | Forall)}
    free = {
        name: None
        for part in (claim, *conditions)
        for atom in atoms(part)
        for name in atom.variables
        if name in free_variables(part)
    }
    # The witness that a strict `forall` asks for has a name of its own.
    names = [*(name for name in free if name not in quantifiers), *(name for name in quantifiers if name in free)]
    universal = [name for name in names if quantifiers.get(name)]
    classes: dict[str, str] = {}
    for atom in atoms(whole):
        if atom.predicate == "Is" and len(atom.variables) == 1:
            classes.setdefault(atom.variables[0], str(atom))
    classes = {name: text for name, text in classes.items() if text != str(claim)}
    if len(universal) > 1 or bool(universal) != bool(conditions):
        raise WordingError(f"no words found for the clause {claim}: it is not about one kind of object")
    if not universal:
        return _exists(names, classes, str(claim))
    index = names.index(universal[0])
    condition = str(conditions[0]) if len(conditions) == 1 else f"(and {' '.join(map(str, conditions))})"
    consequent = _exists(names[index + 1 :], classes, str(claim))
    return _exists(names[:index], classes, f"(forall ?{universal[0]} (implies {condition} {consequent}))")


def _exists(names: Sequence[str], classes: dict[str, str], body: str) -> str:
    """Wrap the text of a formula in an `exists` for each name, adding the class of each."""
    stated = [classes[name] for name in names if name in classes]
    text = f"(and {' '.join([*stated, body])})" if stated else body
    for name in reversed(names):
        text = f"(exists ?{name} {text})"
    return text
