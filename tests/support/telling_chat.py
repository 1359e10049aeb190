"""A chat model whose provider gives the next of some texts: everything between the provider and the caller is real."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from formalimg.models.base import Completion, Message
from formalimg.models.provider_models import build_chat_model
from formalimg.models.retry import RetryPolicy
from formalimg.types import ChatModel, Setting


class TellingProvider:
    """Gives text after text, whatever it is asked.

    Attributes:
        asked: all conversations, each with the schema that came along.
    """

    def __init__(self, texts: Iterable[str], name: str = "test/telling", ended: str = "stop") -> None:
        self.name = name
        self.settings: Mapping[str, Setting] = {}
        self.asked: list[tuple[Sequence[Message], Mapping[str, object] | None]] = []
        self._texts = iter(texts)
        self._ended = ended

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        self.asked.append((messages, schema))
        return Completion(next(self._texts), self._ended)  # type: ignore[arg-type]


def telling(texts: Iterable[str], name: str = "test/telling") -> ChatModel:
    """A chat model that says these texts one after the other, asks nothing twice, and remembers nothing."""
    return build_chat_model(TellingProvider(texts, name), retry_policy=RetryPolicy(parse_retries=0, cache=False))
