"""A pipeline of diffusers learns from a judge that is served: the example, with tiny random weights, three steps."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.support.command import formalimg
from tests.support.loopback import Asked, Loopback

from tests_local.tiny.pipelines import save_tiny_sd

pytest.importorskip("diffusers", reason="needs the libraries of local models: pip install 'formalimg[local]'")

ROUNDS, PROMPTS, GROUP = 3, 2, 4


def says_yes_to_some(asked: Asked) -> str:
    """A judge that says yes to about half of the images: always to the same ones."""
    with Image.open(io.BytesIO(asked.images[0])) as image:
        total = int(np.asarray(image.convert("RGB"), int).sum())
    return json.dumps({"observation": "seen", "answer": "yes" if total % 2 else "no"})


def test_a_diffusion_model_learns_from_a_served_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from examples import train_diffusion

    code, _, error = formalimg(
        *("export", "conceptmix", "--trainer", "flow_grpo", "--levels", "1", "--per-level", "20"),
        *("--out", str(tmp_path / "data")),
    )
    assert code == 0, error
    model = save_tiny_sd(tmp_path / "sd")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with Loopback(reply=says_yes_to_some, latency=0.05) as server:
        means = train_diffusion.main(
            [
                *("--model", str(model), "--data", str(tmp_path / "data" / "train_metadata.jsonl"), "--size", "64"),
                *("--judge", "openai/vlm", "-J", f"base_url={server.url}/v1", "--rank", "4", "--device", "cpu"),
                *("--rounds", str(ROUNDS), "--prompts", str(PROMPTS), "--group", str(GROUP), "--steps", "4"),
                *("--out", str(tmp_path / "lora")),
            ]
        )
        assert server.most_at_once >= GROUP, "the images of a group are judged at the same time"
    assert len(means) == ROUNDS
    assert all(0 <= mean <= 1 for mean in means)
    assert f"of {PROMPTS * GROUP} images" in capsys.readouterr().out
    assert any((tmp_path / "lora").iterdir())
    from safetensors.torch import load_file

    [weights] = (tmp_path / "lora").glob("*.safetensors")
    second = [value for name, value in load_file(weights).items() if "lora_B" in name or "lora.up" in name]
    assert second
    assert any(value.abs().max() > 0 for value in second), "these begin at 0: some reward has moved them"
