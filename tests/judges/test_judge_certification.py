"""Judges are measured on drawings of which one part is flipped: errors show where they are, and faults are named."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from PIL import Image

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.drawing.scene import DrawnScene
from formalimg.drawing.signed_png import NotDrawnError, read_signed_png
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.judges.certificates.certificate import (
    AnswerCounts,
    CountedShare,
    InvarianceCounts,
    JudgeCertificate,
    read_certificate,
)
from formalimg.judges.certificates.findings import find_faults
from formalimg.judges.certificates.flipped_scenes import FlippedScene, flipped_scenes
from formalimg.judges.certificates.measurement import (
    FLIPPED,
    SHOWN,
    DrawingAnswer,
    ExampleAnswers,
    certify_judge,
    choose_drawing,
    count_answers,
    count_nuisances,
)
from formalimg.judges.certificates.scene_changes import NUISANCES
from formalimg.judges.drawn_judge import DrawnJudge, judge_drawn_scene
from formalimg.judges.factory import open_judge
from formalimg.logic.parser import parse
from formalimg.scenes.objects import Box
from formalimg.scenes.scene import Scene
from formalimg.stats.intervals import clopper_pearson
from formalimg.types import Item, Setting, Unscored, Verdict
from tests.support.bad_judges import KnowingModel, Say, always_yes, blind_to_relations, swayed_by_text, truly
from tests.support.command import formalimg
from tests.support.loopback import Loopback
from tests.support.planted_judges import PLANTED, KnownScenes
from tests.support.remote_models import stand_alone
from tests.support.sizes import tries

SUITE, COUNT, SEED = "conceptmix", 2, 5


@pytest.fixture(scope="module")
def model() -> KnowingModel:
    return KnowingModel(SUITE, COUNT, SEED)


@pytest.fixture
def server(model: KnowingModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Loopback]:
    stand_alone(monkeypatch, tmp_path)
    with Loopback(reply=model) as running:
        yield running
    model.say = truly


def _options(server: Loopback) -> dict[str, str]:
    return {"base_url": f"{server.url}/v1", "requests": "all-at-once", "cache": "off"}


def _certificate(server: Loopback, model: KnowingModel, say: Say) -> JudgeCertificate:
    model.say = say
    return certify_judge(open_judge(SUITE, "openai/looker", _options(server)), SUITE, COUNT, SEED)


# --- scenes


@pytest.mark.parametrize(("suite", "few"), [("knolling", 3), ("natural", 1), ("conceptmix", 3)])
def test_exactly_one_part_is_flipped(suite: str, few: int) -> None:
    examples = list(flipped_scenes(suite, tries(few, 30), SEED))
    for example in examples:
        before, after = (judge_drawn_scene(example.item, drawn) for drawn in (example.shown, example.flipped))
        assert isinstance(before, Verdict)
        assert isinstance(after, Verdict)
        assert before.passed
        assert not after.passed
        assert {part.score for part in before.parts} == {1.0}
        assert [part.name for part in after.parts if part.score != 1] == [example.part.name]
    assert len({example.part.kind for example in examples}) >= min(2, len(examples))
    assert len({example.item.level for example in examples}) >= min(3, len(examples))


def test_scenes_are_the_same_for_the_same_seed(model: KnowingModel) -> None:
    assert list(flipped_scenes(SUITE, COUNT, SEED)) == model.examples


class _Knows:
    """Knows few classes, as a detector does."""

    name, concurrency = "test/few-classes", 1
    settings: Mapping[str, Setting] = {}
    known = frozenset(
        {"cup", "spoon", "fork", "knife", "bowl", "apple", "banana", "orange", "book", "clock", "scissors"}
    )

    def __init__(self) -> None:
        self.grounder = self
        self.shown: list[str] = []

    def unknown_classes(self, wanted: Any) -> tuple[str, ...]:
        classes = wanted.spec.object_classes if isinstance(wanted, Item) else wanted
        return tuple(name for name in classes if name not in self.known)

    async def judge(self, item: Item[Any], image: LoadedImage) -> Verdict | Unscored:
        return Unscored("not understood")


def test_a_judge_is_asked_only_about_classes_that_it_knows() -> None:
    for example in flipped_scenes("knolling", 4, SEED, _Knows()):
        labels = {obj.label for drawn in (example.shown, example.flipped) for obj in drawn.scene.objects}
        assert labels <= _Knows.known


@pytest.mark.parametrize("name", NUISANCES)
def test_nuisances_change_the_image_and_not_the_truth(name: str, model: KnowingModel) -> None:
    nuisance = NUISANCES[name]
    image = Image.new("RGB", (100, 100), "white")
    image.paste("red", (5, 40, 30, 60))
    applied = 0
    for example in model.examples:
        changed = nuisance.change(image, example.shown)
        assert changed is None or (changed.size == image.size and changed.tobytes() != image.tobytes())
        applied += nuisance.applies(example.item, example.shown)
    assert applied or name == "mirror"


def test_a_mirror_is_not_used_where_it_would_matter() -> None:
    [example] = flipped_scenes("knolling", 1, SEED)
    formula = parse(f"(exists ?x (and (Is ?x '{example.shown.scene.objects[0].label}') (OnLeftSide ?x)))")
    left = Box(100, 300, 300, 500)
    drawn = DrawnScene(Scene.of([replace(example.shown.scene.objects[0], box=left)]))
    sided = replace(example, item=replace(example.item, spec=FormulaSpec.of(formula)), shown=drawn)
    assert not NUISANCES["mirror"].applies(sided.item, sided.shown)
    assert NUISANCES["JPEG"].applies(sided.item, sided.shown)


# --- judges on a server


def test_the_certificate_of_a_judge_that_is_always_right_is_a_file(
    server: Loopback, model: KnowingModel, tmp_path: Path
) -> None:
    given = [word for name, value in _options(server).items() for word in ("-J", f"{name}={value}")]
    wanted = ("certify", "openai/looker", *given, "--suite", SUITE, "--scenes", str(COUNT), "--seed", str(SEED))
    path = tmp_path / "certificate.json"
    done = formalimg(*wanted, "--out", str(path))
    assert (done.code, done.out) == (0, f"{path}\n")
    assert done.err == "at most 16 images, 16 questions, about $0.00, under a minute at 5 s a question\n"
    found = read_certificate(path)
    assert JudgeCertificate.from_json(found.to_json()) == found
    assert (found.whole.sensitivity, found.whole.specificity) == (
        CountedShare(COUNT, COUNT),
        CountedShare(COUNT, COUNT),
    )
    assert {each.stayed.value for each in found.nuisances if each.asked} == {1.0}
    [finding] = found.findings  # two scenes are no all-clear
    assert finding.startswith(f"nothing is measured with {COUNT} scenes: give more; not measured: ")
    assert not found.reaches(0.0)
    assert found.served == ("looker-2025-01-01",)
    assert (found.judge, found.suite, found.scenes, found.seed) == ("openai/looker", SUITE, COUNT, SEED)
    assert (found.protocol, found.settings["requests"]) == ("default", "all at once")
    assert found.date.endswith("Z")
    data = json.loads(path.read_text())
    assert data["made_with"]
    assert data["counts"][0]["sensitivity_interval"] == list(clopper_pearson(COUNT, COUNT))
    data["counts"][0]["yes_to_true"] = 99
    path.write_text(json.dumps(data))
    with pytest.raises(FormalimgError, match=r"more answers of one kind than answers.*certify --suite"):
        read_certificate(path)


def test_a_judge_that_believes_a_text_in_the_image(server: Loopback, model: KnowingModel) -> None:
    found = _certificate(server, model, swayed_by_text)
    assert found.whole.specificity == CountedShare(COUNT, COUNT)
    swayed = {each.nuisance: each for each in found.nuisances if each.about == "image"}
    text = swayed.pop("text in the image")
    assert (text.asked, text.to_yes, text.stayed) == (COUNT, COUNT, CountedShare(0, COUNT))
    assert {each.changed.part for each in swayed.values()} == {0}


def test_judges_that_are_told_the_scenes_get_the_same_certificate(server: Loopback, model: KnowingModel) -> None:
    seen = _certificate(server, model, always_yes)
    told = KnownScenes(SUITE, COUNT, SEED).certify(PLANTED["always yes"][0])
    assert (told.counts, told.nuisances, told.findings) == (seen.counts, seen.nuisances, seen.findings)


def test_a_grounder_with_logic_is_a_judge_too() -> None:
    found = certify_judge(open_judge("knolling", "builtin/icons"), "knolling", 2, SEED)
    assert (found.whole.sensitivity.value, found.whole.specificity.value) == (1.0, 1.0)
    counts = {each.nuisance: each for each in found.nuisances if each.about == "clause"}
    assert (counts["asked again"].changed.part, counts["border"].unscored) == (0, 2)
    assert {each.value for each in found.by("level")} == {"1", "2"}


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(FormalimgError, match="builtin/drawn reads the scenes embedded in drawings"):
        certify_judge(DrawnJudge(), "natural")
    with pytest.raises(
        FormalimgError, match=r"cf-world has no drawn world .* knolling, knolling-counts, natural, conceptmix"
    ):
        certify_judge(_Knows(), "cf-world")
    code, _, err = formalimg("certify", "--suite", "natural")
    assert (code, "builtin/icons sees boxes and colours only" in err) == (2, True)
    code, _, err = formalimg("certify", "--anchor", "somewhere")
    assert (code, "add --suite" in err) == (2, True)


def test_the_cost_of_a_certificate_is_estimated() -> None:
    options = ("-J", "base_url=http://127.0.0.1:9/v1", "--dry-run", "--scenes", "2")
    done = formalimg("certify", "openai/m", "--suite", "natural", *options)
    assert done.out.splitlines()[1:] == [
        "  images to look at         16",
        "  questions to ask          16  about $0.00",
    ]


def test_drawings_do_not_carry_their_scene(model: KnowingModel) -> None:
    class Looks(_Knows):
        async def judge(self, item: Item[Any], image: LoadedImage) -> Verdict | Unscored:
            with pytest.raises(NotDrawnError, match="holds no scene"):
                read_signed_png(image.data)
            return Unscored("not understood")

    judge = Looks()
    del judge.grounder
    found = certify_judge(judge, "knolling", 1, SEED)
    assert found.unscored == {"not understood": 2}
    assert found.findings[0] == "gives no verdict at all: 2 of 2 drawings are unscored"


# --- faults, from counts


def _answers(say: Say, examples: list[FlippedScene], times: int, noise: Random | None = None) -> list[ExampleAnswers]:
    """The answers of a judge about examples that are shown many times; with noise, one in four is at random."""

    def answer(example: FlippedScene, drawing: str, text: bool) -> DrawingAnswer:
        said = say(f"{example.part.name} {example.word}", drawing == SHOWN, text)
        said = noise.random() < 0.5 if noise is not None and noise.random() < 0.25 else said
        return DrawingAnswer(said, said)

    found = []
    for number, example in enumerate(examples * times):
        bases = {name: choose_drawing(name, number) for name in NUISANCES}
        answers = {drawing: answer(example, drawing, False) for drawing in (SHOWN, FLIPPED)}
        answers |= {name: answer(example, base, name == "text in the image") for name, base in bases.items()}
        found.append(ExampleAnswers(example, answers, bases))
    return found


def _faults(answers: list[ExampleAnswers], suite: str = "natural") -> tuple[str, ...]:
    counted = JudgeCertificate(
        "test/judge",
        suite,
        len(answers),
        0,
        8 * len(answers),
        {},
        count_answers(suite, answers),
        count_nuisances(answers),
    )
    return tuple(fault for fault in find_faults(counted) if not fault.startswith("not measured"))


@pytest.fixture(scope="module")
def examples(model: KnowingModel) -> list[FlippedScene]:
    """One example with a flipped part of each kind."""
    base = model.examples[0]
    parts = {"object": "Is", "attribute": "HasColor", "relation": "LeftOf", "style": "IsStyle"}
    natural = next(iter(flipped_scenes("natural", 1, SEED)))
    return [
        replace(natural, part=replace(base.part, kind=kind, name=f"({word} ?x 'y')", about=(word,)))
        for kind, word in parts.items()
    ]


def test_each_bad_judge_is_named_by_its_fault(examples: list[FlippedScene]) -> None:
    assert _faults(_answers(truly, examples, 10))[0].startswith("no fault found in objects, attributes, relations")
    [fault] = _faults(_answers(always_yes, examples, 10))
    assert fault == "answers yes to almost everything: sensitivity 1.00 (.91–1.00), specificity .00 (.00–.09)"
    [fault] = _faults(_answers(lambda question, true, text: False, examples, 10))
    assert fault.startswith("answers no to almost everything: sensitivity .00")
    faults = _faults(_answers(blind_to_relations, examples, 10))
    assert "does not see relations, at chance: says yes to 10 of 10 true ones and to 10 of 10 false ones" in faults
    assert not any("objects" in fault or "attributes" in fault for fault in faults)
    assert _faults(_answers(swayed_by_text, examples, 10)) == (
        "swayed by text in the image: 40 of 40 answers changed to yes",
    )


def test_nothing_is_named_that_the_counts_do_not_show(examples: list[FlippedScene]) -> None:
    named: Counter[str] = Counter()
    for seed in range(tries(100, 1000)):
        named.update(fault.split(":")[0] for fault in _faults(_answers(truly, examples, 12, Random(seed))))
    assert named.pop("noisy") >= tries(30, 300)  # one answer in eight is wrong, and other ones when asked again
    assert sum(count for fault, count in named.items() if not fault.startswith(("no fault", "often"))) <= tries(5, 50)
    [few] = _faults(_answers(blind_to_relations, examples, 2))
    assert "relations (2)" in few.partition("; not measured: ")[2]


def test_unscored_images_and_weak_groups_are_named() -> None:
    def counted(
        *counts: AnswerCounts, unscored: int = 0, nuisances: tuple[InvarianceCounts, ...] = ()
    ) -> tuple[str, ...]:
        return find_faults(JudgeCertificate("j", "natural", 50, 7, 350, {"refused": unscored}, counts, nuisances))

    whole = AnswerCounts("image", "", 50, 48, 50, 47)
    assert counted(whole, unscored=12) == ("unscored 12 %: 12 of 100 drawings have no verdict",)
    kinds = (AnswerCounts("word", "HasColor", 20, 8, 20, 19), AnswerCounts("word", "LeftOf", 40, 40, 40, 39))
    [weak] = counted(whole, *kinds)
    assert weak == "colours weak: sensitivity .40 (.19–.64), elsewhere 1.00 (.91–1.00)"
    sizes = (AnswerCounts("size", "under 60", 20, 8, 20, 19), AnswerCounts("size", "120 and more", 40, 40, 40, 39))
    [small] = counted(whole, *sizes)
    assert small.startswith("where the smallest object has under 60 thousandths of the image, weak: sensitivity .40")
    bordered = (InvarianceCounts("border", "image", 40, 0, 0, 31),)
    assert counted(whole, nuisances=bordered) == ("gives no verdict with a border: 31 of 40 images are unscored",)
    [poor] = counted(AnswerCounts("image", "", 50, 48, 50, 30))
    assert poor == "often passes images in which something is false: specificity .60 (.45–.74)"
