"""Training of builtin/tiny: the numpy networks are the torch networks, and a training runs from data to weights."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

from formalimg import load, verify
from formalimg.judges.base import Grounding
from formalimg.judges.grounders.icons import ground_icons
from formalimg.models.builtin.tiny.model import GRID, PATCH, load_tiny, unseen_in

torch = pytest.importorskip("torch")

TRAINING = Path(__file__).parents[1] / "training"
EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and weights of a training that is much too short."""
    folder = tmp_path_factory.mktemp("tiny")
    _run("data.py", str(folder), "--instructions", "200", "--drawings", "40")
    _run(
        "train.py", str(folder), "--small", "--plan-steps", "60", "--paint-steps", "60", "--out", str(folder / "w.npz")
    )
    return folder


def _run(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(TRAINING / script), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_numpy_and_torch_predict_the_same(build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TRAINING))
    from model import Painter, Planner  # type: ignore[import-not-found]
    from rollout import read_weights  # type: ignore[import-not-found]

    tiny = load_tiny(build / "w.npz")
    nouns, hues = len(tiny.classes), len(tiny.colors)
    planner = Planner(len(tiny.tokenizer), nouns, hues, size=64, layers=(1, 2))
    planner.load_state_dict(read_weights(build / "w.npz", "planner."))
    painter = Painter(nouns, hues, size=64, layers=2)
    painter.load_state_dict(read_weights(build / "w.npz", "painter."))
    rng = np.random.default_rng(1)
    tokens = tiny.tokenizer.encode("A red cup is to the left of a fork.")
    anchors = np.array([2, 9])
    noisy = rng.standard_normal((2, 3, 4), dtype=np.float32)  # two layouts of the prompt, with one empty place each
    with torch.no_grad():
        # Padding after the prompt and empty places must not matter.
        padded = torch.from_numpy(np.concatenate([tokens, np.zeros(5, dtype=np.int64)]))[None]
        expected, *tags = planner(torch.from_numpy(noisy), torch.tensor([0.3, 0.3]), padded, torch.tensor([[2, 9, -1]]))
    features = tiny.planner.encode(tokens)
    for found, scores in zip(tiny.planner.tag(features), tags, strict=True):
        np.testing.assert_allclose(found, scores[0, : len(tokens)].numpy(), atol=2e-4)
    for layout in (0, 1):
        found = tiny.planner.predict(noisy[layout, :2], 0.3, features, anchors, tiny.planner.text_keys(features))
        np.testing.assert_allclose(found, expected[layout, :2].numpy(), atol=2e-4)

    boxes = np.array([[0.1, 0.2, 0.33, 0.5], [0.6, 0.05, 0.95, 0.4], [0, 0, 0, 0]], dtype=np.float32)
    classes, colors = np.array([3, 7, -1]), np.array([1, 4, 0])
    patches = rng.standard_normal((GRID * GRID, 3 * PATCH * PATCH), dtype=np.float32)
    with torch.no_grad():
        batch = (torch.from_numpy(array)[None] for array in (boxes, classes, colors))
        places = painter.place(*batch)
        expected = painter(torch.from_numpy(patches)[None], torch.tensor([0.6]), places)[0].numpy()
    placed = tiny.painter.place(boxes[:2], classes[:2], colors[:2])
    np.testing.assert_allclose(placed, places[0].numpy(), atol=2e-4)
    np.testing.assert_allclose(tiny.painter.predict(patches, 0.6, placed), expected, atol=2e-4)


def test_layouts_of_the_training_satisfy_their_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules are written anew for the GPU: what is found there must pass by logic."""
    monkeypatch.syspath_prepend(str(TRAINING))
    from data import CLASSES, COLORS, aspects, instruction_arrays, read_instruction  # type: ignore[import-not-found]
    from layouts import find_layouts  # type: ignore[import-not-found]

    from formalimg.models.builtin.tiny.model import Tokenizer
    from formalimg.scenes.objects import CANVAS, Box, SceneObject
    from formalimg.scenes.scene import Scene

    items = [item for item in load("knolling") if 2 <= item.level <= 6][::25]
    read = [(item, read_instruction(item.spec.formula, item.prompt)) for item in items]
    kept = [(item, told) for item, told in read if told is not None]
    assert len(kept) > 0.9 * len(items)
    arrays = instruction_arrays([told for _, told in kept], Tokenizer.of_prompts(item.prompt for item, _ in kept))
    torch.manual_seed(1)
    boxes, found = find_layouts(
        *(torch.from_numpy(arrays[name]).long() for name in ("classes", "facts")), torch.from_numpy(aspects())
    )
    assert found.float().mean() > 0.5
    for (item, told), placed, good in zip(kept, boxes, found, strict=True):
        if good:
            objects = [
                SceneObject(CLASSES[label], Box(*(box * CANVAS).tolist()), COLORS[max(color, 0)])
                for label, color, box in zip(told.classes, told.colors, placed, strict=False)
            ]
            assert verify(item.spec.formula, Scene.of(objects)).passed, item.prompt


def test_a_training_that_is_stopped_goes_on(build: Path, tmp_path: Path) -> None:
    for name in ("instructions.npz", "drawings.npz"):
        (tmp_path / name).symlink_to(build / name)
    arguments = [
        str(tmp_path),
        "--small",
        "--plan-steps",
        "20",
        "--paint-steps",
        "60",
        "--out",
        str(tmp_path / "w.npz"),
    ]

    def stop_at_once(*more: str) -> str:
        command = [sys.executable, str(TRAINING / "train.py"), *arguments, "--stop-after", "0", *more]
        stopped = subprocess.run(command, capture_output=True, text=True, check=False)
        assert stopped.returncode == 1
        return stopped.stderr

    assert "painter: 1 of 60 steps" in stop_at_once()
    assert "painter step 60 of 60" in _run("train.py", *arguments)
    assert "painter: 1 of 60 steps" in stop_at_once("--seed", "2"), "another seed is another training"
    assert load_tiny(tmp_path / "w.npz").plan("A cup.", 1) == load_tiny(tmp_path / "w.npz").plan("A cup.", 1)


def test_the_detector_is_trained_and_read_with_numpy_as_with_torch(
    build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "small_icons.npz"
    assert "detector step 4 of 4" in _run("train_detector.py", str(build), "--small", "--steps", "4", "--out", str(out))
    monkeypatch.syspath_prepend(str(TRAINING))
    from train import to_patches  # type: ignore[import-not-found]
    from train_detector import Detector  # type: ignore[import-not-found]

    from formalimg._util.transformer import Weights, encoder_layer, grid_positions, norm
    from formalimg._util.transformer import to_patches as to_numpy_patches

    with np.load(out) as file:
        arrays = {name: file[name].astype(np.float32) for name in file.files if name not in ("classes", "colors")}
        detector = Detector(len(file["classes"]), len(file["colors"]))
    detector.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    pixels = np.random.default_rng(1).uniform(-1, 1, (128, 128, 3)).astype(np.float32)
    with torch.no_grad():
        expected = detector(to_patches(torch.from_numpy(pixels)[None]))[0].numpy()
    weights = Weights(arrays)
    x = weights.linear("patch", to_numpy_patches(pixels, PATCH)) + grid_positions(GRID, arrays["patch.bias"].shape[0])
    for layer in weights.parts("layers"):
        x = encoder_layer(layer, x)
    np.testing.assert_allclose(weights.linear("out", norm(x)), expected, atol=2e-4)


@pytest.fixture
def reward_example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`examples/train_with_reward.py` as a module."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("train_with_reward")


def test_the_model_learns_from_the_reward(tmp_path: Path) -> None:
    """One round with a few prompts, from the weights of the package: numbers come out, and weights that run."""
    few = [
        "--rounds",
        "1",
        "--prompts",
        "6",
        "--group",
        "3",
        "--steps",
        "2",
        "--measure",
        "1",
        "--jobs",
        "1",
        "--levels",
        "2",
        "4",
    ]
    for reward in ("formalimg", "vacuous"):
        out = tmp_path / f"{reward}.npz"
        printed = _run(str(EXAMPLES / "train_with_reward.py"), "--out", str(out), "--reward", reward, *few)
        assert "round 1, reward 0." in printed
        assert "where both images are read:" in printed
        assert load_tiny(out).plan("A cup.", 1).objects


def test_images_are_read_the_same_with_the_detector_on_another_device(reward_example: ModuleType) -> None:
    networks = reward_example.Networks(reward_example.WEIGHTS, torch.device("cpu"))
    tokens = networks.tokens(reward_example.read_tasks(load("knolling")[100::200]))
    sample = networks.sample(tokens, networks.tag(tokens), 1, 0.0, torch.Generator().manual_seed(1))
    read = 0
    for pixels, predicted in zip(*networks.paint(sample), strict=True):
        image = Image.fromarray(pixels)
        expected, found = ground_icons(image), ground_icons(image, predicted)
        assert getattr(found, "scene", None) == getattr(expected, "scene", None)
        read += isinstance(found, Grounding)
    assert read > 3


def test_prompts_to_learn_from_state_nothing_that_is_measured(reward_example: ModuleType) -> None:
    from data import read_instruction, signature

    measured = {signature(read_instruction(item.spec.formula, item.prompt)) for item in load("knolling")}
    drawn = [reward_example.draw_task(level, f"{level} {number}") for level in (2, 5, 9) for number in range(20)]
    assert not measured & {signature(task.instruction) for task in drawn}
    assert reward_example.draw_task(5, "a") == reward_example.draw_task(5, "a")


def test_the_best_of_a_group_is_learned_and_nothing_from_groups_that_are_alike(reward_example: ModuleType) -> None:
    def best(*rewards: float | None, keep: int = 2) -> list[int]:
        scores = [reward_example.Score(reward, None if reward is None else reward == 1) for reward in rewards]
        found: list[int] = reward_example.best_of(scores, keep)
        return found

    assert best(0.5, 1.0, None, 1.0, 1.0) == [1, 3]
    assert best(0.5, 0.9, None, 0.7) == [1]
    assert best(1.0, 1.0, 1.0) == best(0.5, 0.5) == best(None, None) == []
    assert best(None, 1.0) == [1]


def test_no_training_prompt_holds_what_is_held_out(build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TRAINING))
    from data import draw_level

    from formalimg.language.parser import parse_prompt

    for told in draw_level(3, 5, 20):
        assert not unseen_in(parse_prompt(told.prompt, "knolling"), 3), told.prompt
