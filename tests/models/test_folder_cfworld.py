"""Images as CF-World's own scripts keep them, from any folder on the way to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import RequestedImage
from tests.models.test_folder_round_trip import image, images_found, opened, put

GROUPS = ("biology-0", "physics-classical-mechanics-12", "physics-optics-12")
TREES = {
    "biology": "Biology",
    "physics-classical-mechanics": "physics/Classical Mechanics",
    "physics-optics": "physics/Optics",
}


def wanted(*items: str, samples: int = 1) -> list[RequestedImage]:
    return [RequestedImage(item, sample, f"prompt of {item}") for item in items for sample in range(samples)]


SUITE = wanted(*(f"{group}-l{level}" for group in GROUPS for level in (1, 2, 3)))
EXPLICIT = wanted(*(f"{group}-l2" for group in GROUPS))


def levels(base: str = "", ending: str = "png", first: int = 0) -> dict[str, bytes | str]:
    """The images of the whole suite, another one for each item."""
    files: dict[str, bytes | str] = {}
    for number, (item, *_) in enumerate(SUITE, first):
        tree, group, level = item.rsplit("-", 2)
        files[f"{base}{TREES[tree]}/{group}_{level}.{ending}"] = image(number, ending)
    return files


def reworded(base: str = "de-norm/") -> dict[str, bytes | str]:
    return {
        f"{base}{TREES[group.rpartition('-')[0]]}/{group.rpartition('-')[2]}.png": image(50 + number)
        for number, group in enumerate(GROUPS)
    }


@pytest.mark.parametrize("inside", ["", "output", "output/my-model"])
@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_any_folder_above_the_trees_will_do(tmp_path: Path, inside: str, ending: str) -> None:
    model = opened(put(tmp_path, levels("output/my-model/", ending)) / inside)
    assert model.settings["layout"] == "cf-world"
    found = images_found(model, SUITE)
    assert found == {(one.item, 0): image(number, ending) for number, one in enumerate(SUITE)}


def test_folders_within_a_tree_are_known_by_their_own_names(tmp_path: Path) -> None:
    put(tmp_path, levels("my-model/"))
    assert len(images_found(opened(tmp_path / "my-model/physics"), SUITE)) == 6
    optics = images_found(opened(tmp_path / "my-model/physics/Optics"), SUITE)
    assert optics.keys() == {(f"physics-optics-12-l{level}", 0) for level in (1, 2, 3)}


def test_several_models_are_an_error_that_lists_them(tmp_path: Path) -> None:
    put(tmp_path, {**levels("one/"), **levels("two/", first=20)})
    with pytest.raises(FormalimgError, match="2 models: give one of one, two"):
        opened(tmp_path).match(SUITE)
    assert len(images_found(opened(tmp_path / "two"), SUITE)) == len(SUITE)


def test_samples_have_numbers_and_the_first_may_go_without(tmp_path: Path) -> None:
    put(tmp_path, {"Biology/0_l1.png": image(0), "Biology/0_l1_1.png": image(1), "Biology/0_l1_7.png": image(7)})
    model = opened(tmp_path)
    wishes = wanted("biology-0-l1", samples=2)
    assert images_found(model, wishes) == {("biology-0-l1", sample): image(sample) for sample in (0, 1)}
    assert model.match(wishes).extra == ("Biology/0_l1_7.png",)


@pytest.mark.parametrize("inside", ["", "my-model", "my-model/de-norm", "my-model/de-norm/physics"])
def test_the_denominalised_are_found_in_their_folder(tmp_path: Path, inside: str) -> None:
    found = images_found(opened(put(tmp_path, reworded("my-model/de-norm/")) / inside), EXPLICIT)
    expected = {(f"{group}-l2", 0): image(50 + number) for number, group in enumerate(GROUPS)}
    assert found == {key: data for key, data in expected.items() if "physics" not in inside or "physics" in key[0]}


def test_the_denominalised_are_never_taken_for_the_suite_itself(tmp_path: Path) -> None:
    model = opened(put(tmp_path, {**levels(), **reworded()}))
    assert images_found(model, SUITE) == {(one.item, 0): image(number) for number, one in enumerate(SUITE)}
    assert {*model.match(SUITE).extra} == {*reworded()}
    with pytest.raises(FormalimgError, match=r"both wordings, Biology/0_l2\.png and de-norm/Biology/0\.png"):
        model.match(EXPLICIT)
    assert len(images_found(opened(tmp_path / "de-norm"), EXPLICIT)) == 3


def test_probes_with_the_same_numbers_are_told_apart(tmp_path: Path) -> None:
    put(tmp_path, {"my-model/rule_decouple/93.png": image(1), **levels("my-model/")})
    pairs = "my-model/sampled_Attribute_decoupling"
    put(tmp_path, {f"{pairs}/93.png": image(2), f"{pairs}/93_factual.jpg": image(3, "jpg")})
    rule, both = wanted("rule-15-93", "rule-1-9"), wanted("pair-93-common", "pair-93-rare")
    for folder in (tmp_path, tmp_path / "my-model", tmp_path / "my-model/rule_decouple"):
        assert images_found(opened(folder), rule) == {("rule-15-93", 0): image(1)}
    for folder in (tmp_path, tmp_path / pairs):
        assert images_found(opened(folder), both) == {
            ("pair-93-rare", 0): image(2),
            ("pair-93-common", 0): image(3, "jpg"),
        }


def test_names_that_mean_nothing_here_are_extra(tmp_path: Path) -> None:
    odd = ["Biology/0.png", "Biology/00_l1.png", "Biology/0_l4.png", "History/0_l1.png", "Biology/0_factual.png"]
    model = opened(put(tmp_path, {**levels(), **{name: image(90) for name in odd}}))
    assert {*model.match(SUITE).extra} == {*odd}


def test_our_own_names_are_read_by_the_other_layout(tmp_path: Path) -> None:
    model = opened(put(tmp_path, {"optics-001-l1.png": image(0), "pair-001-rare.png": image(1)}))
    assert model.settings["layout"] == "published"
    assert len(images_found(model, wanted("optics-001-l1", "pair-001-rare"))) == 2
