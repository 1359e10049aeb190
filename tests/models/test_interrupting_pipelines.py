"""SIGTERM or Ctrl-C during a local pipeline: it ends at once, what was stored stays, and the run can be resumed."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.run_contents import rows, until

ROOT = Path(__file__).parents[2]

_RUN = """
import contextlib, sys, time, types
from pathlib import Path
from types import SimpleNamespace

from PIL import Image

torch = types.ModuleType("torch")
torch.Generator = lambda device: SimpleNamespace(manual_seed=lambda seed: seed)
torch.inference_mode = contextlib.nullcontext
torch.device = lambda name: SimpleNamespace(index=None)
sys.modules["torch"] = torch

from formalimg.models.local import diffusers_model
from formalimg.runs import execute
from tests.support.models import small_items
from tests.support.run_contents import order

steps, seconds, folder = int(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3])


class Pipeline:
    '''As pipelines of diffusers are: it calls back after each step.'''

    dtype, components, made = "torch.float32", {}, 0

    def __call__(self, prompt, generator, num_inference_steps=50, height=64, width=64, callback_on_step_end=None):
        Pipeline.made += 1
        for step in range(1 if Pipeline.made == 1 else steps):  # the first one is quick
            time.sleep(seconds)
            if callback_on_step_end is not None:
                tensors = callback_on_step_end(self, step, 0, {"latents": None})
                assert tensors == {"latents": None}
        return SimpleNamespace(images=[Image.effect_noise((64, 64), 50).convert("RGB") for _ in prompt])


diffusers_model.load_pipeline = lambda *arguments: Pipeline()
checkpoint = SimpleNamespace(
    device="cpu", settings={}, served=lambda *names: {}, find=lambda name: None, fetch=lambda name: None
)
diffusers_model.replace = lambda checkpoint, device: checkpoint
options = SimpleNamespace(steps=None, guidance=None, call={}, negative_prompt=None, size=None, settings={})
options.task = "text-to-image"
model = diffusers_model.DiffusersModel("diffusers/tiny", checkpoint, options)
done = execute(order(model, small_items(4)), folder)
print(done.made, done.failed, done.stopped)
"""


def _start(steps: int, seconds: float, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _RUN, str(steps), str(seconds), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )


def _made(folder: Path) -> int:
    if not (folder / "results.sqlite").exists():
        return 0
    with contextlib.suppress(sqlite3.OperationalError):  # it is being created
        ((count,),) = rows(folder, "SELECT count(*) FROM pictures WHERE status = 'made'")
        return int(count)
    return 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_a_pipeline_ends_at_its_next_step(number: signal.Signals, tmp_path: Path) -> None:
    process = _start(steps=600, seconds=0.05, folder=tmp_path / "run")  # half a minute for each image
    until(lambda: _made(tmp_path / "run") == 1, seconds=60)
    began = time.monotonic()
    process.send_signal(number)
    said, _ = process.communicate(timeout=60)
    assert time.monotonic() - began < 10
    assert said.split() == ["1", "0", "True"], said
    assert dict(rows(tmp_path / "run", "SELECT status, count(*) FROM pictures GROUP BY status")) == {
        "made": 1,
        "planned": 3,
    }
    said, _ = _start(steps=1, seconds=0, folder=tmp_path / "run").communicate(timeout=60)
    assert said.split() == ["3", "0", "False"], said
