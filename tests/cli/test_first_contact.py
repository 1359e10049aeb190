"""The first contact with a judge or an image model: what cannot work ends the command before anything is spent."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from tests.support.command import Result, formalimg
from tests.support.loopback import Asked, Fault, Loopback
from tests.support.seeing_server import clause_answer, found, seen_box, shown, word_answer

pytestmark = pytest.mark.usefixtures("stand_alone")

NOTHING_BEGUN = "(nothing was begun; --no-preflight, in Python preflight=False, skips this check)"
ASKED_FOR_A_BOX = "shown a drawing of a red bottle at the lower left and asked where the bottle is, openai/looker "
ONE_ITEM = ("--levels", "1", "--per-level", "1", "--size", "64")
BLIND = "it does not see the images"
QUICK = "initial_backoff=0"
PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "troubleshooting.md").read_text(encoding="utf-8")
"""The page with the table of all this."""

Reply = Callable[[Asked], str]


def _run(server: Loopback, *more: str, suite: str = "knolling", model: str = "builtin/oracle") -> Result:
    url = f"base_url={server.url}/v1"
    judge = () if "-j" in more else ("-j", "openai/looker", "-J", url, "-J", QUICK)
    remote = ("-M", url, "-M", QUICK) if model.startswith("openai/") else ()
    return formalimg("run", suite, "-m", model, *remote, *judge, *ONE_ITEM, "--out", "run", *more)


def _made() -> int:
    return len(list(Path("run/images").glob("*.png")))


def _refused(done: Result, *words: str) -> None:
    """The command ended with exit code 2 and a last line with these words, and nothing was made."""
    assert done.code == 2, done.err
    last = done.err.splitlines()[-1]
    assert last.startswith("error: ")
    for word in words:
        assert word in last
    assert _made() == 0


def _dead_address() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"base_url=http://127.0.0.1:{taken.getsockname()[1]}/v1"


# --- judges that find boxes


def test_a_server_that_is_not_there() -> None:
    args = ("-j", "openai/looker", "-J", _dead_address(), "-J", QUICK)
    with Loopback() as unused:
        done = _run(unused, *args)
    _refused(done, ASKED_FOR_A_BOX, "did not answer: unavailable: the connection to http://127.0.0.1:")
    assert f"start the server, or correct -J base_url {NOTHING_BEGUN}" in done.err


@pytest.mark.parametrize(
    ("status", "calls", "words"),
    [
        ("401", 1, "does not accept the key for openai/looker: check OPENAI_API_KEY"),
        ("403", 1, "the key in OPENAI_API_KEY may not use openai/looker"),
        ("404", 1, "does not know openai/looker (404: it went wrong): check the name, or base_url"),
        ("500", 2, "unavailable: 500: it went wrong: look into the log of the server, or try again later"),
        ("html", 2, "the answer is an HTML page, not JSON: check -J base_url and the name of the model"),
    ],
)
def test_a_server_that_says_no(status: str, calls: int, words: str) -> None:
    assert words in PAGE
    with Loopback(faults=lambda number: Fault(status)) as server:
        _refused(_run(server), words)
        assert len(server.requests) == calls


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (found((100, 300, 300, 860), "glass flask"), 'answered with other labels: "glass flask": it must repeat the'),
        (
            found((45, 134, 134, 385)),
            "in pixels, but was asked for xyxy-1000: give the judge the option -J boxes=pixels",
        ),
        (found((300, 100, 860, 300)), "in yxyx-1000, but was asked for xyxy-1000: give the judge the option -J boxes="),
        (found((0.1, 0.3, 0.3, 0.86)), "in unit, but was asked for xyxy-1000: give the judge the option -J boxes=unit"),
        (found((100, 300, 200, 560)), "as x, y, width, height, but was asked for xyxy-1000: formalimg reads corners"),
        ("Certainly! I see a bottle.", "there is no JSON in the answer: let the server answer in JSON (-J schema=none"),
    ],
    ids=["labels", "pixels", "yx", "unit", "xywh", "text"],
)
def test_answers_that_cannot_be_used(answer: str, words: str) -> None:
    assert words in PAGE
    with Loopback(reply=lambda asked: answer) as server:
        _refused(_run(server), ASKED_FOR_A_BOX, words, NOTHING_BEGUN)


@pytest.mark.parametrize("answer", [found((10, 20, 50, 60)), found(None)], ids=["a box", "no box"])
def test_a_model_that_does_not_see_the_images(answer: str) -> None:
    with Loopback(reply=lambda asked: answer) as server:
        _refused(_run(server), "says the same of two drawings that differ", BLIND, NOTHING_BEGUN)
        assert len(server.requests) == 2


def test_the_convention_that_the_message_names_is_the_right_one() -> None:
    def in_pixels(asked: Asked) -> str:
        box = seen_box(asked)
        return found([value * 0.448 for value in box] if box else None)

    with Loopback(reply=in_pixels) as server:
        _refused(_run(server), "-J boxes=pixels")
        done = _run(server, "-J", "boxes=pixels")
    assert done.code == 0, done.err


def test_a_judge_that_errs_on_the_drawing_is_used_with_a_warning() -> None:
    def weak(asked: Asked) -> str:
        return found({"low": (600, 600, 700, 700)}.get(shown(asked), seen_box(asked)))

    with Loopback(reply=weak) as server:
        done = _run(server)
        assert len(server.requests) == 3
    assert done.code == 0
    assert "pre-flight: openai/looker looked at 2 drawings" in done.err
    assert "pre-flight: openai/looker erred on a simple drawing: asked where the bottle is, it found it at" in done.err


# --- what a good judge is spared


def test_a_judge_that_passed_is_not_asked_again_and_its_cost_counts(tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text('[prices]\n"openai/looker" = { input = 100.0, output = 100.0 }\n')
    with Loopback(reply=lambda asked: found(seen_box(asked))) as server:
        done = _run(server, "--budget", "1")
        assert len(server.requests) == 2
        assert "pre-flight: openai/looker looked at 1 drawing, $0.0120" in done.err
        kept = json.loads(Path("run/preflight.jsonl").read_text())
        assert (kept["judge"], kept["passed"], kept["cost"]) == ("openai/looker", True, 0.012)
        # Of the budget one call is left besides those of the run and the pre-flight: not two.
        more = _run(server, "--samples", "5", "--budget", "0.036", "-J", "concurrency=1")
        assert more.code == 130, more.err
        assert len(server.requests) == 3
        assert "pre-flight" not in more.err


def test_no_call_is_made_on_a_dry_run_or_when_all_is_done_or_on_request() -> None:
    with Loopback(reply=lambda asked: found(None)) as server:
        assert _run(server, "--dry-run").code == 0
        assert server.requests == []
        assert _run(server, "--no-preflight").code == 0
        assert len(server.requests) == 1
        assert _run(server).code == 0
        assert len(server.requests) == 1


def test_a_dead_server_is_not_hidden_by_the_cache() -> None:
    with Loopback(reply=lambda asked: found(seen_box(asked))) as server:
        assert _run(server).code == 0
        again = _run(server, "--out", "other")
        assert again.code == 0
        assert len(server.requests) == 3  # the drawing is asked about anew, the image itself is known


def test_every_judge_is_tried_before_anything_is_made() -> None:
    with Loopback(reply=lambda asked: found(seen_box(asked))) as server:
        judges = ("-j", "openai/looker", "-j", "openai/other", "-J", QUICK)
        done = _run(server, *judges, "-J", f"1:base_url={server.url}/v1", "-J", f"2:{_dead_address()}")
        _refused(done, "openai/other did not answer", NOTHING_BEGUN)
        assert len(server.requests) == 1


def test_judging_an_existing_run_tries_the_judge_too() -> None:
    with Loopback(reply=lambda asked: "no JSON") as server:
        assert formalimg("run", "knolling", "-m", "builtin/oracle", *ONE_ITEM, "--out", "run").code == 0
        done = formalimg("judge", "run", "-j", "openai/looker", "-J", f"base_url={server.url}/v1")
        assert done.code == 2
        assert NOTHING_BEGUN in done.err
        report = formalimg("report", "run", "--judges", "all")
        assert "openai/looker" not in report.out  # a judge that never began is none of the run's


# --- yes or no, and scores


@pytest.mark.parametrize(
    ("suite", "reply", "code", "words"),
    [
        ("natural", lambda asked: clause_answer(asked, shown(asked) == "low", shown(asked) == "fork"), 0, "1 drawing,"),
        ("natural", lambda asked: clause_answer(asked, True, True), 2, f"(it says yes, yes): {BLIND}"),
        ("natural", lambda asked: clause_answer(asked, False, False), 2, f"(it says no, no): {BLIND}"),
        ("natural", lambda asked: clause_answer(asked, True, shown(asked) == "fork"), 0, "1 drawing,"),
        ("natural", lambda asked: clause_answer(asked, False, shown(asked) == "fork"), 0, "erred on a simple drawing"),
        ("natural", lambda asked: "It shows a bottle.", 2, "whether there is a fork, openai/looker gave answers that"),
        ("conceptmix", lambda asked: word_answer(True), 2, f"(it says yes, yes): {BLIND}"),
        ("cf-world", lambda asked: "9 of 10.", 2, "asked for a score of how far it shows a bottle, openai/looker"),
    ],
)
def test_judges_of_yes_and_no_and_of_scores(suite: str, reply: Reply, code: int, words: str) -> None:
    """Only the pre-flight is looked at: what follows is of items that this server does not know."""
    with Loopback(reply=reply) as server:
        done = _run(server, "-J", "parse_retries=0", suite=suite, model="openai/painter")
    assert words in done.err
    assert (done.code == 2) == (code == 2), done.err


# --- image models


def test_the_first_image_is_made_alone_and_kept() -> None:
    with Loopback(latency=0.2) as server:
        _run(server, "-j", "builtin/icons", "--levels", "1-3", model="openai/painter")
        assert len(server.requests) == _made() == 3
        assert server.most_at_once <= 2  # where three calls may be made at a time


@pytest.mark.parametrize(
    ("status", "calls", "words"),
    [
        ("401", 1, "does not accept the key for openai/painter: check OPENAI_API_KEY"),
        ("500", 2, "made none (unavailable: 500: it went wrong): look into the log of the server, or try again later"),
        ("400", 2, "made none (rejected: 400: it went wrong): correct the options of the model (-M) or --size"),
    ],
)
def test_an_image_model_that_fails_at_once(status: str, calls: int, words: str) -> None:
    with Loopback(faults=lambda number: Fault(status)) as server:
        done = _run(server, "-j", "builtin/icons", "--levels", "1-10", model="openai/painter")
        assert len(server.requests) == calls
    _refused(done, words)


def test_an_image_that_fails_alone_does_not_end_the_run() -> None:
    with Loopback(faults=lambda number: Fault("400") if number == 0 else None) as server:
        _run(server, "-j", "builtin/icons", "--levels", "1-4", model="openai/painter")
        assert (len(server.requests), _made()) == (4, 3)


def test_generating_images_tries_the_model_too() -> None:
    with Loopback(faults=lambda number: Fault("500")) as server:
        url = ("-M", f"base_url={server.url}/v1", "-M", QUICK)
        done = formalimg(
            "run", "--no-judge", "knolling", "-m", "openai/painter", *url, "--per-level", "1", "--out", "run"
        )
        assert len(server.requests) == 2
    _refused(done, "asked for the first image, openai/painter made none")


def test_score_tries_its_judge_first(tmp_path: Path) -> None:
    Image.effect_noise((64, 64), 40).convert("RGB").save("photo.png")
    judge = ("--judge", "openai/looker", "-J", _dead_address(), "-J", QUICK)
    done = formalimg("score", "photo.png", "--prompt", "There is a cup.", *judge)
    assert done.code == 2, done.err
    assert "nothing was begun" in done.err.splitlines()[-1]
