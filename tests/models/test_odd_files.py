"""Pipes, arrays and looping links in the place of weights and images: one line that names them, and no waiting."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from formalimg.errors import FormalimgError
from formalimg.models.local.checkpoint import read_checkpoint
from formalimg.models.options import Options
from formalimg.models.registry import open_image_model
from formalimg.runs.execution import execute
from formalimg.web.viewer.site import _runs_below
from tests.support.models import Speckles, small_items, speckled
from tests.support.run_contents import order, rows

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")


def test_weights_that_are_a_pipe_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "weights.npz")
    with pytest.raises(FormalimgError, match=r"cannot use .*weights\.npz: it is a named pipe, give a file"):
        open_image_model("builtin/tiny", {"weights": str(tmp_path / "weights.npz")})


def test_weights_that_are_a_single_array_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.npz"
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(FormalimgError, match="does not hold the weights of builtin/tiny: it is a single array"):
        open_image_model("builtin/tiny", {"weights": str(path)})
    path.write_bytes(b"")
    with pytest.raises(FormalimgError, match="does not hold the weights of builtin/tiny"):
        open_image_model("builtin/tiny", {"weights": str(path)})


@pytest.mark.parametrize("kind", ["pipe", "loop"])
def test_a_checkpoint_with_a_pipe_or_loop_is_refused_before_it_is_loaded(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "unet" / "model.safetensors"
    path.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path)
    reason = "it is a named pipe" if kind == "pipe" else "it is a link that leads back to itself"
    options = Options("diffusers/x", {"dtype": "float32"})
    with pytest.raises(FormalimgError, match=rf"cannot use .*model\.safetensors: {reason}"):
        read_checkpoint(str(tmp_path), options, devices=["cpu"])


def test_a_looping_link_in_a_folder_of_images_fails_by_its_name_and_blocks_no_other(tmp_path: Path) -> None:
    items = small_items(3)
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / f"{items[0].id}.png").write_bytes(speckled(items[0].id, 16))
    (folder / f"{items[1].id}.png").symlink_to(folder / f"{items[1].id}.png")
    os.mkfifo(folder / f"{items[2].id}.png")
    (folder / "loop").symlink_to(folder / "loop")
    model = open_image_model(f"folder/{folder}", {})
    done = execute(order(model, items), tmp_path / "run")
    assert done.made == 1
    found = dict(rows(tmp_path / "run", "SELECT item, status || ' ' || detail FROM pictures"))
    assert f"failed cannot read {items[1].id}.png in {folder}: Too many levels of" in found[items[1].id]
    assert "no image for item" in found[items[2].id]


def test_a_looping_link_hides_no_run_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a-loop").symlink_to(tmp_path / "a-loop")
    execute(order(Speckles(), small_items(1)), tmp_path / "run")
    (tmp_path / "z-loop").symlink_to(tmp_path / "z-loop")
    assert list(_runs_below(tmp_path, 1)) == [tmp_path / "run"]
