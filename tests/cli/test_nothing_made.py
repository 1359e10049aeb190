"""Nothing made, or nothing scored: exit code 1 and a line that says where to look."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import formalimg

pytestmark = pytest.mark.usefixtures("no_preflight")

FEW = ("--levels", "1", "--per-level", "2", "--size", "64")
ICONS = ("-j", "builtin/icons")
MODELS = """
from PIL import Image

def noise(prompt):
    return Image.effect_noise((256, 256), 200).convert("RGB")

def broken(prompt):
    raise RuntimeError("no paint left")
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "models_of_this_test.py").write_text(MODELS)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_run_that_made_nothing(models: Path) -> None:
    code, out, err = formalimg(
        "run", "knolling", "-m", "python/models_of_this_test:broken", *FEW, *ICONS, "--out", "run", cwd=models
    )
    assert code == 1, err
    assert "run in run" in out, "the table is printed all the same"
    assert err.splitlines()[-1] == "nothing was scored in run: `formalimg view run` shows why, image by image"


def test_generating_nothing(models: Path) -> None:
    code, _, err = formalimg(
        "run", "--no-judge", "knolling", "-m", "python/models_of_this_test:broken", *FEW, "--out", "run", cwd=models
    )
    assert code == 1, err
    assert err.splitlines()[-1] == "nothing was made in run: `formalimg view run` shows why, image by image"


def test_images_of_which_none_can_be_scored(models: Path) -> None:
    """The grounder refuses what is not a drawing of ours."""
    noise = ("-m", "python/models_of_this_test:noise", *FEW, "--out", "run")
    assert formalimg("run", "--no-judge", "knolling", *noise, cwd=models).code == 0
    code, _, err = formalimg("judge", "run", *ICONS, cwd=models)
    assert code == 1, err
    assert (
        "nothing was scored in run: builtin/icons cannot read these images, judge them with `formalimg judge run" in err
    )
    assert formalimg("run", "knolling", *noise, *ICONS, cwd=models).code == 1
    assert formalimg("report", "run", cwd=models).code == 0, "a report reads what there is"


def test_one_of_several_models_that_made_nothing(models: Path) -> None:
    both = ("-m", "builtin/oracle", "-m", "python/models_of_this_test:broken")
    code, _, err = formalimg("run", "knolling", *both, *FEW[:-1], "512", *ICONS, cwd=models)
    assert code == 1, err
    assert err.count("nothing was scored") == 1


def test_an_estimate_makes_nothing_and_is_no_failure(models: Path) -> None:
    for judging in ((), ("--no-judge",)):
        asked = ("knolling", "-m", "builtin/oracle", *FEW, "--dry-run", *judging)
        assert formalimg("run", *asked, cwd=models).code == 0
