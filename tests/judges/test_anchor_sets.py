"""Anchor sets: a judge is asked again about the same drawings, and a changed one raises an alarm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from formalimg._util.locks import lock_file
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.judges.certificates.anchors import look_again, make_anchor, read_anchor
from formalimg.types import Item, Setting, Unscored, Verdict
from tests.support.bad_judges import KnowingModel, always_yes, truly
from tests.support.command import formalimg
from tests.support.loopback import Loopback
from tests.support.remote_models import stand_alone
from tests.support.sizes import tries


class _Scripted:
    """Says of the n-th image what it is told to."""

    name, concurrency = "test/scripted", 1

    def __init__(self, temperature: float = 0.0) -> None:
        self.settings: Mapping[str, Setting] = {"temperature": temperature}
        self.say: Verdict | Unscored = Verdict(True)
        self.seen: list[bytes] = []

    async def judge(self, item: Item[Any], image: LoadedImage) -> Verdict | Unscored:
        self.seen.append(image.data)
        return self.say


def test_the_command_alarms_when_the_judge_behind_a_name_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_alone(monkeypatch, tmp_path)
    model = KnowingModel("conceptmix", 4, 5)
    folder = tmp_path / "anchor"
    with Loopback(reply=model) as server:
        # The cache is on, and must not answer.
        given = ("-J", f"base_url={server.url}/v1", "-J", "requests=all-at-once", "--suite", "conceptmix")
        wanted = ("certify", "openai/looker", *given, "--anchor", str(folder), "--scenes", "4", "--seed", "5")
        made = formalimg(*wanted)
        assert (made.code, model.asked) == (0, 16)
        assert made.out == (
            "openai/looker: anchor set of 8 images, 0.0 % of its answers changed when asked twice; the same command "
            "asks again later\n"
        )
        same = formalimg(*wanted, "--looks-per", "5")
        assert (same.code, model.asked) == (0, 21)
        assert "no sign of a change since" in same.out
        assert "look 1: 0 of 5 answers changed" in same.out
        quiet = [formalimg(*wanted).code for _ in range(tries(1, 4))]
        model.say = always_yes
        codes = [formalimg(*wanted).code for _ in range(4)]
        model.say = truly
        alarm = formalimg(*wanted)
    assert set(quiet) == {0}
    assert codes[0] == 0  # eight images are too few to tell at once
    assert codes[-1] == alarm.code == 1  # and an alarm stays
    assert alarm.out.count("\n") == 1
    assert alarm.out.startswith("openai/looker has changed since ")
    stored = json.loads((folder / "anchor.json").read_text())
    assert [(look["asked"], look["changed"]) for look in stored["looks"][:2]] == [(5, 0), (8, 0)]
    assert stored["served"] == stored["looks"][0]["served"] == ["looker-2025-01-01"]


def test_looks_are_of_random_images_that_no_cache_knows(tmp_path: Path) -> None:
    judge = _Scripted()
    anchor = make_anchor(judge, "knolling", tmp_path / "anchor", 2, 3)
    assert (len(anchor.images), len(judge.seen), len(set(judge.seen))) == (4, 8, 8)
    first = look_again(judge, tmp_path / "anchor", 2, rng=Random(1)).looks
    assert [(look.asked, look.changed) for look in first] == [(2, 0)]
    judge.say = Unscored("not understood")
    assert look_again(judge, tmp_path / "anchor").looks[-1].changed == 4
    judge.say = Unscored("judge failed", "the line is dead")
    assert look_again(judge, tmp_path / "anchor").looks[-1].asked == 0  # no answer is no changed answer
    assert read_anchor(tmp_path / "anchor").looks[:1] == first


def test_what_does_not_belong_to_an_anchor_set_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "anchor"
    make_anchor(_Scripted(), "knolling", folder, 1, 3)
    with pytest.raises(FormalimgError, match=r"holds answers of test/scripted, .*\(temperature\)"):
        look_again(_Scripted(1.0), folder)
    with pytest.raises(FormalimgError, match="is not empty"):
        make_anchor(_Scripted(), "knolling", folder, 1, 3)
    other = ("openai/m", "-J", "base_url=http://127.0.0.1:9/v1", "--suite", "natural")
    code, _, err = formalimg("certify", *other, "--anchor", str(folder), "--dry-run")
    assert (code, "is an anchor set of knolling, protocol default" in err) == (2, True)
    with (folder / "lock").open("a", encoding="utf-8") as held:
        lock_file(held)
        with pytest.raises(FormalimgError, match="wait until the other look is done"):
            look_again(_Scripted(), folder)
    path = folder / "0000.png"
    data = path.read_bytes()
    path.write_bytes(data + b"x")
    with pytest.raises(FormalimgError, match=r"0000\.png was changed"):
        look_again(_Scripted(), folder)
    path.write_bytes(data)
    text = (folder / "anchor.json").read_text()
    (folder / "anchor.json").write_text(text.replace('"prompt": "', '"prompt": "Not '))
    with pytest.raises(FormalimgError, match="not what the suite has now"):
        look_again(_Scripted(), folder)
    (folder / "anchor.json").write_text("[]")
    with pytest.raises(FormalimgError, match="cannot read the anchor set"):
        read_anchor(folder)
