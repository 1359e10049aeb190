"""Chat models on this machine: a tiny LLaVA and a tiny Llama answer noise, and nothing is made of it."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from PIL import Image
from pydantic import BaseModel
from tests.support.models import small_items
from tests.support.run_contents import judged, order

from formalimg.errors import FormalimgError
from formalimg.judges.grounders.vlm import VlmGrounder
from formalimg.judges.scene_judge import SceneJudge
from formalimg.models.base import Attachment, Message, Unanswered
from formalimg.models.builtin.baselines import open_baseline
from formalimg.models.local.checkpoint import Checkpoint
from formalimg.models.local.transformers_chat import TransformersChat, open_transformers_chat
from formalimg.runs.execution import execute
from formalimg.types import Unscored
from tests_local.tiny.chats import save_tiny_llama, save_tiny_llava

pytest.importorskip("transformers", reason="needs the libraries of local models: pip install 'formalimg[local]'")


class YesOrNo(BaseModel):
    yes: bool


@pytest.fixture(scope="module")
def llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_llava(tmp_path_factory.mktemp("llava"))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_llama(tmp_path_factory.mktemp("llama"))


def test_noise_is_unreadable_and_always_the_same(llava: Path) -> None:
    chat = open_transformers_chat(str(llava), {"max_new_tokens": "16", "cache": "off"})
    replies = [asyncio.run(chat.ask([_question("red")], YesOrNo)) for _ in range(2)]
    for reply in replies:
        assert isinstance(reply, Unanswered)
        assert reply.kind == "unreadable"
        assert reply.usage.output_tokens == 16, "one answer: a greedy model asked again would say the same"
        assert reply.usage.input_tokens > 16 + len("is it red?"), "the image takes 16 tokens"
    assert replies[0].raw == replies[1].raw != ""


def test_images_reach_the_model(llava: Path) -> None:
    provider = _provider(llava)
    texts = {asyncio.run(provider.complete([_question(color)], None)).text for color in ("red", "blue", "white")}
    assert len(texts) > 1


def test_an_answer_that_comes_to_its_end_is_told_from_one_that_is_cut_off(llama: Path) -> None:
    words = [Message("system", ("be short",)), Message("user", ("hello",))]
    cut = asyncio.run(_provider(llama).complete(words, None))
    assert (cut.ended, cut.usage.output_tokens) == ("length", 12)
    # Whatever it says first now counts as the end of an answer.
    ended = asyncio.run(_provider(llama, {"eos_token_id": list(range(60))}).complete(words, None))
    assert ended.usage.output_tokens == 1
    assert cut.served["device"] == "cpu"
    assert {"transformers", "torch", "dtype", "model"} <= set(cut.served)


def test_a_model_that_reads_only_cannot_be_shown_an_image(llama: Path) -> None:
    with pytest.raises(FormalimgError, match="reads text only"):
        asyncio.run(_provider(llama).complete([_question("red")], None))


def test_as_a_judge_it_leaves_everything_unscored(llava: Path, tmp_path: Path) -> None:
    chat = open_transformers_chat(str(llava), {"max_new_tokens": "8", "cache": "off"})
    judge = SceneJudge(VlmGrounder(chat))
    progress = execute(order(open_baseline("oracle", {}), small_items(4), size=128), tmp_path, judge)
    assert (progress.made, progress.unscored) == (4, 4)
    for entry in judged(tmp_path):
        assert isinstance(entry.verdict, Unscored)
        assert entry.verdict.reason == "not understood"


def test_there_must_be_a_model_that_can_chat(llama: Path, tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match="no folder"):
        open_transformers_chat(str(tmp_path / "nowhere"), {})
    with pytest.raises(FormalimgError, match="cannot be loaded"):
        asyncio.run(_provider(tmp_path).complete([Message("user", ("hello",))], None))
    with pytest.raises(FormalimgError, match="has no option 'temprature': did you mean temperature"):
        open_transformers_chat(str(llama), {"temprature": "1"})


def test_a_model_without_a_chat_template_says_so(llama: Path, tmp_path: Path) -> None:
    for file in llama.iterdir():
        if "template" not in file.name:
            (tmp_path / file.name).write_bytes(file.read_bytes())
    with pytest.raises(FormalimgError, match="no chat template"):
        asyncio.run(_provider(tmp_path).complete([Message("user", ("hello",))], None))


def _provider(folder: Path, generating: dict[str, object] | None = None) -> TransformersChat:
    checkpoint = Checkpoint(str(folder), None, "cpu", "float32")
    return TransformersChat("transformers/tiny", checkpoint, max_new_tokens=12, generate_options=generating)


def _question(color: str) -> Message:
    file = io.BytesIO()
    Image.new("RGB", (40, 30), color).save(file, "PNG")
    return Message("user", (Attachment(file.getvalue(), "image/png"), "is it red?"))
