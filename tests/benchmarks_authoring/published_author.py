"""A chat model that answers in the form of the authors' texts, and the texts that were pulled from their scripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from formalimg.benchmarks.download.texts import pull_texts
from formalimg.models.base import Answered, Message, Reply, Usage
from formalimg.types import AnswerType
from tests.support.published_scripts import authors_scripts, write_scripts


@dataclass
class PublishedAuthor:
    """Answers by a function of the last message and the type of the answer, and remembers the conversations."""

    reply: Callable[[str, Any], str]
    name: str = "scripted/model"
    settings: dict[str, Any] = field(default_factory=dict)
    concurrency: int = 1
    asked: list[list[tuple[str, str]]] = field(default_factory=list)

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        self.asked.append([(message.role, str(message.parts[0])) for message in messages])
        raw = self.reply(str(messages[-1].parts[0]), answer_type)
        read = getattr(answer_type, "from_text", answer_type.model_validate_json)
        return Answered(read(raw), raw, Usage(1, 1), 0.0, {})


def pulled(source: str, folder: Path, *, own: bool = True) -> tuple[Path, Path]:
    """The folder of the scripts, ours or the authors', and the folder of the texts that were pulled from there."""
    scripts = write_scripts(folder / "scripts", source) if own else authors_scripts(source)
    pull_texts(source, folder / "texts", scripts)
    return scripts, folder / "texts"
