"""Questions that wait are answered together, and each gets its own answer."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from formalimg.models.base import Attachment, CallError, Completion, Message
from formalimg.models.local.checkpoint import Checkpoint
from formalimg.models.local.transformers_chat import LoadedChatModel, TransformersChat, open_transformers_chat
from tests_local.tiny.chats import save_tiny_llama, save_tiny_llava

torch = pytest.importorskip("torch", reason="needs the libraries of local models: pip install 'formalimg[local]'")
pytest.importorskip("transformers", reason="needs the libraries of local models: pip install 'formalimg[local]'")

COLORS = ["red", "blue", "white", "black", "green"]


@pytest.fixture(scope="module")
def llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_llava(tmp_path_factory.mktemp("llava"))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_llama(tmp_path_factory.mktemp("llama"))


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many questions were answered together, each time."""
    found: list[int] = []
    said = LoadedChatModel._generate

    def recorded(self: LoadedChatModel, questions: Sequence[Any]) -> Any:
        found.append(len(questions))
        return said(self, questions)

    monkeypatch.setattr(LoadedChatModel, "_generate", recorded)
    return found


def test_each_of_many_questions_gets_the_answer_it_would_get_alone(llava: Path, sizes: list[int]) -> None:
    questions = [_seen(color, f"is it {color}?" + " really?" * number) for number, color in enumerate(COLORS)]
    alone = [asked(_provider(llava), [question])[0] for question in questions]
    assert len({completion.text for completion in alone}) > 1
    sizes.clear()
    together = asked(_provider(llava, batch=4), questions)
    assert sorted(sizes) == [1, 4]
    assert together == alone, "with the same words, and the same tokens in and out"


def test_an_answer_that_ends_early_ends_there(llama: Path, sizes: list[int]) -> None:
    questions = [Message("user", (words,)) for words in ("hello", "how are you today", "zzz")]
    cut = asked(_provider(llama, batch=4), questions)
    assert {completion.ended for completion in cut} == {"length"}
    # A letter that stands at different places of the answers now counts as the end of answers.
    ends = [completion.text.index("?") + 1 for completion in cut]
    assert len(set(ends)) > 1
    ended = asked(_provider(llama, batch=4, generate_options={"eos_token_id": _token_of(llama, "?")}), questions)
    assert sizes == [3, 3]
    for before, after, end in zip(cut, ended, ends, strict=True):
        assert (after.ended, after.text, after.usage.output_tokens) == ("stop", before.text[:end], end)
        assert after.usage.input_tokens == before.usage.input_tokens
    assert len({completion.usage.input_tokens for completion in ended}) == 3, "padding does not count"


def test_questions_with_and_without_images_are_not_mixed(llava: Path, sizes: list[int]) -> None:
    questions = [message for color in COLORS[:3] for message in (_seen(color, "what?"), Message("user", (color,)))]
    alone = [asked(_provider(llava), [question])[0] for question in questions]
    sizes.clear()
    assert asked(_provider(llava, batch=8), questions) == alone
    assert sizes == [3, 3]


def test_a_batch_that_does_not_fit_into_memory_is_answered_in_halves(llama: Path, sizes: list[int]) -> None:
    questions = [Message("user", (words,)) for words in ("one", "two", "three", "four", "five")]
    alone = [asked(_provider(llama), [question])[0] for question in questions]
    sizes.clear()
    assert asked(_provider(llama, batch=8, generate_options={"logits_processor": [_Memory(2)]}), questions) == alone
    assert sizes == [5, 2, 2, 1]
    with pytest.raises(CallError, match="out of memory"):
        asked(_provider(llama, generate_options={"logits_processor": [_Memory(0)]}), questions[:1])


def test_a_question_that_cannot_be_asked_does_not_spoil_the_others(llama: Path) -> None:
    questions = [Message("user", ("hello",)), Message("user", ("how are you",))]
    provider = _provider(llama, batch=4)
    alone = [asked(_provider(llama), [question])[0] for question in questions]

    async def with_a_wrong_one() -> Any:
        wrong = Message("user", (7,))  # type: ignore[arg-type]
        calls = [provider.complete([message], None) for message in (questions[0], wrong, questions[1])]
        return await asyncio.gather(*calls, return_exceptions=True)

    first, failed, last = asyncio.run(with_a_wrong_one())
    assert [first, last] == alone
    assert isinstance(failed, Exception)


def test_two_devices_answer_at_the_same_time(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [Message("user", (words,)) for words in ("one", "two", "three", "four")]
    alone = [asked(_provider(llama), [question])[0] for question in questions]
    both = threading.Barrier(2, timeout=30)
    threads: set[str] = set()
    said = LoadedChatModel._generate

    def when_both_are_there(self: LoadedChatModel, asked_for: Sequence[Any]) -> Any:
        name = threading.current_thread().name
        if name not in threads:
            threads.add(name)
            both.wait()
        return said(self, asked_for)

    monkeypatch.setattr(LoadedChatModel, "_generate", when_both_are_there)
    assert asked(_provider(llama, devices=("cpu", "cpu")), questions) == alone
    assert len(threads) == 2


def test_batches_and_devices_are_no_settings_but_let_more_be_asked(llama: Path) -> None:
    plain = open_transformers_chat(str(llama), {})
    wide = open_transformers_chat(str(llama), {"batch": "8", "devices": "cpu,cpu"})
    assert plain.settings == wide.settings
    assert (plain.concurrency, wide.concurrency) == (2, 32)


class _Memory:
    """Stands where `run --no-judge` looks at each token, and has room for only so many answers."""

    def __init__(self, room: int) -> None:
        self._room = room

    def __call__(self, tokens: Any, scores: Any) -> Any:
        if len(tokens) > self._room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return scores


def asked(provider: TransformersChat, messages: Sequence[Message]) -> list[Completion]:
    """The answers to questions that are all asked at the same time."""

    async def together() -> list[Completion]:
        return await asyncio.gather(*(provider.complete([message], None) for message in messages))

    return asyncio.run(together())


def _provider(folder: Path, **more: Any) -> TransformersChat:
    checkpoint = Checkpoint(str(folder), None, "cpu", "float32")
    return TransformersChat("transformers/tiny", checkpoint, max_new_tokens=12, **more)


def _token_of(folder: Path, letter: str) -> int:
    from transformers import AutoTokenizer

    return int(AutoTokenizer.from_pretrained(folder).convert_tokens_to_ids(letter))


def _seen(color: str, words: str) -> Message:
    file = io.BytesIO()
    Image.new("RGB", (40, 30), color).save(file, "PNG")
    return Message("user", (Attachment(file.getvalue(), "image/png"), words))
