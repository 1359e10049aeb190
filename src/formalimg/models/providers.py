"""Which providers of models are installed, what each can do, and what is missing to use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any

from formalimg.models.needs import needs_of
from formalimg.models.opening import chat_model_providers, image_model_providers


@dataclass(frozen=True)
class Provider:
    """A provider of models.

    Attributes:
        name: how the names of its models begin.
        images: does it make images?
        answers: does it answer questions, as a judge, planner or writer?
        package: what it came with.
        summary: what it offers, in one line each.
        missing: what is to be done before it can be used.
    """

    name: str
    images: bool
    answers: bool
    package: str
    summary: tuple[str, ...]
    missing: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """The provider as plain data."""
        return {
            "name": self.name,
            "images": self.images,
            "answers": self.answers,
            "package": self.package,
            "summary": list(self.summary),
            "missing": list(self.missing),
            "ready": not self.missing,
        }


def installed_providers() -> list[Provider]:
    """All providers that are installed, by name. Nobody is called; only their modules are loaded."""
    images, chats = image_model_providers(), chat_model_providers()
    return [_provider(name, images.get(name), chats.get(name)) for name in sorted({*images, *chats})]


def _provider(name: str, images: EntryPoint | None, chats: EntryPoint | None) -> Provider:
    entries = [entry for entry in (images, chats) if entry is not None]
    summary: list[str] = []
    missing: list[str] = []
    for entry in entries:
        try:
            opening = entry.load()
        except Exception as error:  # somebody else's package may be broken in any way, and the others are not
            missing.append(f"mend {entry.value}, which cannot be loaded ({type(error).__name__}: {error})")
            continue
        summary.append(_first_line(opening))
        missing.extend(needs_of(opening).missing())
    package = entries[0].dist.name if entries[0].dist else ""
    return Provider(name, images is not None, chats is not None, package, _once(summary), _once(missing))


def _first_line(opening: Callable[..., Any]) -> str:
    return (opening.__doc__ or "").strip().partition("\n")[0]


def _once(lines: list[str]) -> tuple[str, ...]:
    return tuple(line for line in dict.fromkeys(lines) if line)
