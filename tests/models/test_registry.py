"""Providers of anyone are found, opened and listed, with what they need; presets stand for served models."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.judges.boxes import box_convention
from formalimg.judges.factory import PROTOCOLS, open_judge
from formalimg.models.registry import (
    Preset,
    chat_model_providers,
    expand_preset,
    image_model_providers,
    list_presets,
    list_providers,
    open_chat_model,
    open_image_model,
    presets,
)
from formalimg.types import ImageModel
from tests.support.installed import install
from tests.support.loopback import Loopback
from tests.support.models import Speckles


def open_speckles(name: str, options: Mapping[str, str]) -> ImageModel:
    return Speckles(name=f"speckles/{name}", settings=dict(options))


def test_our_own_providers_are_found_like_anyone_elses() -> None:
    assert {"builtin", "folder"} <= set(image_model_providers())
    assert open_image_model("builtin/scatter").name == "builtin/scatter"


def test_a_provider_of_someone_else_is_given_name_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("speckles", "tests.models.test_registry:open_speckles", "formalimg.image_models")
    monkeypatch.setattr("formalimg.models.registry.entry_points", lambda group: [entry])
    model = open_image_model("speckles/large/v2", {"steps": "4"})
    assert (model.name, model.settings) == ("speckles/large/v2", {"steps": "4"})


@pytest.mark.parametrize("name", ["", "reader", "builtin/", "/", "builtin"])
def test_names_without_a_model_are_refused(name: str) -> None:
    with pytest.raises(FormalimgError, match="write provider/model, as in builtin/reader"):
        open_image_model(name)


def test_a_mistyped_provider_is_corrected() -> None:
    with pytest.raises(FormalimgError, match=r"unknown provider 'bultin': did you mean builtin/reader\?"):
        open_image_model("bultin/reader")


def test_an_unknown_provider_lists_the_known_ones() -> None:
    with pytest.raises(FormalimgError, match=r"unknown provider 'zzz': choose from .*builtin, .*folder"):
        open_image_model("zzz/x")


_MODULE = '''
from types import SimpleNamespace
from formalimg.models import requires

def open_painter(model, options):
    """Paints in the dark.

    Not part of the summary.
    """
    return SimpleNamespace(name=f"acme/{model}", settings=dict(options))

@requires(keys=("ACME_KEY", "ACME_OTHER_KEY"), unless="on a Sunday")
def open_talker(model, options):
    """Talks."""
    return SimpleNamespace(name=f"acme/{model}", settings=dict(options))

@requires(modules=("json", "acme_sdk", "acme.deeper.sdk"), install="pip install acme-sdk")
def open_lacking(model, options):
    raise AssertionError("must not be called")
'''


@pytest.fixture(autouse=True)
def _acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry_points = {
        "formalimg.image_models": {
            "acme": "acme_models:open_painter",
            "lacking": "acme_models:open_lacking",
            "broken": "acme_broken:open_it",
            "gone": "acme_models:open_what_is_gone",
        },
        "formalimg.chat_models": {"acme": "acme_models:open_talker", "acmechat": "acme_models:open_talker"},
    }
    install(tmp_path, "acme-models", {"acme_models.py": _MODULE, "acme_broken.py": "import acme_sdk"}, entry_points)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("ACME_KEY", "ACME_OTHER_KEY"):
        monkeypatch.delenv(name, raising=False)
    for module in ("acme_models", "acme_broken"):
        monkeypatch.delitem(sys.modules, module, raising=False)


def test_models_of_others_are_opened_by_their_names() -> None:
    model = open_chat_model("acme/large/v2", {"temperature": "1"})
    assert (model.name, model.settings) == ("acme/large/v2", {"temperature": "1"})
    assert open_image_model("acme/x").name == "acme/x"
    assert "acme" in chat_model_providers()
    assert "acme" in image_model_providers()


@pytest.mark.parametrize("name", ["", "gpt-4o", "openai/", "/x"])
def test_names_without_a_chat_model_are_refused(name: str) -> None:
    with pytest.raises(FormalimgError, match=r"write provider/model, as in openai/gpt-4o|unknown provider ''"):
        open_chat_model(name)


def test_a_mistyped_chat_provider_is_corrected() -> None:
    with pytest.raises(FormalimgError, match=r"unknown provider 'acmchat': did you mean acmechat/x\?"):
        open_chat_model("acmchat/x")


def test_the_wrong_kind_of_model_is_named() -> None:
    with pytest.raises(FormalimgError, match="builtin/… has no chat models: its models make images"):
        open_chat_model("builtin/reader")
    with pytest.raises(FormalimgError, match="acmechat/… has no image models: its models answer questions"):
        open_image_model("acmechat/x")


def test_what_is_not_installed_is_noticed_before_anything_is_called() -> None:
    with pytest.raises(FormalimgError, match=r"lacking/… needs acme_sdk, acme\.deeper\.sdk: pip install acme-sdk"):
        open_image_model("lacking/x")


@pytest.mark.parametrize("provider", ["broken", "gone"])
def test_a_broken_provider_is_named(provider: str) -> None:
    with pytest.raises(FormalimgError, match=f"the provider '{provider}' cannot be loaded from acme_"):
        open_image_model(f"{provider}/x")


def test_the_list_says_what_each_can_do_and_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {provider.name: provider for provider in list_providers()}
    assert found["acme"].to_json() == {
        "name": "acme",
        "images": True,
        "answers": True,
        "finds": False,
        "reads": False,
        "package": "acme-models",
        "summary": ["Paints in the dark.", "Talks."],
        "missing": ["set ACME_KEY or ACME_OTHER_KEY (not needed on a Sunday)"],
        "ready": False,
    }
    assert found["lacking"].missing == ("pip install acme-sdk",)
    assert "ModuleNotFoundError: No module named 'acme_sdk'" in found["broken"].missing[0]
    assert found["builtin"].missing == ()
    assert (found["acmechat"].images, found["acmechat"].answers) == (False, True)
    monkeypatch.setenv("ACME_OTHER_KEY", "some-secret-of-acme")
    assert {provider.name: provider for provider in list_providers()}["acme"].missing == ()


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
    with pytest.raises(FormalimgError, match="there is no preset/elsewhere: choose from preset/gemma"):
        open_chat_model("preset/elsewhere")
