"""From a name to an image model, and what is said if there is none."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.registry import image_model_providers, open_image_model
from formalimg.types import ImageModel
from tests.support.models import Speckles, speckled


def open_speckles(name: str, options: Mapping[str, str]) -> ImageModel:
    return Speckles(name=f"speckles/{name}", settings=dict(options))


def test_our_own_providers_are_found_like_anyone_elses() -> None:
    assert {"builtin", "folder"} <= set(image_model_providers())
    assert open_image_model("builtin/scatter").name == "builtin/scatter"


def test_all_after_the_first_slash_is_the_providers(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "0.png").write_bytes(speckled("x"))
    assert open_image_model(f"folder/{tmp_path}/a/b").name == f"folder/{tmp_path}/a/b"


def test_a_provider_of_someone_else_is_given_name_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("speckles", "tests.models.test_opening:open_speckles", "formalimg.image_models")
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
    with pytest.raises(FormalimgError, match=r"unknown provider 'zzz': known are builtin, .*folder"):
        open_image_model("zzz/x")
