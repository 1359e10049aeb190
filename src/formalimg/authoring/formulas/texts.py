"""The texts that writer and checker are sent, filled from an assignment and the suite's vocabulary."""

from __future__ import annotations

from pathlib import Path

from formalimg.authoring.formulas.assignment import Assignment
from formalimg.logic import STYLE, Formula, Predicate, vocabulary
from formalimg.prompts import load_prompts

_OURS = Path(__file__).parent / "prompts"


class Texts:
    """The two texts of a suite.

    Attributes:
        versions: of the texts, by name.
    """

    def __init__(self, suite: str, folder: Path | None = None) -> None:
        """Read the texts.

        Args:
            suite: whose.
            folder: where texts lie that replace ours.

        Raises:
            PromptError: if a text lacks a placeholder, or has one that nobody fills.
        """
        known = load_prompts(_OURS, folder)
        self._write, self._check = known[f"write-{suite}"], known[f"check-{suite}"]
        self._suite = suite
        self.versions = {text.name: text.version for text in (self._write, self._check)}

    def asking_to_write(self, assignment: Assignment) -> str:
        """What the writer is sent."""
        words = [f"- {kind}: {', '.join(offered)}" for kind, offered in assignment.words.items()]
        return self._write.fill(
            {
                "classes": ", ".join(assignment.classes),
                "level": str(assignment.level),
                "predicates": _listed(assignment.suite, ("Is", *assignment.predicates)),
                "quantifiers": ", ".join(assignment.quantifiers),
                "style": _style(assignment.style),
                "words": "\n".join(words) or "- none",
            }
        )

    def asking_to_check(self, prompt: str, formula: Formula) -> str:
        """What the checker is sent."""
        every = tuple(vocabulary(self._suite).predicates)
        return self._check.fill({"prompt": prompt, "formula": str(formula), "predicates": _listed(self._suite, every)})


def _listed(suite: str, names: tuple[str, ...]) -> str:
    known = vocabulary(suite).predicates
    return "\n".join(f"- {_usage(known[name])}: {known[name].meaning}" for name in names)


def _usage(predicate: Predicate) -> str:
    variables = iter(("?a", "?b"))
    arguments = [next(variables) if kind == "variable" else f"'{kind}'" for kind in predicate.arguments]
    return f"({' '.join([predicate.name, *arguments])})"


def _style(style: str | None) -> str:
    if style is None:
        return f"none: neither the words nor the formula speak of a style, and there is no {STYLE}"
    return f"{style}, written ({STYLE} '{style}') as the first part of an and around the rest of the formula"
