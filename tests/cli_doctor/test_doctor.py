"""The doctor fails loudly when the evaluator is broken, and never tells a key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from formalimg.cli import doctor as checks
from formalimg.cli.doctor import check_known_answers, run_checks
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.factory import open_grounder
from formalimg.judges.scene_judge import SceneJudge
from formalimg.scenes.scene import Scene
from formalimg.types import Grounder, Setting, Unscored
from tests.support.command import formalimg


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


def test_the_command_prints_a_line_for_each_check_and_ends_with_0() -> None:
    done = formalimg("doctor")
    assert (done.code, done.err) == (0, "")
    signs = {line.split()[1]: line[0] for line in done.out.splitlines()}
    assert signs["python"] == signs["known"] == signs["statistics"] == "✓"
    assert set(signs.values()) <= {"✓", "–"}


def test_the_command_says_what_is_broken_and_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "open_judge", lambda suite: SceneJudge(Blind()))
    done = formalimg("doctor")
    assert done.code == 1
    assert "✗ known answers" in done.out
    assert done.err.strip() == "broken: known answers. Do not trust any number of this installation."


def test_as_json_nothing_else_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "open_judge", lambda suite: SceneJudge(Turned()))
    done = formalimg("doctor", "--json")
    assert (done.code, done.err) == (1, "")
    found = {finding["name"]: finding for finding in json.loads(done.out)}
    assert found["known answers"]["state"] == "broken"
    assert found["openai/…"]["state"] in ("fine", "absent")
    assert "…" in done.out, "names are readable, not escaped"


def test_a_missing_package_and_wrong_statistics_are_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "requires", lambda name: ["no-such-package>=2", "torch; extra == 'local'"])
    monkeypatch.setattr(checks, "clopper_pearson", lambda k, n: (0.0, 0.5))
    broken = {finding.name: finding.detail for finding in run_checks() if finding.state == "broken"}
    assert broken == {
        "no-such-package": "missing: install formalimg again",
        "statistics": "the interval of 0 in 200 came out as 0.0 to 0.5",
    }
