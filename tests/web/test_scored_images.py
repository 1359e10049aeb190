"""A run of `formalimg score` in the viewer: its prompt, its scores, its files, the best first; nothing of levels."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

import formalimg
from formalimg.drawing.icon_scene import draw
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from tests.web.sites import visitor

PROMPT = "There is a red cup and a fork."
CUP, FORK = SceneObject("cup", Box(100, 400, 300, 600), "red"), SceneObject("fork", Box(700, 400, 800, 700))


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shown = {"1-none": [], "2-fork": [FORK], "3-both": [CUP, FORK]}
    for name, objects in shown.items():
        draw(Scene.of(objects)).save(f"{name}.png")
    Image.effect_noise((64, 64), 80).convert("RGB").save("4-photo.jpg")
    files = [*(f"{name}.png" for name in shown), "4-photo.jpg"]
    scores = formalimg.score(files, PROMPT, judge="builtin/icons", folder="runs/mine")
    assert [one.score for one in scores] == [0.0, pytest.approx(1 / 3), 1.0, None]
    formalimg.score(["3-both.png", "2-fork.png"], [PROMPT, "There is a cup."], judge="builtin/icons", folder="runs/two")
    return tmp_path / "runs"


def _tiles(page: str) -> list[str]:
    heads = re.findall(r'<span class="tile-head">(.*?)</span>\n', page)
    return [" ".join(re.sub(r"<[^>]+>", " ", head).split()) for head in heads]


def test_the_first_screen_has_prompt_mean_and_scores_the_best_first(runs: Path) -> None:
    site = visitor(runs)
    page = site.get("/run?run=mine").text
    assert f"<h1>{PROMPT}</h1>" in page
    assert "4 images: mean 0.44 of 3, 1 passed, 1 unscored, by builtin/icons" in page
    tiles = _tiles(page)
    assert tiles[:3] == ["✓ pass 1.00 3-both.png", "✗ fail 0.33 2-fork.png", "✗ fail 0.00 1-none.png"]
    assert tiles[3].endswith("4-photo.jpg")
    assert "<svg" not in page.partition("What fails")[0], "one level has no curve"
    assert page.index("3-both.png") < page.index("Rates")


def test_the_list_of_runs_has_prompts_and_means(runs: Path) -> None:
    page = visitor(runs).get("/").text
    assert f">{PROMPT}</a><small>mine" in page
    assert f">{PROMPT} (and 1 more prompt)</a>" in page
    assert re.search(r'"figure-cell">0\.44</span><small>mean score</small><small>†?33\.3 %', page)
    assert "by level" not in page
    assert "folder/given</a>" not in page
    found = visitor(runs).get("/?text=red+cup").text
    assert "2 of 2 runs" in found


def test_images_follow_each_other_by_score(runs: Path) -> None:
    site = visitor(runs)
    gallery = site.get("/gallery?run=mine").text
    assert [tile.split()[-1] for tile in _tiles(gallery)] == ["3-both.png", "2-fork.png", "1-none.png", "4-photo.jpg"]
    assert '<span class="tile-prompt">' not in gallery, "all have the prompt that is the title"
    assert '<section class="facet" aria-label="level">' not in gallery
    page = site.get(re.findall(r'<a class="step" href="([^"]+)"', gallery)[0].replace("&amp;", "&")).text
    names = []
    while True:
        names.append(re.findall(r'aria-current="page">([^<]+)</span>', page)[0])
        following = re.search(r'href="([^"]+)" rel="next"', page)
        if following is None:
            break
        page = site.get(following[1].replace("&amp;", "&")).text
    assert names == ["3-both.png", "2-fork.png", "1-none.png", "4-photo.jpg"]
    back = re.search(r'href="([^"]+)" rel="prev"', page)
    assert back is not None
    assert "1-none.png" in site.get(back[1].replace("&amp;", "&")).text
    several = site.get("/gallery?run=two").text
    assert several.count('<span class="tile-prompt">') == 2
