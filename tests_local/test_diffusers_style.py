"""Pipelines that read few words get the short text about the style, without being loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from formalimg.models.local.diffusers_model import open_diffusers
from formalimg.runs.plan import default_style
from tests_local.tiny.pipelines import save_tiny_flux, save_tiny_sd, save_tiny_sdxl

pytest.importorskip("diffusers", reason="needs the libraries of local models: pip install 'formalimg[local]'")


@pytest.mark.parametrize(
    ("save", "style"), [(save_tiny_sd, "short"), (save_tiny_sdxl, "short"), (save_tiny_flux, "long")]
)
def test_the_style_text_that_a_pipeline_can_take(save: Callable[[Path], Path], style: str, tmp_path: Path) -> None:
    model = open_diffusers(str(save(tmp_path)), {})
    assert default_style("knolling", model) == style
    assert default_style("natural", model) == "none"


def test_a_folder_without_an_index_is_taken_to_read_on(tmp_path: Path) -> None:
    (tmp_path / "model_index.json").write_text("{")
    assert open_diffusers(str(tmp_path), {}).style == "long"
