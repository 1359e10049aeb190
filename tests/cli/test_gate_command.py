"""`formalimg gate`: exit code, line and record for real runs whose truth is planted."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from formalimg.judges.base import LoadedImage
from formalimg.models.base import Generated, ImageRequest, ImageResult
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute, judge_run
from formalimg.types import Item, Setting, Unscored, Verdict
from tests.support.command import Result, formalimg
from tests.support.models import NumberJudge, Speckles, small_items

ITEMS = small_items(400)
Passes = Callable[[int, int], bool]


def half(item: int, sample: int) -> bool:
    """The baseline: every other item passes."""
    return item % 2 == 0


def differing(wins: int, losses: int) -> Passes:
    """Like the baseline, but for so many of each hundred items on either side."""

    def passes(item: int, sample: int) -> bool:
        return item % 100 < 2 * wins if item % 2 else item % 100 >= 2 * losses

    return passes


def shade(passes: Passes, request: ImageRequest) -> ImageResult:
    """An image whose corner is bright where its item passes; images of one colour would fail by rule."""
    image, file = Image.radial_gradient("L").resize((16, 16)), io.BytesIO()
    image.putpixel((0, 0), 255 if passes(int(request.item), request.sample) else 0)
    image.save(file, "PNG")
    return Generated(file.getvalue(), {})


def judge(
    *, unread: Iterable[int] = (), favours: bool = False, settings: Mapping[str, Setting] | None = None
) -> NumberJudge:
    """A judge that goes by the brightness; it cannot read some items, or lets all images of the model pass."""
    ids = set(map(str, unread))

    def verdict(item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        if item.id in ids:
            return Unscored("not understood", "?")
        return Verdict(image.pil.convert("L").getpixel((0, 0)) == 255 or (favours and int(item.id) % 2 == 0))

    return NumberJudge(name="test/shades", settings={"version": 1} if settings is None else settings, verdict=verdict)


def planted(folder: Path, passes: Passes, by: NumberJudge | None = None, *, count: int = 400, **options: Any) -> Path:
    """A run over the first items of each level."""
    items = [item for item in ITEMS if int(item.id) % 100 < count // 4]
    model = Speckles(name=f"test/{folder.name}", answer=lambda request: shade(passes, request))
    execute(RunConfig(items, model, size=16, **options), folder, by or judge())
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted(tmp_path_factory.mktemp("runs") / "base", half)


def gate(new: Path, base: Path, *words: object) -> Result:
    return formalimg("gate", str(new), "--against", str(base), *map(str, words))


def record(new: Path, base: Path, *words: object) -> dict[str, Any]:
    done = gate(new, base, "--json", "-", *words)
    found: dict[str, Any] = json.loads(done.out)
    assert found["exit_code"] == done.code
    assert f"gate: {found['gate']}: " in done.err
    return found


def test_an_equal_model_passes_in_one_line(tmp_path: Path, base: Path) -> None:
    new = planted(tmp_path / "new", differing(2, 2))
    done = gate(new, base, "--margin", 3, "--json", tmp_path / "gate.json")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f"gate: pass: {new} − {base} = 0.0 points by test/shades (−1.7 to +1.7, one-sided 95 %), margin 3, 400 items\n"
    )
    found = json.loads((tmp_path / "gate.json").read_text(encoding="utf-8"))
    assert (found["gate"], found["difference"], found["items"], found["missing"]) == ("pass", 0, 400, 0)
    assert found["low"] == pytest.approx(-found["high"])
    assert not list(new.glob("gate*"))  # a gate that looks once writes nothing


def test_a_loss_beyond_the_margin_is_worse_and_one_within_passes_with_a_remark(tmp_path: Path, base: Path) -> None:
    new = planted(tmp_path / "new", differing(0, 8))
    done = gate(new, base)
    assert done.code == 1
    assert "= −8.0 points" in done.out
    within = gate(new, base, "--margin", 20)
    assert within.code == 0
    assert within.out.endswith(f"; worse than {base}, but within the margin\n")


def test_what_cannot_be_told_names_the_items_that_would(tmp_path: Path, base: Path) -> None:
    new = planted(tmp_path / "new", differing(2, 2), count=40)
    found = record(new, base)
    assert found["gate"] == "cannot tell"
    assert found["items"] == 40
    assert found["more_items"] > 40
    assert found["samples_per_item"] is None  # with one image of each, nothing tells how images differ
    assert found["notes"] == [f"{new} has 40 of the 400 items of {base}: they are compared."]


def test_more_images_of_each_item_are_named_where_they_would_tell(tmp_path: Path) -> None:
    def coin(number: int) -> Passes:
        return lambda item, sample: hash((item * 7919 + sample * 104729 + number * 1299709) % 1009) % 2 == 0

    runs = [planted(tmp_path / str(number), coin(number), count=200, samples=2) for number in (1, 2)]
    found = record(*runs, "--margin", 2)
    assert found["gate"] == "cannot tell"
    assert found["samples_per_item"] > 2
    assert f"or {found['samples_per_item']} images of each, would tell" in gate(*runs).out


def test_failures_without_a_verdict_do_not_pass(tmp_path: Path, base: Path) -> None:
    """All failures of a worse model are missing: on what is scored, it is equal."""
    lost = {item for item in range(400) if half(item, 0) != differing(0, 8)(item, 0)}
    new = planted(tmp_path / "new", differing(0, 8), judge(unread=lost))
    found = record(new, base)
    assert found["difference"] == 0
    assert (found["gate"], found["missing"], found["more_items"]) == ("cannot tell", len(lost), None)
    assert "32 missing verdicts can decide: resume the runs, or judge them again" in gate(new, base).out


def test_people_overrule_a_judge_that_favours_the_new_model(tmp_path: Path, base: Path) -> None:
    passes = differing(2, 12)
    new = planted(tmp_path / "new", passes, judge(favours=True))
    assert gate(new, base).code == 0
    labels = tmp_path / "labels.csv"
    drawn = [item for item in range(400) if item % 100 < 80]
    truth = {"new": passes, "base": half}
    lines = [f"{run},{item},0,{'yes' if truth[run](item, 0) else 'no'}" for run in truth for item in drawn]
    labels.write_text("\n".join(["run,item,sample,label", *lines, ""]), encoding="utf-8")
    found = record(new, base, "--labels", labels)
    assert (found["gate"], found["by"], found["items"]) == ("worse", "people", len(drawn))
    assert "by people" in gate(new, base, "--labels", labels).out
    labels.write_text("\n".join(["run,item,sample,label", *lines[: len(drawn)], ""]), encoding="utf-8")
    assert "the labels do not correct the difference" in _refusal(new, base, "--labels", labels)


# --- what is not compared


def _refusal(new: Path, base: Path, *words: object) -> str:
    done = gate(new, base, *words)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.startswith("error: ")
    return line


def test_runs_by_another_judge_are_refused_unless_the_baseline_has_its_verdicts_too(tmp_path: Path) -> None:
    base = planted(tmp_path / "base", half, count=40)
    new = planted(tmp_path / "new", half, judge(settings={"version": 2}), count=40)
    assert "different judges (test/shades (version=2) and test/shades (version=1))" in _refusal(new, base)
    judge_run(base, judge(settings={"version": 2}))
    judge_run(base, judge(settings={"version": 3}))  # the last one is again another
    assert gate(new, base).out.startswith("gate: ")


def test_other_items_are_refused_and_other_seeds_are_noted(tmp_path: Path, base: Path) -> None:
    new = planted(tmp_path / "new", half, count=40, seed=5)
    assert "360 items of the new run are not in the baseline" in _refusal(base, new)
    assert "seeds: 5 for" in gate(new, base).err
    execute(
        RunConfig(small_items(40, color="blue"), Speckles(), size=16), tmp_path / "blue", judge()
    )  # the same ids, with other prompts
    assert "ask for something else there" in _refusal(tmp_path / "blue", base)


def test_a_refusal_is_in_the_record_and_is_no_decision(tmp_path: Path, base: Path) -> None:
    file = tmp_path / "gate.json"
    assert "the same run" in _refusal(base, base, "--json", file)
    found = json.loads(file.read_text(encoding="utf-8"))
    assert (found["gate"], found["exit_code"]) == ("error", 2)
    assert "the same run" in found["error"]
    execute(RunConfig(ITEMS[:8], Speckles(), size=16), tmp_path / "unjudged", None)
    assert "no verdicts" in _refusal(tmp_path / "unjudged", base)
    assert formalimg("gate", str(base)).out == ""


# --- looks


def test_a_pipeline_in_batches_stops_at_the_first_look_that_tells(tmp_path: Path, base: Path) -> None:
    def losing(item: int, sample: int) -> bool:
        return half(item, sample) and item % 10 > 0

    new, decisions = tmp_path / "new", []
    for look in range(1, 6):
        planted(new, losing, count=80 * look)  # resumes
        decisions.append(record(new, base, "--looks", 5))
        if decisions[-1]["exit_code"] != 2:
            break
    assert [(each["look"], each["items"]) for each in decisions] == [(n, 80 * n) for n in range(1, len(decisions) + 1)]
    assert decisions[-1]["gate"] == "worse"
    assert 1 < len(decisions) < 5
    assert all(each["low"] < record(new, base, "--looks", 5)["difference"] for each in decisions)
    assert len((new / "gate.jsonl").read_text(encoding="utf-8").splitlines()) == len(decisions)


def test_looking_again_at_the_same_items_is_no_look_and_others_must_be_of_the_same_gate(
    tmp_path: Path, base: Path
) -> None:
    new = planted(tmp_path / "new", differing(10, 10), count=80)
    first = gate(new, base, "--looks", 2)
    assert first.code == 2
    assert "look 1 of 2" in first.out
    assert gate(new, base, "--looks", 2) == first
    assert "margin: was 0.02, now 0.05" in _refusal(new, base, "--looks", 2, "--margin", 5)
    assert "looks: was 2, now 9" in _refusal(new, base, "--looks", 9)
    assert "give --looks as then" in _refusal(new, base)
    planted(new, differing(10, 10), count=120)
    second = gate(new, base, "--looks", 2)
    assert second.out.endswith("; no look is left\n")
    planted(new, differing(10, 10), count=160)
    assert "all 2 looks of this gate are taken" in _refusal(new, base, "--looks", 2)


def test_a_look_is_stricter_than_a_gate_that_looks_once(tmp_path: Path, base: Path) -> None:
    once, looks = (planted(tmp_path / name, differing(3, 3), count=200) for name in ("once", "looks"))
    single, early = record(once, base), record(looks, base, "--looks", 4)
    assert early["difference"] == single["difference"]
    assert early["low"] < single["low"]
    assert early["high"] > single["high"]


@pytest.mark.parametrize("text", ["{}", "nothing", '{"against": 1}', "[" * 100_000])
def test_damaged_looks_are_told_in_one_line(tmp_path: Path, base: Path, text: str) -> None:
    new = planted(tmp_path / "new", half, count=40)
    (new / "gate.jsonl").write_text(text, encoding="utf-8")
    assert "is damaged" in _refusal(new, base, "--looks", 3)
    assert (new / "gate.jsonl").read_text(encoding="utf-8") == text
