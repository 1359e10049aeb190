"""The texts that writer and checker are sent, filled with statements, bindings and captions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from formalimg.authoring.concepts.mix import Mix
from formalimg.prompts import load_prompts
from formalimg.suites import Binding

_OURS = Path(__file__).parent / "prompts"


class Texts:
    """All texts for ConceptMix.

    Attributes:
        versions: of the texts, by name.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Read the texts.

        Args:
            folder: where texts lie that replace ours.

        Raises:
            PromptError: if a text lacks a placeholder, or has one that nobody fills.
        """
        self._texts = load_prompts(_OURS, folder)
        self.versions = {name: text.version for name, text in self._texts.items()}

    def asking_to_bind(self, binding: Binding) -> str:
        """What the writer is sent if something in a binding is open."""
        return self._texts["write-binding"].fill({"binding": _json(binding)})

    def asking_for_caption(self, mix: Mix) -> str:
        """What the writer is sent for the caption."""
        return self._texts["write-caption"].fill(_told(mix))

    def asking_to_check(self, mix: Mix, caption: str, *, repeat: bool) -> str:
        """What the checker is sent; it may have to repeat the caption, as in the published code."""
        return self._texts["repeat-caption" if repeat else "check-caption"].fill({**_told(mix), "caption": caption})

    def asking_for_questions(self, mix: Mix, caption: str) -> str:
        """What the writer is sent for the questions."""
        return self._texts["write-questions"].fill(
            {"statements": _listed(mix.statements), "caption": caption, "count": str(len(mix.statements))}
        )


def _told(mix: Mix) -> dict[str, str]:
    return {"statements": _listed(mix.statements), "binding": _json(mix.binding)}


def _listed(statements: Sequence[str]) -> str:
    return "\n".join(f"{number}. {statement}" for number, statement in enumerate(statements, 1))


def _json(binding: Binding) -> str:
    return json.dumps(binding.to_json(), ensure_ascii=False)
