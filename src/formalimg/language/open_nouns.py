"""Find nouns in prompts that are missing from the lexicon.

A single unknown word behind "a" or a number, and behind adjectives that are known, names a class: "seven black pigs".
Of two unknown words nobody can say whether the first is an adjective, so they stay unknown.
"""

from __future__ import annotations

import re
from functools import cache

from formalimg.language.counts import number_of
from formalimg.language.lexicon import PRONOUNS, plural_of, singular_of
from formalimg.language.phrase_parser import phrase_words
from formalimg.language.prose_lexicon import prose_lexicon

_FUNCTION_WORDS = (
    "a an the this that these those who which where while with of and or but not no is are has have to at by for from "
    "as into over behind near around between through every each all both some many several few any other another its "
    "their"
)


def find_unknown_nouns(text: str, suite: str, classes: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the unknown nouns in a prompt as class names, in the singular."""
    prose = prose_lexicon(suite, classes)
    known = {*prose.words.singulars, *prose.words.plurals}
    # Not a state: a swimming pool does not swim.
    adjectives = {word for word, entry in prose.words.before.items() if entry.predicate != "HasState"}
    words = prose.reader(text).words
    found: dict[str, None] = {}
    for place, word in enumerate(words[:-1]):
        number = 1 if word in ("a", "an", "no") else number_of(word)
        if number is None:
            continue
        end = start = place + 1
        while re.fullmatch(r"[a-z]{3,}(-[a-z]+)*", words[end]) and words[end] not in _boundaries(suite):
            end += 1
        while start < end - 1 and words[start] in adjectives:
            start += 1
        if end - start != 1 or words[start] in known or words[start] in adjectives:
            continue
        noun = words[start] if number == 1 else singular_of(words[start])
        if noun is not None and not {noun, plural_of(noun)} & known:
            found[noun] = None
    return tuple(found)


@cache
def _boundaries(suite: str) -> frozenset[str]:
    """Return the words that end a noun phrase, including relations, verbs and other words with a known use."""
    prose = prose_lexicon(suite)
    phrases = [*prose.relations, *prose.alignments, *prose.verbs, *prose.words.after, *prose.words.predicate_phrases]
    phrases += [phrase for listed in prose.phrases.values() for phrase in listed]
    phrases += [_FUNCTION_WORDS, *PRONOUNS, *prose.styles]
    words = {word for phrase in phrases for word in phrase_words(phrase)}
    return frozenset(words - {*prose.words.before})
