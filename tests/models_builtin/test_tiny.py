"""The learned baseline: what its weights are, what it paints, and what it says of other files."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from formalimg import verify
from formalimg.errors import FormalimgError
from formalimg.models.base import ImageRequest, ImageResult, Refused
from formalimg.models.builtin.baselines import open_baseline
from formalimg.models.builtin.tiny.model import IMAGE_SIZE, load_tiny, unseen_in
from tests.models_builtin.knolling import knolling


def _answer(prompt: str, size: int = IMAGE_SIZE) -> ImageResult:
    async def gather() -> list[ImageResult]:
        return [one async for one in open_baseline("tiny", {}).generate([ImageRequest("x", 1, prompt, 1, size)])]

    [answer] = asyncio.run(gather())
    return answer


def test_two_objects_are_mostly_where_the_prompt_says() -> None:
    model = load_tiny()
    items = [item for item in knolling() if item.level == 2 and not unseen_in(item.spec.formula, 2)][:20]
    passed = [verify(item.spec.formula, model.plan(item.prompt, 1)).passed for item in items]
    assert sum(passed) >= 16


@pytest.mark.parametrize("prompt", ["", "   "])
def test_a_prompt_that_names_nothing_is_refused(prompt: str) -> None:
    assert isinstance(_answer(prompt), Refused)


def test_files_that_are_no_weights_are_named(tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match="make train-tiny"):
        open_baseline("tiny", {"weights": str(tmp_path / "none.npz")})
    text, other = tmp_path / "text.npz", tmp_path / "other.npz"
    text.write_text("no weights")
    np.savez(other, words=np.array(["a"]))
    for path in (text, other):
        with pytest.raises(FormalimgError, match="does not hold the weights"):
            open_baseline("tiny", {"weights": str(path)})


def test_it_needs_no_torch() -> None:
    code = (
        "import sys; from formalimg.models.builtin.tiny.model import load_tiny\n"
        "model = load_tiny(); model.paint(model.plan('A red cup.', 1), 1)\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
