"""Providers of anyone are found, opened and listed, with what they need; what is broken is named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.registry import (
    chat_model_providers,
    image_model_providers,
    list_providers,
    open_chat_model,
    open_image_model,
)
from tests.support.installed import install

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
def test_names_without_a_model_are_refused(name: str) -> None:
    with pytest.raises(FormalimgError, match=r"write provider/model, as in openai/gpt-4o|unknown provider ''"):
        open_chat_model(name)


def test_a_mistyped_provider_is_corrected() -> None:
    with pytest.raises(FormalimgError, match=r"unknown provider 'acmchat': did you mean acmechat/x\?"):
        open_chat_model("acmchat/x")


def test_the_wrong_kind_of_model_is_named() -> None:
    with pytest.raises(FormalimgError, match="builtin/… answers no questions: its models make images"):
        open_chat_model("builtin/reader")
    with pytest.raises(FormalimgError, match="acmechat/… makes no images: its models answer questions"):
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
