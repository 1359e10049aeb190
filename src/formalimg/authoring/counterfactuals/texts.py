"""The texts that writer and checker are sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from formalimg.authoring.counterfactuals.choices import Law, Told
from formalimg.prompts import load_prompts
from formalimg.suites import Group

_OURS = Path(__file__).parent / "prompts"


class Texts:
    """The texts of one task.

    Attributes:
        versions: of the texts, by name.
    """

    def __init__(self, names: Sequence[str], folder: Path | None = None) -> None:
        """Read the texts.

        Args:
            names: those that the task needs.
            folder: where texts lie that replace ours.

        Raises:
            PromptError: if a text lacks a placeholder, or has one that nobody fills.
        """
        known = load_prompts(_OURS, folder)
        self._texts = {name: known[name] for name in names}
        self.versions = {name: text.version for name, text in self._texts.items()}

    def asking_for_group(self, law: Law, place: str, change: str) -> str:
        """What the writer is sent for a group."""
        known = ", ".join(filter(None, (law.discipline, law.branch)))
        field = known or "not said: choose the one it belongs to"
        return self._texts["write-group"].fill({"law": law.law, "field": field, "place": place, "change": change})

    def asking_to_check_group(self, group: Group) -> str:
        """What the checker is sent for a group."""
        return self._texts["check-group"].fill(asdict(group))

    def asking_for_questions(self, prompt: str, rule: str, shows: str) -> str:
        """What the writer is sent for the questions about an image."""
        return self._texts["write-scores"].fill({"prompt": prompt, "rule": rule, "shows": shows})

    def asking_to_describe(self, told: Told, way: str) -> str:
        """What the writer is sent for an outcome without its names."""
        outcome = told.outcome or "(not marked: find it yourself; it is what the second prompt does not have)"
        return self._texts["write-description"].fill(
            {"explicit": told.explicit.prompt, "implicit": told.implicit, "outcome": outcome, "way": way}
        )

    def asking_to_check_description(self, outcome: str, described: str, prompt: str) -> str:
        """What the checker is sent for it."""
        return self._texts["check-description"].fill({"outcome": outcome, "described": described, "prompt": prompt})

    def asking_for_pair(self, obj: str, letter: str, bond: str) -> str:
        """What the writer is sent for a pair."""
        return self._texts["write-pair"].fill({"thing": obj, "letter": letter, "bond": bond})

    def asking_to_check_pair(self, a: str, rare: str, common: str, prompts: tuple[str, str]) -> str:
        """What the checker is sent for it."""
        values = {"a": a, "rare": rare, "common": common, "rare_prompt": prompts[0], "common_prompt": prompts[1]}
        return self._texts["check-pair"].fill(values)
