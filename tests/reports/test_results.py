"""`Evaluation`: text, HTML, figures, data frames and failures of a real run, in a script and in a notebook's hands."""

from __future__ import annotations

import ast
import html
import json
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image

import formalimg
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.logic.parser import parse
from formalimg.reports.figures.svg import write_figures
from formalimg.types import Item, Verdict
from tests.support.models import Speckles, small_items

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook.ipynb"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> formalimg.Evaluation:
    """A run in which some images pass, some fail, and one is blank."""
    folder = tmp_path_factory.mktemp("results") / "run"
    blank: list[str] = []

    def paint(prompt: str, seed: int, size: int) -> Image.Image:
        if not blank:
            blank.append(prompt)
            return Image.new("RGB", (size, size), "white")
        objects = [formalimg.SceneObject("cup", formalimg.Box(100, 100, 300, 300), color="red")]
        return formalimg.draw(formalimg.Scene.of(objects), size)

    items = [item for item in formalimg.load("knolling") if item.level <= 3][::60]
    return formalimg.evaluate(
        paint, items=items, size=256, folder=folder, name="lab/<b>cup", judge="builtin/icons", progress=False
    )


def test_print_shows_a_table(result: formalimg.Evaluation) -> None:
    text = str(result)
    assert max(map(len, text.splitlines())) <= 100
    assert re.search(r"^ lab/<b>cup +\d+\.\d", text, re.MULTILINE)
    assert "--details" not in text
    assert repr(result) == f"<Evaluation in {result.folder}, judged by builtin/icons>"


def test_a_notebook_shows_table_and_curve(result: formalimg.Evaluation) -> None:
    shown = result._repr_html_()
    assert type(shown) is str  # notebooks join fragments, and must not escape them
    assert shown.count("<table") == 1
    assert "lab/&lt;b&gt;cup" in shown
    assert "<b>cup" not in shown
    (curve,) = re.findall(r"<svg viewBox.*?</svg>", shown, re.DOTALL)
    ElementTree.fromstring(html.unescape(curve.replace("&lt;b&gt;", "")))
    assert not re.search(r"(?:src|href)=|url\(|@import|<script", shown)  # needs nothing from outside
    style = shown.partition("<style>")[2].partition("</style>")[0]
    selectors = [line for line in re.sub(r"/\*.*?\*/", "", style).splitlines() if "{" in line]
    assert all(part.strip().startswith(".formalimg") for line in selectors for part in _selectors(line))
    assert len(shown) < 60_000


def _selectors(line: str) -> list[str]:
    return re.sub(r"\([^)]*\)", "", line.partition("{")[0]).split(",")


@pytest.fixture(scope="module")
def votes(result: formalimg.Evaluation, other: formalimg.Evaluation) -> Path:
    """People reject all images of the first run, and accept all of the other."""
    lines = [
        f"{run.folder.name},{item},0,all,ann,{vote}\n"
        for run, vote in ((result, 0), (other, 1))
        for item in run.run.items
    ]
    path = result.folder.parent / "votes.csv"
    path.write_text("model,item,sample,question,rater,vote\n" + "".join(lines))
    return path


@pytest.fixture(scope="module")
def other(result: formalimg.Evaluation) -> formalimg.Evaluation:
    items = [item for item in formalimg.load("knolling") if item.level <= 3][::60]
    folder = result.folder.parent / "other"
    return formalimg.evaluate(
        lambda prompt, seed, size: Image.new("RGB", (size, size), "white"),
        items=items,
        size=256,
        folder=folder,
        name="lab/<i>blank",
        judge="builtin/icons",
        progress=False,
    )


def test_runs_are_compared_by_the_judge_or_by_people(
    result: formalimg.Evaluation, other: formalimg.Evaluation, votes: Path
) -> None:
    by_judge, by_people = result.compare(other.folder), result.compare(other, human=votes)
    assert by_judge.claims[0].startswith("By builtin/icons, ")
    assert by_people.claims[0].startswith("By people, lab/<i>blank is ahead of lab/<b>cup: +100.0 points")
    (judged,), (rated,) = (compared.to_pandas().to_dict("records") for compared in (by_judge, by_people))
    assert (judged["by"], rated["by"]) == ("builtin/icons", "people")
    assert judged["difference"] == rated["judge_difference"] == 0
    assert rated["difference"] == -1
    assert rated["low"] <= -1 <= rated["high"] < 0
    assert rated["is_certain"]
    shown = by_people._repr_html_()
    assert "By people, lab/&lt;i&gt;blank is ahead" in shown
    assert "<i>blank" not in shown
    assert "By people, " in str(by_people)
    assert repr(by_people).startswith("<RunComparison: By people, ")


def test_labels_are_a_column_of_images(other: formalimg.Evaluation, votes: Path, tmp_path: Path) -> None:
    alone = tmp_path / "votes.csv"
    lines = votes.read_text().splitlines(keepends=True)
    alone.write_text("".join([lines[0], *(line for line in lines if line.startswith("other"))][:-1]))
    frame = other.to_pandas(human=alone)
    assert frame["label"].isna().tolist() == [False] * (len(frame) - 1) + [True]
    assert frame["label"][0]
    assert "label" not in other.to_pandas().columns
    with pytest.raises(formalimg.FormalimgError, match="people label images, not parts"):
        other.to_pandas(parts=True, human=alone)


def test_failures_say_in_english_what_is_wrong(result: formalimg.Evaluation) -> None:
    failures = result.failures()
    assert len(failures) == result.summary().overall.scored - result.summary().overall.passed > 2
    blank, other = failures[0], failures[-1]
    assert blank.what_failed == ("the image is one flat colour: it shows nothing",)
    assert other.prompt in str(other)
    assert other.parts
    for sentence in other.what_failed:
        assert re.fullmatch(r"(the|no|not|only|\d+) [^?()#]+", sentence), sentence  # no variables, no formulas
    assert (other.image.size, other.image.mode) == ((256, 256), "RGB")
    assert [one.level for one in result.failures(levels=[2])] == [one.level for one in failures if one.level == 2]
    spread = result.failures(limit=3)
    assert {one.level for one in spread} == {1, 2, 3}
    assert repr(spread) == f"<3 of {len(failures)} images that failed>"
    assert isinstance(spread[1:], formalimg.Failures)


def test_a_count_that_fails_says_what_was_needed_and_what_was_found(tmp_path: Path) -> None:
    spec = FormulaSpec.of(parse("(exactly 3 ?x (and (Is ?x 'cup') (Has ?x 'red')))"))
    items = [Item("knolling", "1", 1, "Exactly three red cups.", spec, (), "1")]

    def paint(prompt: str, seed: int, size: int) -> Image.Image:
        boxes = [formalimg.Box(x, 100, x + 200, 300) for x in (100, 600)]
        return formalimg.draw(formalimg.Scene.of(formalimg.SceneObject("cup", box, "red") for box in boxes), size)

    found = formalimg.evaluate(
        paint, items=items, size=256, folder=tmp_path / "run", judge="builtin/icons", progress=False
    )
    (failure,) = found.failures()
    assert failure.what_failed == ("2 red cups found, 3 needed",)
    assert [(part.kind, part.score) for part in failure.parts] == [("count", 2 / 3)]


def test_failures_are_a_gallery_with_their_images(result: formalimg.Evaluation) -> None:
    failures = result.failures(limit=4)
    shown = failures._repr_html_()
    assert shown.count("<figure>") == shown.count("data:image/webp;base64,") == 4
    assert html.escape(failures[0].prompt) in shown
    assert failures[1]._repr_html_().count("<figure>") == 1
    assert not re.search(r"https?:|<script", shown)


def test_an_image_that_is_gone_is_said_in_one_line(tmp_path: Path) -> None:
    result = formalimg.run(
        items=small_items(1), model=Speckles(), judge=lambda image, item: False, folder=tmp_path / "run", progress=False
    )
    (failure,) = result.failures()
    assert failure.what_failed == ("the judge says no",)
    Path(str(failure.judged.image)).unlink()
    with pytest.raises(formalimg.FormalimgError, match="cannot read the image"):
        _ = failure.image
    assert "missing" in failure._repr_html_()


def test_data_frames_in_long_form(result: formalimg.Evaluation) -> None:
    images, parts = result.to_pandas(), result.to_pandas(parts=True)
    assert len(images) == result.summary().overall.expected
    assert images["passed"].sum() == result.summary().overall.passed
    assert set(images["item"]) == set(result.run.items)
    assert {"prompt", "score", "unscored", "image", "level"} <= set(images.columns)
    verdicts = [one.verdict for one in result.run.judged()]
    assert len(parts) == sum(len(verdict.parts) for verdict in verdicts if isinstance(verdict, Verdict))
    assert set(parts["holds"]) == {True, False}


def test_images_without_a_verdict_are_rows_without_numbers(tmp_path: Path) -> None:
    run = formalimg.run(items=small_items(2), model=Speckles(), judge=_unsure, folder=tmp_path / "run", progress=False)
    frame = run.to_pandas()
    assert frame["passed"].isna().tolist() == frame["score"].isna().tolist() == [True, True]
    assert frame["unscored"].tolist() == ["not understood"] * 2
    assert len(run.to_pandas(parts=True)) == 0
    with pytest.raises(formalimg.FormalimgError, match="nothing is scored"):
        run.plot()
    assert "No image has a verdict yet" in run._repr_html_()
    assert len(run.failures()) == 0


def _unsure(image: object, item: object) -> None:
    return None


def test_data_frames_without_pandas(result: formalimg.Evaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(formalimg.FormalimgError, match=r"pip install .*\[pandas\]'"):
        result.to_pandas()


def test_figures(result: formalimg.Evaluation, tmp_path: Path) -> None:
    figure = result.plot()
    assert figure.name == "knolling-rates"
    assert figure._repr_html_().startswith("<svg")
    assert len(repr(figure)) < 200
    assert result.plot("by-kind").name == "knolling-failures-by-kind"
    assert write_figures([figure], tmp_path, ["svg"])[0].exists()
    with pytest.raises(formalimg.FormalimgError, match="name one of knolling-rates, knolling-failure"):
        result.plot("pie")


def test_an_earlier_run_is_opened(result: formalimg.Evaluation) -> None:
    assert str(formalimg.Evaluation(str(result.folder))) == str(result)  # type: ignore[arg-type]


def test_options_are_checked_as_on_the_command_line(tmp_path: Path) -> None:
    def paint(prompt: str, steps: int = 3) -> Image.Image:
        return Image.effect_noise((64, 64), steps).convert("RGB")

    with pytest.raises(formalimg.FormalimgError, match="no option 'step': did you mean steps"):
        formalimg.evaluate(paint, items=small_items(1), model_options={"step": 9})
    with pytest.raises(formalimg.FormalimgError, match="unknown option 'layot': choose from layout, grid and files"):
        formalimg.run(model=f"folder/{tmp_path}", model_options={"layot": "map"})
    with pytest.raises(formalimg.FormalimgError, match="the option layout is a object: give text"):
        formalimg.run(model=f"folder/{tmp_path}", model_options={"layout": object()})
    with pytest.raises(formalimg.FormalimgError, match="model_options are for models by name"):
        formalimg.run(model=Speckles(), model_options={"batch": 1})
    options: dict[str, Any] = {"judge": _unsure, "size": 64, "progress": False, "folder": tmp_path / "run"}
    done = formalimg.evaluate(paint, items=small_items(1), model_options={"steps": 9}, **options)
    assert done.run.manifest.model.settings["steps"] == 9


def test_judges_by_name_take_options(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"items": small_items(1), "model": Speckles(), "folder": tmp_path / "run"}
    url = {"base_url": "http://127.0.0.1:9/v1"}
    with pytest.raises(formalimg.FormalimgError, match="did you mean max_tokens"):
        formalimg.run(judge="openai/vlm", judge_options={**url, "max_token": 5}, **asked)
    with pytest.raises(formalimg.FormalimgError, match="unknown requests 'some'"):
        formalimg.run(judge="openai/vlm", judge_options={**url, "requests": "some"}, **asked)
    assert not (tmp_path / "run").exists()


def test_the_cells_of_the_example_notebook_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, and on fewer items; `tests_local` runs it in a kernel."""
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    shown: dict[str, str] = {}
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            continue
        assert cell["outputs"] == []
        assert cell["execution_count"] is None
        code = ast.parse(
            "".join(cell["source"]).replace("per_level=4", "per_level=1, levels=[1, 2, 3], progress=False")
        )
        last = code.body.pop() if isinstance(code.body[-1], ast.Expr) else None
        exec(compile(code, cell["id"], "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
            shown[cell["id"]] = value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)
    assert "mirror-painter" in shown["evaluate"]
    assert "fork" in shown["score"]
    assert "<figure>" in shown["failures"]
    assert "judged by python/balanced" in shown["function-judge"]
    assert "<svg" in shown["plot"]
