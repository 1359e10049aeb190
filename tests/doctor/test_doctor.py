"""The doctor fails loudly when the evaluator is broken, and never tells a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from formalimg.doctor import check_known_answers, checks, run_checks
from formalimg.judges import Grounder, Grounding, LoadedImage, SceneJudge, Unscored, open_grounder
from formalimg.models import Setting
from formalimg.scenes import Scene


class Blind:
    """A grounder that sees nothing, and does not say so."""

    name = "test/blind"
    settings: Mapping[str, Setting] = {}
    concurrency = 1

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        return Grounding(Scene.of([]))


class Turned:
    """A grounder that takes left for right."""

    name = "test/turned"
    settings: Mapping[str, Setting] = {}
    concurrency = 1

    def __init__(self) -> None:
        self._sound = open_grounder("builtin/icons")

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        from PIL import ImageOps

        return await self._sound.ground(LoadedImage(b"", ImageOps.mirror(image.pil)), classes)


def test_a_sound_evaluator_gives_all_known_answers() -> None:
    answers = check_known_answers(SceneJudge(open_grounder("builtin/icons")))
    assert [answer for answer in answers if not answer.right] == []
    assert {answer.expected.split()[0] for answer in answers} == {"pass", "fail", "unscored"}


@pytest.mark.parametrize("grounder", [Blind(), Turned()], ids=["blind", "turned"])
def test_a_broken_evaluator_is_found_out(grounder: Grounder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "open_judge", lambda suite: SceneJudge(grounder))
    broken = {finding.name: finding.detail for finding in run_checks() if finding.state == "broken"}
    assert list(broken) == ["known answers"]
    assert "must be" in broken["known answers"]


def test_keys_are_seen_and_never_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-7f3a")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setenv("HF_HOME", "/nowhere")
    found = {finding.name: finding for finding in run_checks()}
    assert found["openai/…"].state == "fine"
    assert found["hf/…"].state == "absent"
    assert "HF_TOKEN" in found["hf/…"].detail
    assert not any("planted-7f3a" in finding.detail for finding in found.values())
