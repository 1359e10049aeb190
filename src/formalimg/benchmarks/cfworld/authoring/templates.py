"""Prompt templates for writer and checker of CF-World, and text checks they share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.outcomes import Rejection
from formalimg.benchmarks.authoring.task import clean_prompt
from formalimg.benchmarks.cfworld.group_checks import check_group
from formalimg.benchmarks.cfworld.spec import CounterfactualGroup
from formalimg.judges.published_protocol import system_and_user
from formalimg.prompts import load_prompts, read_prompt

if TYPE_CHECKING:
    from formalimg.benchmarks.cfworld.authoring.choices import Law, NamedOutcome

_OURS = Path(__file__).parent / "prompts"


class CounterfactualTemplates:
    """Prompt templates of one task.

    Attributes:
        versions: of the texts, by name.
    """

    def __init__(self, names: Sequence[str], folder: Path | None = None) -> None:
        """Read the texts."""
        known = load_prompts(_OURS, folder)
        self._texts = {name: known[name] for name in names}
        if folder is not None and self.is_published("write-scores"):
            sections = (read_prompt(folder / f"questions-{kind}.txt") for kind in ("factual", "counterfactual"))
            self._texts |= {section.name: section for section in sections}
        self.versions = {name: text.version for name, text in self._texts.items()}

    def is_published(self, name: str) -> bool:
        """Return whether a text is of the authors' form, which is filled with a prompt and its assessment points."""
        return name in self._texts and "assessment_points" in self._texts[name].placeholders

    def dimension(self, level: Literal[1, 2]) -> str:
        """Return the authors' section on whose laws hold: ours, or those of another world."""
        return self._texts[f"questions-{'factual' if level == 1 else 'counterfactual'}"].fill({})

    def messages(self, name: str, values: Mapping[str, str]) -> tuple[str, str]:
        """Return the system message, which may be empty, and the user message of a text."""
        return system_and_user(self._texts[name], values)

    def asking_for_group(self, law: Law, place: str, change: str) -> str:
        """Return the prompt for a group."""
        known = ", ".join(filter(None, (law.discipline, law.branch)))
        field = known or "not said: choose the one it belongs to"
        return self._texts["write-group"].fill({"law": law.law, "field": field, "place": place, "change": change})

    def asking_to_check_group(self, group: CounterfactualGroup) -> str:
        """Return the prompt for checking a group."""
        return self._texts["check-group"].fill(asdict(group))

    def asking_for_questions(self, prompt: str, rule: str, shows: str) -> str:
        """Return the prompt for the questions about an image."""
        return self._texts["write-scores"].fill({"prompt": prompt, "rule": rule, "shows": shows})

    def asking_for_rule_question(self, prompt: str, shows: str) -> str:
        """Return the prompt for the one question about a drawing in which a rule decides."""
        return self._texts["write-rule-question"].fill({"prompt": prompt, "shows": shows})

    def asking_to_describe(self, named: NamedOutcome, way: str) -> str:
        """Return the prompt for describing an outcome without names."""
        outcome = named.outcome or "(not marked: find it yourself; it is what the second prompt does not have)"
        return self._texts["write-description"].fill(
            {"explicit": named.explicit.prompt, "implicit": named.implicit, "outcome": outcome, "way": way}
        )

    def asking_to_check_description(self, outcome: str, described: str, prompt: str) -> str:
        """Return the prompt for the checker."""
        return self._texts["check-description"].fill({"outcome": outcome, "described": described, "prompt": prompt})

    def asking_for_pair(self, obj: str, letter: str, bond: str) -> str:
        """Return the prompt for a pair."""
        return self._texts["write-pair"].fill({"thing": obj, "letter": letter, "bond": bond})

    def asking_to_check_pair(self, a: str, rare: str, common: str, prompts: tuple[str, str]) -> str:
        """Return the prompt for the checker."""
        values = {"a": a, "rare": rare, "common": common, "rare_prompt": prompts[0], "common_prompt": prompts[1]}
        return self._texts["check-pair"].fill(values)


def clean_fields(given: Mapping[str, str]) -> dict[str, str] | Rejection:
    """Return the texts on one line each, if all of them can be part of a prompt."""
    found: dict[str, str] = {}
    for name, text in given.items():
        words = clean_prompt(text)
        if isinstance(words, Rejection):
            return Rejection(words.reason, f"{name}: {words.detail}")
        found[name] = words
    return found


def one_line(text: str) -> str:
    """Return a comment of a model on one line, short enough to be stored."""
    return truncate(" ".join(text.split()), 250, 50) or "no reason given"


_WORD = re.compile(r"[a-z]+")
_SHORTEST, _KEPT = 4, 4
"""Shorter words carry little, and no ending reaches into the first letters."""


@lru_cache(maxsize=8192)
def word_stems(text: str) -> frozenset[str]:
    """Return the stems of the longer words of a text."""
    return frozenset(word[:_KEPT] for word in _WORD.findall(text.lower()) if len(word) >= _SHORTEST)


def shared_stems(text: str, inside: str) -> float:
    """The part of a text's roots that another text has; 1 for a text without any."""
    own = word_stems(text)
    return len(own & word_stems(inside)) / len(own) if own else 1.0


def stem_overlap(one: str, other: str) -> float:
    """The part of all roots of two texts that both have."""
    together = word_stems(one) | word_stems(other)
    return len(word_stems(one) & word_stems(other)) / len(together) if together else 1.0


def unsafe_word(text: str) -> str | None:
    """Return what is unsafe in a text, as in `says 'gun'`; None if nothing is."""
    # The words are those of the checker of groups; so the text is shown to it as the law of a group.
    shown = CounterfactualGroup(**{**{field.name: "" for field in fields(CounterfactualGroup)}, "law": text})
    found = next((problem.detail for problem in check_group(shown) if problem.reason == "unsafe"), None)
    return None if found is None else found.removeprefix("law ")
