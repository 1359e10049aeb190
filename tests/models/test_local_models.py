"""Local models: what can be said of them without their libraries, and odd files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.models.local.checkpoint import digest_files, read_checkpoint
from formalimg.models.local.diffusers_model import open_diffusers
from formalimg.models.local.transformers_chat import open_transformers_chat
from formalimg.models.options import Options
from formalimg.models.registry import open_image_model
from formalimg.runs.execution import execute
from tests.support.models import small_items, speckled
from tests.support.run_contents import order, rows


@pytest.mark.parametrize("opening", [open_diffusers, open_transformers_chat])
def test_without_the_libraries_they_say_what_to_install(
    opening: Callable[[str, Mapping[str, str]], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("formalimg.models.registry"), "find_spec", lambda name: None)
    with pytest.raises(FormalimgError, match=re.escape(install_line("local"))):
        opening("owner/model", {})


def test_naming_them_loads_nothing_heavy() -> None:
    heavy = "{'torch', 'diffusers', 'transformers', 'PIL', 'numpy'}"
    program = f"import formalimg.models.local, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_fingerprint_tells_weights_apart_but_not_copies(tmp_path: Path) -> None:
    one, copy = _weights(tmp_path / "one"), _weights(tmp_path / "copy")
    (copy / ".cache").mkdir()
    (copy / ".cache" / "download.lock").write_text("of the tool that fetched it")
    assert digest_files(one) == digest_files(copy)
    large = copy / "unet" / "large.safetensors"
    weights = bytearray(large.read_bytes())
    weights[::1000] = bytes(byte ^ 1 for byte in weights[::1000])
    large.write_bytes(weights)
    assert digest_files(one) != digest_files(copy)


@pytest.mark.parametrize("change", ["small", "name", "more", "size"])
def test_any_other_file_makes_another_fingerprint(change: str, tmp_path: Path) -> None:
    one, other = _weights(tmp_path / "one"), _weights(tmp_path / "other")
    match change:
        case "small":
            (other / "model_index.json").write_text('{"a": 2}')
        case "name":
            (other / "model_index.json").rename(other / "index.json")
        case "more":
            (other / "more.txt").touch()
        case "size":
            with (other / "unet" / "large.safetensors").open("ab") as file:
                file.write(b"\0")
    assert digest_files(one) != digest_files(other)


def _weights(folder: Path) -> Path:
    (folder / "unet").mkdir(parents=True)
    (folder / "model_index.json").write_text('{"a": 1}')
    (folder / "unet" / "large.safetensors").write_bytes(bytes(range(256)) * 10_000)
    return folder


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
