"""Judges are measured on drawings whose content is known: what they get wrong shows in the kind it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from formalimg.errors import FormalimgError
from formalimg.judges import DrawnJudge, LoadedImage, Part, Unscored, Verdict, certify_judge, drawn_examples
from formalimg.judges.drawn_judge import judge_drawn_scene
from formalimg.models import Setting
from formalimg.scenes import NotDrawnError, read_signed_png
from formalimg.suites import Item
from tests.support.command import formalimg

COUNT, SEED = 6, 3


@dataclass
class KnowingJudge:
    """Knows the drawings that it will be shown, and says of each part what it is told to say."""

    suite: str
    say: Callable[[Part], float]
    name: str = "test/knowing"
    concurrency: int = 1
    settings: Mapping[str, Setting] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = {item.id: drawn for item, drawn in drawn_examples(self.suite, COUNT, SEED)}

    async def judge(self, item: Item[Any], image: LoadedImage) -> Verdict | Unscored:
        with pytest.raises(NotDrawnError, match="holds no scene"):
            read_signed_png(image.data)
        truth = judge_drawn_scene(item, self.known[item.id])
        assert isinstance(truth, Verdict)
        parts = tuple(replace(part, score=self.say(part)) for part in truth.parts)
        return Verdict(all(part.score == 1 for part in parts), parts)


@pytest.mark.parametrize("suite", ["natural", "conceptmix"])
def test_half_of_the_drawings_show_what_is_asked_for_and_half_have_one_thing_changed(suite: str) -> None:
    examples = list(drawn_examples(suite, COUNT, SEED))
    assert len({item.id for item, _ in examples}) == COUNT
    verdicts = [judge_drawn_scene(item, drawn) for item, drawn in examples]
    assert all(isinstance(one, Verdict) and one.passed for one in verdicts[::2])
    assert any(isinstance(one, Verdict) and not one.passed for one in verdicts[1::2])
    assert [drawn for _, drawn in examples] == [drawn for _, drawn in drawn_examples(suite, COUNT, SEED)]


def test_a_judge_that_is_always_right_has_a_clean_certificate() -> None:
    found = certify_judge(KnowingJudge("conceptmix", lambda part: part.score), "conceptmix", COUNT, SEED)
    assert (found.drawings, found.unscored, found.reaches(1.0)) == (COUNT, 0, True)
    assert {kind.accuracy for kind in found.kinds} == {1.0}
    assert found.whole.answered == COUNT
    assert "most often wrong" not in str(found)


def test_errors_show_in_their_kind_and_word() -> None:
    def blind_to_objects(part: Part) -> float:
        return 1.0 - part.score if part.kind == "object" else part.score

    found = certify_judge(KnowingJudge("conceptmix", blind_to_objects), "conceptmix", COUNT, SEED)
    accuracy = {kind.name: kind.accuracy for kind in found.kinds}
    assert accuracy.pop("object") == 0
    assert set(accuracy.values()) == {1.0}
    assert not found.reaches(0.5)
    assert "most often wrong about" in str(found)
    assert found.to_json()["kinds"] == [
        {**vars(kind), "accuracy": kind.accuracy, "precision": kind.precision, "recall": kind.recall}
        for kind in found.kinds
    ]


def test_a_judge_that_says_yes_to_everything_finds_all_and_is_not_right() -> None:
    found = certify_judge(KnowingJudge("conceptmix", lambda part: 1.0), "conceptmix", COUNT, SEED)
    assert (found.whole.recall, found.whole.said) == (1.0, COUNT)
    assert found.whole.precision < 1
    assert found.whole.accuracy == found.whole.true / COUNT


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(FormalimgError, match="builtin/drawn is told what drawings show"):
        certify_judge(DrawnJudge(), "natural")
    with pytest.raises(FormalimgError, match="cf-world has no drawn world"):
        certify_judge(KnowingJudge("conceptmix", lambda part: 1.0), "cf-world")
    code, _, err = formalimg("certify", "builtin/drawn", "--suite", "natural", "--scenes", "2")
    assert (code, "cannot be measured by them" in err) == (2, True)
    code, _, err = formalimg("certify", "--suite", "natural")
    assert (code, "builtin/icons sees boxes and colours only" in err) == (2, True)


def test_the_cost_of_a_certificate_is_estimated() -> None:
    options = ("-J", "base_url=http://127.0.0.1:9/v1", "--dry-run", "--scenes", "3")
    done = formalimg("certify", "openai/m", "--suite", "natural", *options)
    assert done.out.splitlines()[1:] == [
        "  images to look at          3",
        "  questions to ask           3  about $0.00",
    ]
