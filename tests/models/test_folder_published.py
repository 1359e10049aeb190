"""Images named by item, flat or as in the authors' repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import Generated, Refused
from tests.models.test_folder_round_trip import answers, image, images_found, opened, put, wanted


def repository(folder: Path, models: tuple[str, ...] = ("my-model",), task: str = "knolling") -> Path:
    """What FormalImg's scripts leave behind after a run with these models."""
    for model in models:
        base = f"responses/{task}/{model}"
        put(folder, {f"{base}/imgs/{item}.png": image(item) for item in range(3)})
        put(folder, {f"{base}/grounding/imgs/{item}_vis.png": image(90 + item) for item in range(3)})
        put(folder, {f"{base}/grounding/check/{item}_check.jpg": image(80 + item, "jpg") for item in range(3)})
        put(folder, {f"{base}/results/{item}.json": "{}" for item in range(3)})
    return put(folder, {"benchmarks/knolling/0.json": "{}", "README.md": "words", ".git/config": ""})


@pytest.mark.parametrize(
    "inside",
    ["", "responses", "responses/knolling", "responses/knolling/my-model", "responses/knolling/my-model/imgs"],
)
def test_any_folder_of_the_repository_down_to_the_images_will_do(tmp_path: Path, inside: str) -> None:
    model = opened(repository(tmp_path) / inside)
    assert images_found(model, wanted(4)) == {(str(item), 0): image(item) for item in range(3)}
    assert model.match(wanted(4)).extra == ()


@pytest.mark.parametrize("inside", ["", "responses", "responses/knolling"])
def test_several_models_are_an_error_that_lists_them(tmp_path: Path, inside: str) -> None:
    folder = repository(tmp_path, ("one", "two")) / inside
    with pytest.raises(FormalimgError, match=r"2 models: give one of .*knolling|one/imgs/, two/imgs/") as caught:
        opened(folder).match(wanted(3))
    assert "one/imgs/" in str(caught.value)
    assert "two/imgs/" in str(caught.value)
    assert images_found(opened(tmp_path / "responses/knolling/two"), wanted(3)).keys() == {
        ("0", 0),
        ("1", 0),
        ("2", 0),
    }


def test_two_tasks_are_told_apart(tmp_path: Path) -> None:
    repository(tmp_path)
    repository(tmp_path, task="natural")
    with pytest.raises(FormalimgError, match=r"responses/knolling/my-model/imgs/, responses/natural/my-model/imgs/"):
        opened(tmp_path).match(wanted(3))


def test_a_flat_folder_is_read_itself_even_if_others_lie_in_it(tmp_path: Path) -> None:
    put(tmp_path, {"0.png": image(0), "old/imgs/0.png": image(1)})
    model = opened(tmp_path)
    assert images_found(model, wanted(1)) == {("0", 0): image(0)}
    assert model.match(wanted(1)).extra == ("old/imgs/0.png",)


def test_overlays_of_a_grounder_are_not_taken_for_images(tmp_path: Path) -> None:
    put(tmp_path, {"grounding/imgs/0.png": image(0)})
    with pytest.raises(FormalimgError, match=r"none of its 1 images \(grounding/imgs/0\.png\)"):
        opened(tmp_path).match(wanted(1))


def test_images_are_not_looked_for_in_depths_where_none_belong(tmp_path: Path) -> None:
    put(tmp_path, {"a/b/c/d/imgs/0.png": image(0)})
    with pytest.raises(FormalimgError, match="none of its 1 images"):
        opened(tmp_path).match(wanted(1))


def test_blocked_images_are_refusals(tmp_path: Path) -> None:
    model = opened(put(tmp_path, {"0.png": image(0), "1.png.blocked": "", "2.PNG.blocked": "", "9.png.blocked": ""}))
    matching = model.match(wanted(3))
    assert [found.item for found in matching.blocked] == ["1", "2"]
    assert matching.missing == ()
    assert matching.extra == ("9.png.blocked",)
    first, second, _ = answers(model, wanted(3))
    assert isinstance(first, Generated)
    assert second == Refused("blocked, as 1.png.blocked says")


def test_an_image_beside_its_marker_counts(tmp_path: Path) -> None:
    """The authors' script asks again for what was blocked, and leaves the marker."""
    model = opened(put(tmp_path, {"0.png": image(0), "0.png.blocked": ""}))
    assert images_found(model, wanted(1)) == {("0", 0): image(0)}
    matching = model.match(wanted(1))
    assert (matching.blocked, matching.extra) == ((), ())


def test_a_folder_where_all_is_blocked_is_no_mistake(tmp_path: Path) -> None:
    assert len(opened(put(tmp_path, {"0.png.blocked": ""})).match(wanted(2)).blocked) == 1


def test_leading_zeros_do_not_matter_where_only_one_item_can_be_meant(tmp_path: Path) -> None:
    model = opened(put(tmp_path, {"0000.png": image(0), "0001_0.png": image(1), "002/000.png": image(2)}))
    assert images_found(model, wanted(3)) == {(str(item), 0): image(item) for item in range(3)}


def test_leading_zeros_matter_where_ids_differ_by_them(tmp_path: Path) -> None:
    wishes = [one._replace(item=item) for one, item in zip(wanted(2), ["7", "007"], strict=True)]
    model = opened(put(tmp_path, {"7.png": image(0), "007.png": image(1), "07.png": image(2)}))
    assert images_found(model, wishes) == {("7", 0): image(0), ("007", 0): image(1)}
    assert model.match(wishes).extra == ("07.png",)


def test_the_first_sample_may_go_without_number(tmp_path: Path) -> None:
    model = opened(put(tmp_path, {"0.png": image(0), "0_1.webp": image(1, "webp"), "0-2.JPEG": image(2, "JPEG")}))
    assert len(images_found(model, wanted(1, samples=3))) == 3


def test_a_name_with_two_meanings_is_refused(tmp_path: Path) -> None:
    wishes = [*wanted(1, samples=2), *(one._replace(item="0_1") for one in wanted(1))]
    model = opened(put(tmp_path, {"0.png": image(0), "0_1.png": image(1)}))
    with pytest.raises(FormalimgError, match=r"0_1\.png can be item 0_1 or sample 1 of item 0"):
        model.match(wishes)


def test_accents_are_the_same_in_either_form(tmp_path: Path) -> None:
    wishes = [wanted(1)[0]._replace(item="k\u00e4se")]
    model = opened(put(tmp_path, {"ka\u0308se.png": image(0)}))
    assert images_found(model, wishes) == {("k\u00e4se", 0): image(0)}
