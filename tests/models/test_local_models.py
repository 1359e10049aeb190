"""Local models without their libraries, and telling weights apart."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

import pytest

from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.models.local.checkpoint import digest_files
from formalimg.models.local.device_pool import is_out_of_memory
from formalimg.models.local.diffusers_model import open_diffusers
from formalimg.models.local.transformers_chat import open_transformers_chat


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


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 17 GB)"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_it_is_known_when_memory_is_short(error: Exception, expected: bool) -> None:
    assert is_out_of_memory(error) == expected


def _weights(folder: Path) -> Path:
    (folder / "unet").mkdir(parents=True)
    (folder / "model_index.json").write_text('{"a": 1}')
    (folder / "unet" / "large.safetensors").write_bytes(bytes(range(256)) * 10_000)
    return folder
