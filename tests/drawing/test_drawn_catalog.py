"""The catalog of drawings: files that grow together, what is refused, and which states a drawing shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg.drawing.catalog import FRONT, CatalogError, drawn_catalog, read_catalog
from formalimg.drawing.drawability import why_not_drawable
from formalimg.drawing.scene import BriefError, BriefObject, DrawnScene, SceneBrief
from formalimg.scenes.objects import SceneError

BOX = '<svg viewBox="0 0 20 10" data-other="teal"><rect width="20" height="10" fill="{body}"/></svg>'


def folder(path: Path, **files: str) -> Path:
    (path / "catalog.d").mkdir()
    (path / "icons").mkdir()
    for name, text in files.items():
        (path / "catalog.d" / f"{name}.toml").write_text(text, encoding="utf-8")
    return path


def test_files_are_read_together_and_blanks_are_underscores(tmp_path: Path) -> None:
    tools = '[class."hand drill"]\ntint = "red"\nvariants = ["on"]\n[style.photo]\nundrawable = "no"'
    path = folder(tmp_path, a=tools, b='[class."hand drill"]\nlength = 0.3\nvariants = ["off"]')
    (path / "icons" / "hand_drill.svg").write_text(BOX, encoding="utf-8")
    (path / "icons" / "hand_drill@on.svg").write_text(BOX, encoding="utf-8")
    catalog = read_catalog(path / "catalog.d", path / "icons")
    drill = catalog.entry("hand drill")
    assert (drill.tint, drill.length, drill.variants, drill.front) == ("red", 0.3, ("on", "off"), False)
    icons = [catalog.icon("hand drill"), catalog.icon("hand drill", "on"), catalog.icon("hand drill", "off")]
    assert [icon and icon.aspect for icon in icons] == [2, 2, None]
    assert catalog.word("style", "photo").always == "no"


def test_an_icon_of_knolling_can_have_variants_and_a_front_here(tmp_path: Path) -> None:
    path = folder(tmp_path, a='[class.mug]\nicon = "knolling/cup"\ninside = [0.1, 0.1, 0.8, 0.9]')
    (path / "icons" / "cup@front.svg").write_text(BOX, encoding="utf-8")
    catalog = read_catalog(path / "catalog.d", path / "icons")
    plain, front = catalog.icon("mug"), catalog.icon("mug", FRONT)
    assert plain is not None
    assert plain.label == "cup"
    assert front is not None
    assert catalog.entry("mug").front


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[class.cat]\ncolour = "red"', "colour"),
        ('[klass.cat]\ntint = "red"', r"\[klass.cat\] cannot have 'tint'"),
        ('[class.cat]\ntint = "mauve"', "tint 'mauve' of 'cat'"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        read_catalog(folder(tmp_path, a=text) / "catalog.d", tmp_path / "icons")


def test_two_values_of_one_class_are_refused(tmp_path: Path) -> None:
    path = folder(tmp_path, a='[class.cat]\ntint = "red"', b='[class.cat]\ntint = "blue"')
    with pytest.raises(CatalogError, match=r"b\.toml: .*two values of 'tint'"):
        read_catalog(path / "catalog.d", path / "icons")


def test_a_drawing_shows_the_states_of_its_icon(tmp_path: Path) -> None:
    text = """
    [class.desk]
    shows = ["closed", "empty"]
    variants = ["open", "full"]
    also = { open = ["empty"] }
    inside = [0.5, 0.0, 1.0, 0.5]
    container = "open"
    """
    desk = read_catalog(folder(tmp_path, a=text) / "catalog.d", tmp_path / "icons").entry("desk")
    assert desk.shown_states(()) == ("closed", "empty")
    assert desk.shown_states(("wet",)) == ("wet", "closed", "empty")
    assert desk.shown_states(("full",)) == ("full",)
    assert desk.shown_states((), contains=True) == ("open", "empty")


def test_every_icon_that_the_catalog_names_can_be_read() -> None:
    catalog = drawn_catalog()
    for label, entry in catalog.classes.items():
        assert catalog.icon(label) is not None, label
        named = {*entry.variants, *filter(None, (entry.carrier, entry.container)), *([FRONT] if entry.front else [])}
        assert [variant for variant in named if catalog.icon(label, variant) is None] == [], label


def test_a_drawn_scene_is_read_back_and_nothing_else_is_read() -> None:
    data = {
        "scene": {"objects": [{"label": "cat", "color": None, "box_2d": [0, 0, 9, 9]}] * 2, "relations": []},
        "style": "ink",
        "depth": [1, 0],
    }
    drawn = DrawnScene.from_json(data)
    assert drawn.to_json() == data
    assert drawn.order == (1, 0)
    broken = [
        {**data, "more": 1},
        {**data, "style": 3},
        {**data, "depth": [0, 0]},
        {**data, "depth": []},
        {**data, "depth": [True, False]},
        {**data, "scene": {"objects": []}},
        [],
    ]
    for each in broken:
        with pytest.raises(SceneError):
            DrawnScene.from_json(each)


def test_a_brief_reads_the_json_of_bindings() -> None:
    cats = {"id": 1, "item": "cat", "number": "3", "texture": "metallic"}
    data = {"objects": [cats, {"id": 2, "item": "dog"}], "style": "ink"}
    brief = SceneBrief.from_json({**data, "relation": [{"name": "left", "ObjectA_id": 2, "ObjectB_id": 1}]})
    assert (brief.objects[0].number, brief.objects[0].material) == (3, "metallic")
    assert (brief.relations[0].first, brief.relations[0].second, brief.style) == (1, 0, "ink")
    for wrong in ({}, {"objects": [{"item": "cat", "smell": "sweet"}]}, {"objects": [{"item": "cat", "number": "0"}]}):
        with pytest.raises(BriefError):
            SceneBrief.from_json(wrong)
    with pytest.raises(BriefError, match="must name two of the 2 objects"):
        SceneBrief.from_json({**data, "relation": [{"name": "left", "ObjectA_id": 3, "ObjectB_id": 1}]})


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"shape": "cylinder"}, None),
        ({"shape": "cone"}, "cone: there is no drawing of this shape"),
        ({"color": "turquoise"}, "turquoise: there is no drawing of this color"),
        ({"material": "jelly"}, "jelly: there is no drawing of this material"),
    ],
)
def test_words_that_nobody_drew_are_a_reason_and_no_crash(words: dict[str, str], reason: str | None) -> None:
    brief = SceneBrief((BriefObject("cup", **words),))  # type: ignore[arg-type]  # words only
    assert why_not_drawable(brief) == reason
