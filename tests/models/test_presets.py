"""Presets of open judges stand for a served model with its options."""

from __future__ import annotations

import json

import pytest

from formalimg.errors import FormalimgError
from formalimg.judges.boxes import box_convention
from formalimg.judges.factory import PROTOCOLS, open_judge
from formalimg.models.registry import Preset, expand_preset, list_presets, open_chat_model, presets
from tests.support.loopback import Loopback

pytestmark = pytest.mark.usefixtures("stand_alone")


@pytest.mark.parametrize("preset", presets(), ids=lambda preset: preset.name)
def test_a_preset_says_how_its_model_is_used(preset: Preset) -> None:
    assert box_convention(preset.model).name == preset.boxes
    assert preset.protocol in PROTOCOLS
    assert preset.model.partition("/")[2] in preset.serve.split()
    assert open_chat_model(preset.name).name == preset.model
    assert preset.certificate or "none was measured" in " ".join(preset.summary)


def test_a_preset_judges_at_its_server_with_its_options() -> None:
    with Loopback(reply=lambda asked: json.dumps({"objects": []})) as server:
        judge = open_judge("knolling", "preset/qwen3.5-35b-a3b", {"base_url": f"{server.url}/v1", "boxes": "pixels"})
    assert judge.name == "openai/Qwen/Qwen3.5-35B-A3B"
    assert judge.settings["boxes"] == "pixels"
    assert judge.settings["base_url"] == f"{server.url}/v1"
    assert judge.settings["extra.chat_template_kwargs"] == '{"enable_thinking": false}'
    assert judge.concurrency == 32


def test_the_server_of_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert expand_preset("preset/qwen3-vl-8b")[1]["base_url"] == "http://127.0.0.1:8000/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert "base_url" not in expand_preset("preset/qwen3-vl-8b")[1]
    assert expand_preset("openai/gpt-4o", {"seed": "1"}) == ("openai/gpt-4o", {"seed": "1"})


def test_presets_are_listed_and_misspelt_ones_corrected() -> None:
    assert [each.name for each in list_presets()] == [preset.name for preset in presets()]
    with pytest.raises(FormalimgError, match=r"there is no preset/qwen3-vl-8: did you mean preset/qwen3-vl-8b\?"):
        open_judge("knolling", "preset/qwen3-vl-8")
    with pytest.raises(FormalimgError, match="there is no preset/elsewhere: known are preset/gemma"):
        open_chat_model("preset/elsewhere")
