"""Prompts that a chat model rewrites before an image model gets them: sent, kept, reused, and paid for."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from formalimg import run
from formalimg.benchmarks.conditions import Condition
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.loader import load
from formalimg.errors import FormalimgError
from formalimg.models.base import ImageRequest, ImageResult
from formalimg.models.registry import open_chat_model
from formalimg.runs.reader import open_run
from formalimg.types import Item
from tests.support.command import formalimg
from tests.support.loopback import Asked, Fault, Faults, Loopback, Wish
from tests.support.models import NumberJudge, Speckles, speckled, speckled_for
from tests.support.remote_models import stand_alone
from tests.support.run_contents import rows

pytest.importorskip("openai")

PRICES = """
[prices]
"openai/painter" = { image = 0.25 }
"openai/writer" = { input = 10_000, output = 12_500 }
"""
A_TEXT, AN_IMAGE = 1.25, 0.25
"""The server counts 100 tokens for each question and 20 for each answer."""


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    (tmp_path / "list.toml").write_text(PRICES)
    monkeypatch.setenv("FORMALIMG_PRICES", str(tmp_path / "list.toml"))
    write_items(load("cf-world")[:3], tmp_path / "items")


ITEMS = load("cf-world")[:3]


class RewritingServer(Loopback):
    """Rewrites prompts by putting a word in front of them, and paints.

    Attributes:
        painted: the prompts of all images.
        asked: what the rewriter was sent.
    """

    def __init__(
        self,
        faults: Faults = lambda number: None,
        change: Callable[[str], str] = lambda text: f"Anew: {text}",
        items: Sequence[Item[Any]] = (),
    ) -> None:
        self.painted: list[str] = []
        self.asked: list[str] = []
        self._change = change
        self._items = items or ITEMS
        super().__init__(faults=faults, paint=self._painted, reply=self._rewritten)

    def __enter__(self) -> RewritingServer:
        super().__enter__()
        return self

    def _painted(self, wish: Wish) -> bytes:
        self.painted.append(wish.prompt)
        return speckled(wish.prompt, 64)

    def _rewritten(self, asked: Asked) -> str:
        self.asked.append("".join(asked.texts))
        (item,) = [item for item in self._items if f"{item.prompt}\n" in self.asked[-1]]
        return json.dumps({"thoughts": "step by step", "prompt": self._change(item.prompt)})


def _command(server: Loopback, *more: str, out: str = "run") -> tuple[str, ...]:
    here = f"base_url={server.url}/v1"
    model = ("-m", "openai/painter", "-M", here, "-M", "concurrency=1", "-M", "first_wait=0.001", "-M", "tries=1")
    rewriter = ("--rewriter", "openai/writer", "-R", here, "-R", "cache=off", "-R", "tries=1", "-R", "reads=0")
    whole = ("run", "--no-judge", "cf-world", "--items", "items", *model, "--condition", "rewritten", *rewriter, *more)
    return (*whole, "--size", "64", "--out", out)


def test_the_image_model_gets_the_new_words_and_the_run_keeps_them(tmp_path: Path) -> None:
    with RewritingServer() as server:
        done = formalimg(*_command(server))
        assert done.code == 0, done.err
        assert sorted(server.painted) == sorted(f"Anew: {item.prompt}" for item in ITEMS)
        assert len(server.asked) == 3
    kept = [json.loads(line) for line in (tmp_path / "run" / "rewrites.jsonl").read_text().split("\n") if line]
    assert {line["item"]: line["rewritten"] for line in kept} == {item.id: f"Anew: {item.prompt}" for item in ITEMS}
    assert {line["item"]: line["prompt"] for line in kept} == {item.id: item.prompt for item in ITEMS}
    served = rows(tmp_path / "run", "SELECT item, served FROM pictures ORDER BY item")
    assert {item: json.loads(text)["rewritten_prompt"] for item, text in served} == {
        item.id: f"Anew: {item.prompt}" for item in ITEMS
    }


def test_who_rewrote_and_with_which_text_is_in_the_manifest_and_cannot_change(tmp_path: Path) -> None:
    with RewritingServer() as server:
        assert formalimg(*_command(server)).code == 0
        with closing(open_run(tmp_path / "run")) as opened:
            manifest = opened.manifest
        assert manifest.condition == "rewritten"
        assert manifest.prompts == "rewrite (version 1)"
        assert manifest.model.name == "openai/painter"
        assert manifest.model.settings["rewriter"] == "openai/writer"
        assert manifest.model.settings["rewriter.prompt"] == "rewrite, version 1"
        other = formalimg(*_command(server, "-R", "temperature=0.5"))
        assert other.code == 2
        assert "rewriter.temperature" in other.err
        (tmp_path / "own").mkdir()
        (tmp_path / "own" / "rewrite.txt").write_text("Other words: {prompt}\n.")
        other = formalimg(*_command(server, "--prompts", "own"))
        assert (other.code, "prompts: was rewrite (version 1), now rewrite (the user's own" in other.err) == (2, True)
        assert len(server.requests) == 6


def test_the_text_of_the_user_is_sent_in_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "rewrite.txt").write_text("Say it better: {prompt}\n.")
    with RewritingServer() as server:
        assert formalimg(*_command(server, "--prompts", "own")).code == 0
    assert all(text.startswith("Say it better: ") for text in server.asked)


def test_samples_share_a_text_and_a_resumed_run_asks_for_none_again(tmp_path: Path) -> None:
    with RewritingServer() as server:
        assert formalimg(*_command(server, "--samples", "2", "-M", "concurrency=4")).code == 0
        assert (len(server.asked), len(server.painted)) == (3, 6)
        assert formalimg(*_command(server, "--samples", "3")).code == 0
        assert (len(server.asked), len(server.painted)) == (3, 9)
        kept = tmp_path / "run" / "rewrites.jsonl"
        lines = kept.read_text().split("\n")
        kept.write_text("\n".join(lines)[:-20])  # as a crash leaves it: the last line is cut short
        assert formalimg(*_command(server, "--samples", "4")).code == 0
        assert (len(server.asked), len(server.painted)) == (4, 12)
        assert formalimg(*_command(server, "--samples", "5")).code == 0
        assert (len(server.asked), len(server.painted)) == (4, 15)


@pytest.mark.parametrize(
    ("fault", "change", "reason"),
    [
        (Fault("500"), lambda text: text, "the prompt was not rewritten, failed"),
        (None, lambda text: " ", "the prompt was not rewritten: the new one is empty"),
        (None, lambda text: "\x1b[2J", "the prompt was not rewritten: the new one is empty, endless or no text"),
        (None, lambda text: "x" * 20_000, "the prompt was not rewritten: the new one is empty, endless"),
    ],
)
def test_a_prompt_that_was_not_rewritten_is_unscored_with_the_reason_and_tried_again(
    tmp_path: Path, fault: Fault | None, change: Callable[[str], str], reason: str
) -> None:
    spoilt = ITEMS[0].prompt

    def faults(number: int) -> Fault | None:
        return fault if number == 0 else None

    changes = [change]
    with RewritingServer(faults, lambda text: changes.pop()(text) if changes and text == spoilt else text) as server:
        assert formalimg(*_command(server)).code == 0
        assert len(server.painted) == 2
        with closing(open_run(tmp_path / "run")) as opened:
            assert sum(outcome.reason != "not judged" for outcome in opened.outcomes()) == 1
        ((status, detail),) = rows(tmp_path / "run", "SELECT status, detail FROM pictures WHERE status != 'made'")
        assert status == "failed"
        assert str(detail).startswith(reason)
        asked = len(server.asked)
        assert formalimg(*_command(server)).code == 0
        assert (len(server.asked), len(server.painted)) == (asked + 1, 3), "only what failed is done again"


def test_texts_are_paid_for_counted_and_stop_at_the_budget(tmp_path: Path) -> None:
    with RewritingServer() as server:
        assert formalimg(*_command(server, "--samples", "2")).code == 0
    ((cost,),) = rows(tmp_path / "run", "SELECT total(cost) FROM pictures")
    assert cost == pytest.approx(3 * A_TEXT + 6 * AN_IMAGE)
    with RewritingServer() as server:
        done = formalimg(*_command(server, "--budget", "2.0", out="cheap"))
        assert done.code == 130, done.err
        assert len(server.asked) == 2
        paid = len(server.asked) * A_TEXT + len(server.painted) * AN_IMAGE
    ((cost,),) = rows(tmp_path / "cheap", "SELECT total(cost) FROM pictures")
    assert cost == pytest.approx(paid)
    (tmp_path / "list.toml").write_text('[prices]\n"openai/painter" = { image = 0.25 }\n')
    with RewritingServer() as server:
        elsewhere = ("-R", "base_url=http://nowhere.invalid/v1", "--budget", "2.0")
        done = formalimg(*_command(server, *elsewhere, out="none"))
        assert (done.code, server.requests) == (2, [])
        assert "the price of openai/writer is unknown" in done.err
        done = formalimg(*_command(server, *elsewhere, "--price", "rewriter=1/2", "--dry-run", out="none"))
        assert "prompts to rewrite     3  about $0.00" in done.out


def test_a_dry_run_counts_the_prompts_to_rewrite_and_shows_the_first(tmp_path: Path) -> None:
    with RewritingServer() as server:
        done = formalimg(*_command(server, "--samples", "2", "--dry-run"))
        assert server.requests == []
        assert "prompts to rewrite     3  about $" in done.out
        assert "Think first, step by step" in done.out
        assert ITEMS[0].prompt in done.out
        assert not (tmp_path / "run").exists()
        assert formalimg(*_command(server)).code == 0
        assert (
            "prompts to rewrite     0  about $0.00" in formalimg(*_command(server, "--samples", "2", "--dry-run")).out
        )


def test_options_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / f"{ITEMS[0].id}.png").write_bytes(speckled("x"))
    named = ("--rewriter", "openai/writer")
    for model, more, message in (
        ("openai/painter", named, "belong together"),
        ("openai/painter", ("--condition", "rewritten"), "belong together"),
        ("openai/painter", ("-R", "temperature=1"), "belong together"),
        ("openai/painter", ("--condition", "rewritten", *named, "--words", "without"), "asks for nothing"),
        (
            "openai/painter",
            ("--condition", "rewritten", *named, "--layouts", "runs/x"),
            "effect without a layout",
        ),
        ("folder/pictures", ("--condition", "rewritten", *named), "serves images that exist"),
    ):
        done = formalimg("run", "--no-judge", "cf-world", "--items", "items", "-m", model, *more, "--out", "run")
        assert (done.code, message in done.err) == (2, True), done.err
    layout = ("run", "knolling", "--task", "layout", "-m", "openai/painter", "--condition", "rewritten", *named)
    assert "the layout task asks for a layout" in formalimg(*layout).err


def test_a_file_of_texts_that_is_a_link_is_refused(tmp_path: Path) -> None:
    with RewritingServer() as server:
        assert formalimg(*_command(server)).code == 0
        kept = tmp_path / "run" / "rewrites.jsonl"
        kept.rename(tmp_path / "elsewhere")
        kept.symlink_to(tmp_path / "elsewhere")
        done = formalimg(*_command(server, "--samples", "2"))
        assert (done.code, "a symbolic link" in done.err) == (2, True)


def test_from_python_in_batches_the_texts_of_a_batch_are_counted_once(tmp_path: Path) -> None:
    prompts: list[str] = []

    def answer(request: ImageRequest) -> ImageResult:
        prompts.append(request.prompt)
        return speckled_for(request)

    model, how = Speckles(batch=3, concurrency=2, answer=answer), Condition("rewritten")
    with RewritingServer() as server:
        chat = open_chat_model("openai/writer", {"base_url": f"{server.url}/v1", "cache": "off"})
        run("cf-world", model, NumberJudge(), items=ITEMS, size=64, condition=how, rewriter=chat, folder="run")
        assert sorted(prompts) == sorted(f"Anew: {item.prompt}" for item in ITEMS)
        with pytest.raises(FormalimgError, match="rewriting prompts needs"):
            run("cf-world", model, NumberJudge(), items=ITEMS, condition=how, folder="other")
        with pytest.raises(FormalimgError, match="choose --condition rewritten"):
            run("cf-world", model, NumberJudge(), items=ITEMS, rewriter=chat, folder="other")
    ((cost,),) = rows(tmp_path / "run", "SELECT total(cost) FROM pictures")
    assert cost == pytest.approx(3 * A_TEXT)


def test_only_the_words_of_the_item_are_rewritten_and_the_text_about_style_stays(tmp_path: Path) -> None:
    prompts: list[str] = []

    def answer(request: ImageRequest) -> ImageResult:
        prompts.append(request.prompt)
        return speckled_for(request)

    items = load("knolling")[:1]
    condition = Condition("rewritten", style="short")
    (style,) = condition.texts
    with RewritingServer(items=items) as server:
        chat = open_chat_model("openai/writer", {"base_url": f"{server.url}/v1", "cache": "off"})
        how: dict[str, Any] = {"condition": condition, "rewriter": chat, "folder": tmp_path / "run", "size": 64}
        run("knolling", Speckles(answer=answer), NumberJudge(), items=items, **how)
        assert style.text not in server.asked[0]
    assert prompts == [f"{style.text}\n\nAnew: {items[0].prompt}"]
