"""Parse English prompts into formulas.

The grammar reads the language that `realize` writes, and that of earlier versions. "A cup" introduces an object and
"the cup" calls it; a sentence with "every" begins a rule. The sentences after it belong to the rule as long as each
calls one of its objects, or says "in each case"; what the rule introduces ends with it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from formalimg.language.clause_parser import ClauseParser
from formalimg.language.description import Description, Rule, to_formula
from formalimg.language.lexicon import PRONOUNS, SuiteLexicon, WordingError, lexicon
from formalimg.language.phrase_parser import TokenReader
from formalimg.language.prose_lexicon import prose_lexicon
from formalimg.language.prose_parser import parse_prose
from formalimg.logic.syntax import Formula


def parse_prompt(text: str, suite: str) -> Formula:
    """Parse a prompt produced by `realize` into its formula.

    Raises:
        WordingError: if the text is not in that language; it says where and what was expected.
    """
    return parse_with(text, lexicon(suite))


def parse_with(text: str, words: SuiteLexicon) -> Formula:
    """Parse a prompt with the given lexicon, like `parse_prompt`."""
    parser = _PromptParser(TokenReader(text), words)
    parser.parse_text()
    return to_formula(Description(parser.style, parser.top))


class PromptReading(NamedTuple):
    """The formula of a text, and whether the text follows the grammar of `realize`."""

    formula: Formula
    own: bool


def understand(text: str, suite: str, classes: tuple[str, ...] = ()) -> PromptReading:
    """Parse a prompt with the grammar of `realize`, falling back to common patterns of plain English.

    In plain English "the cup is to the left of the fork" and "the fork is to the right of the cup" say the same; in the
    language of `realize`, the first is LeftOf and the second RightOf.

    Args:
        text: the prompt.
        suite: `knolling` or `natural`.
        classes: further classes, whose nouns are their names.

    Raises:
        WordingError: if the text is not understood, or can be understood in two ways.
    """
    try:
        return PromptReading(parse_with(text, prose_lexicon(suite, classes).words), own=True)
    except WordingError:
        return PromptReading(parse_prose(text, suite, classes), own=False)


class _PromptParser(ClauseParser):
    """Recursive-descent parser for prompts. Sentences that mention an object of the open rule continue the rule."""

    def __init__(self, reader: TokenReader, words: SuiteLexicon) -> None:
        super().__init__(reader, words)
        self.open_rule: Rule | None = None
        self.outside = 0  # how many objects of the scope are outside of the open rule

    # --- sentences

    def parse_text(self) -> None:
        self.reader.take_one_of((*self.words.openings.values(), *self.words.earlier_openings))
        while not self.reader.done:
            self.parse_sentence()
            self.reader.expect(".")
        if not (self.style or self.top.objects or self.top.rules or self.top.counts):
            raise WordingError("the text says nothing: write at least one sentence about the image")

    def parse_sentence(self) -> None:
        whole = self.reader.take("this is")
        style = self.reader.take_meaning(self.words.style_phrases)
        if style is None and whole:
            self.reader.fail("a style")
        if style is None:
            self.parse_rule_or_clause()
            return
        if self.style is not None:
            raise WordingError("the text names two styles: leave one out")
        self.style = style
        if whole:
            return
        if self.reader.expect("of", "in which") == "of":
            self.parse_presence()
        else:
            self.parse_rule_or_clause()

    def parse_rule_or_clause(self) -> None:
        if self.reader.take_one_of(self.words.connectives):
            self.reader.expect(",")
        is_continued = self.continues_rule()
        if is_continued:
            self.rule = self.open_rule
        else:
            if self.open_rule:
                del self.noun_phrases.scope[self.outside :]
            self.rule, self.outside = None, len(self.noun_phrases.scope)
        self.block = self.rule.body if self.rule else self.top
        if self.reader.take("for every"):
            variable = self.begin_rule(self.noun_phrases.parse_core())
            self.reader.take(",")
            self.subject = variable
            self.parse_clause()
        elif self.reader.take("every"):
            self.parse_predicate([self.begin_rule(self.noun_phrases.parse_core())])
        elif self.reader.take("all"):
            self.parse_predicate([self.begin_rule(self.noun_phrases.parse_core(plural=True))])
            self.subject = None
        else:
            self.parse_clause()
        self.parse_more_clauses()
        self.open_rule, self.rule, self.block = self.rule, None, self.top

    def parse_more_clauses(self) -> None:
        while self.reader.take_one_of((", and", ", while", "; and", ";")):
            self.parse_clause()

    def continues_rule(self) -> bool:
        """Return whether a sentence continues the open rule, either explicitly or by mentioning one of its objects."""
        if self.reader.take(f"{self.words.each_case} ,"):
            if self.open_rule is None:
                self.reader.fail("a sentence with 'every' before it")
            return True
        if self.open_rule is None or self.reader.next in ("every", "all") or self.reader.sees("for every"):
            return False
        rule_objects = {self.open_rule.variable, *self.open_rule.body.objects}
        if self.reader.next in PRONOUNS:
            return self.subject in rule_objects
        return bool(rule_objects & self.called_objects())

    def called_objects(self) -> set[str]:
        """Return the objects referenced in the rest of the sentence, without consuming it."""
        objects: set[str] = set()
        start = self.reader.place
        end = self.reader.words.index(".", start) if "." in self.reader.words[start:] else start
        for place in range(start, end):
            if self.reader.words[place] == "the":
                self.reader.place = place + 1
                with suppress(WordingError):
                    objects.add(self.noun_phrases.parse_definite())
        self.reader.place = start
        return objects
