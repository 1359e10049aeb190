"""The playground: formulas, scenes and images, scores, and hostile input."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.testclient import TestClient

import formalimg
from formalimg.drawing.icon_scene import draw, layout_png
from formalimg.judges.factory import open_judge
from formalimg.language.equivalence import is_equivalent_as_written
from formalimg.language.parser import parse_prompt
from formalimg.logic.checks import check
from formalimg.logic.parser import parse
from formalimg.logic.prenex import clauses, complexity
from formalimg.logic.soft_score.best_binding import best_binding
from formalimg.logic.verification import verify
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.web.playground.routes import playground_routes
from formalimg.web.playground.worker_pool import WORKER, InputTooLargeError, JobPool, JobTimeoutError, WorkersBusyError
from formalimg.web.server import build_app
from tests.support.browser import PATIENCE, needs_browser, served_at
from tests.support.loopback import Loopback
from tests.support.seeing import SeeingModel, question
from tests.support.sizes import only_in_full, tries
from tests.web.sites import HARM

CUP_AND_FORK = "(exists ?c (exists ?f (and (Is ?c 'cup') (Has ?c 'red') (Is ?f 'fork') (LeftOf ?c ?f))))"
RED = Scene.of(
    [SceneObject("cup", Box(100, 100, 300, 300), "red"), SceneObject("fork", Box(600, 100, 660, 400), "gray")]
)
BLUE = Scene.of(
    [SceneObject("cup", Box(100, 100, 300, 300), "blue"), SceneObject("fork", Box(600, 100, 660, 400), "gray")]
)
ENDLESS = "(forall ?d (exists ?c (forall ?b (exists ?a (iff (LeftOf ?a ?b) (iff (Above ?b ?c) (iff (LargerThan ?c ?d) (iff (Above ?a ?d) (iff (LeftOf ?a ?c) (Below ?b ?d))))))))))"  # noqa: E501
"""It takes about half a second to decide, or to give up, in a scene of many objects."""


class Visitor:
    """Somebody whose page asks the playground."""

    def __init__(self, app: Starlette) -> None:
        origin = "http://127.0.0.1:8421"
        self.client = TestClient(app, base_url=origin, headers={"Origin": origin})

    def reply(self, matter: str, status: int = 200, /, **asked: object) -> dict[str, object]:
        sent = json.dumps({"vocabulary": "knolling", **asked})
        headers = {"Content-Type": "application/json"}
        answer = self.client.post(f"/playground/{matter}", content=sent, headers=headers)
        assert answer.status_code == status, answer.text
        reply = answer.json()
        assert isinstance(reply, dict)
        return reply

    def refusal(self, status: int, matter: str, /, **asked: object) -> str:
        return str(self.reply(matter, status, **asked)["error"])


@pytest.fixture(scope="module")
def visitor() -> Visitor:
    return Visitor(build_app(playground_routes(), token=None, command="formalimg view"))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _png(image: Image.Image) -> bytes:
    page = io.BytesIO()
    image.save(page, "PNG")
    return page.getvalue()


def _text(scene: Scene) -> str:
    return json.dumps(scene.to_json())


def test_problems_have_their_places_and_advice(visitor: Visitor) -> None:
    formula = "(exists ?x\n  (and (Is ?x 'cupp') (Above ?x ?y)))"
    reply = visitor.reply("check", formula=formula)["problems"]
    assert isinstance(reply, list)
    for one, problem in zip(reply, check(formula, "knolling"), strict=True):
        assert {name: one[name] for name in problem.to_json()} == problem.to_json()
        source, caret = one["excerpt"].splitlines()
        assert source.strip() == formula.splitlines()[1].strip()
        marked = source[caret.index("^") : len(caret)]
        assert marked == formula[one["start"] : one["end"]]
    assert (reply[0]["line"], reply[0]["column"]) == (2, 15)
    assert "did you mean 'cup'?" in reply[0]["message"]


def test_far_too_many_problems_are_counted(visitor: Visitor) -> None:
    reply = visitor.reply("check", formula="(x)" * 3000)
    problems, more = reply["problems"], reply["more"]
    assert isinstance(problems, list)
    assert isinstance(more, int)
    assert len(problems) + more == len(check("(x)" * 3000, "knolling"))
    assert len(problems) < 100


def test_a_formula_is_measured_and_worded_as_the_library_does_it(visitor: Visitor) -> None:
    shipped = visitor.client.get("/playground/examples?vocabulary=knolling").json()["examples"]
    styled = "(and (IsStyle 'photo') (exists ?p (and (Is ?p 'plant') (HasColor ?p 'purple'))))"
    for suite, formula in [*(("knolling", one["formula"]) for one in shipped), ("natural", styled)]:
        reply = visitor.reply("check", formula=formula, vocabulary=suite)
        assert reply["problems"] == []
        assert reply["k"] == complexity(formula)
        assert reply["clauses"] == [{"kind": one.kind, "text": one.text} for one in clauses(formula)]
        assert is_equivalent_as_written(parse_prompt(str(reply["words"]), suite), parse(formula))
        assert bool(reply["styles"]) is (suite == "natural")
        assert reply["solvable"] is (suite == "knolling")


def test_what_cannot_be_said_or_laid_out_says_so(visitor: Visitor) -> None:
    reply = visitor.reply("check", formula="(exists ?x (iff (Is ?x 'cup') (Has ?x 'red')))")
    assert (reply["words"], "iff" in str(reply["wordless"])) == ("", True)
    many = " ".join(["(and (Is ?x 'cup') (Has ?x 'red'))"] * 30)
    reply = visitor.reply("check", formula=f"(exists ?x (or {many}))")
    assert reply["clauses"] is None
    assert reply["k"] == 1
    assert reply["unlisted"]
    tower = "(iff (Is ?x 'cup') " * 60 + "(Is ?x 'cup')" + ")" * 60
    reply = visitor.reply("check", formula=f"(exists ?x {tower})")
    assert (reply["problems"], reply["k"], reply["words"]) == ([], None, "")
    assert "lifted form" in str(reply["unlisted"])
    assert visitor.reply("verify", formula=f"(exists ?x {tower})", scene=_text(RED))["passed"] is True


def test_a_witness_is_one_and_another_seed_gives_another(visitor: Visitor) -> None:
    reply = visitor.reply("solve", formula=CUP_AND_FORK)
    scene = Scene.from_json(json.loads(str(reply["scene"])))
    assert reply["outcome"] == "witness"
    assert verify(CUP_AND_FORK, scene)
    head, _, data = str(reply["image"]).partition(",")
    assert head == "data:image/png;base64"
    assert Image.open(io.BytesIO(base64.b64decode(data))).size == (640, 640)
    assert visitor.reply("solve", formula=CUP_AND_FORK, seed=0) == reply
    assert visitor.reply("solve", formula=CUP_AND_FORK, seed=1)["scene"] != reply["scene"]


def test_what_has_no_witness_has_a_proof(visitor: Visitor) -> None:
    reply = visitor.reply("solve", formula="(exists ?x (and (OnLeftSide ?x) (OnRightSide ?x)))")
    assert reply["outcome"] == "unsatisfiable"
    assert "line 1, column 17: (OnLeftSide ?x)" in str(reply["words"])


def test_only_formulas_that_the_solver_has_rules_for_are_solved(visitor: Visitor) -> None:
    assert "knolling" in visitor.refusal(422, "solve", formula="(exists ?x (Is ?x 'cup'))", vocabulary="natural")


@pytest.mark.parametrize("scene", [RED, BLUE, Scene.of([])])
@pytest.mark.parametrize("semantics", ["strict", "classical"])
def test_scenes_get_the_verdicts_of_the_library(visitor: Visitor, scene: Scene, semantics: str) -> None:
    formula = (
        "(and (forall ?k (implies (Is ?k 'knife') (Has ?k 'red'))) (exists ?c (and (Is ?c 'cup') (Has ?c 'red'))))"
    )
    reply = visitor.reply("verify", formula=formula, semantics=semantics, scene=_text(scene))
    reading = "strict" if semantics == "strict" else "classical"
    verdict = verify(formula, scene, reading)  # type: ignore[arg-type]
    best = best_binding(formula, scene, reading)  # type: ignore[arg-type]
    assert reply["passed"] is verdict.passed
    assert reply["explanation"] == verdict.explain()
    judged = reply["clauses"]
    assert isinstance(judged, list)
    assert [(one["text"], one["holds"]) for one in judged] == [(one.clause.text, one.holds) for one in best.clauses]
    assert Scene.from_json(json.loads(str(reply["scene"]))) == scene


def test_drawn_images_get_the_verdict_of_the_judge(visitor: Visitor) -> None:
    for scene, passed in ((RED, True), (BLUE, False)):
        reply = visitor.reply("verify", formula=CUP_AND_FORK, image=_base64(_png(draw(scene, 256))))
        assert reply["passed"] is passed
        assert open_judge("knolling").name in str(reply["by"])
        boxes = reply["boxes"]
        assert isinstance(boxes, list)
        assert [box["failed"] for box in boxes] == [not passed, False]
        assert [box["looks"] for box in boxes] == [obj.describe() for obj in scene.objects]


def test_layouts_are_read_from_their_files_in_any_vocabulary(visitor: Visitor) -> None:
    reply = visitor.reply(
        "verify", formula="(exists ?c (Is ?c 'cup'))", vocabulary="natural", image=_base64(layout_png(RED))
    )
    assert (reply["passed"], "layout" in str(reply["by"])) == (True, True)


def test_the_style_of_an_image_must_be_told(visitor: Visitor) -> None:
    asked = {"formula": "(IsStyle 'photo')", "vocabulary": "natural", "scene": _text(RED)}
    assert "style of the image is not known" in visitor.refusal(422, "verify", **asked)
    assert visitor.reply("verify", **asked, style="photo")["passed"] is True
    assert visitor.reply("verify", **asked, style="cartoon")["passed"] is False
    visitor.refusal(400, "verify", **asked, style=HARM)


def test_what_cannot_be_verified_says_why(visitor: Visitor) -> None:
    def why(status: int = 422, **asked: object) -> str:
        return visitor.refusal(status, "verify", **{"formula": CUP_AND_FORK, **asked})

    noise = _png(Image.effect_noise((64, 64), 90))
    assert "unreadable image" in why(200, image=_base64(b"GIF89a not for us"))
    assert "unreadable image" in why(200, image=_base64(_png(draw(RED, 256))[:900]))
    assert "base64" in why(200, image="no base64!")
    assert "builtin/icons reads only drawings" in why(200, image=_base64(noise))
    assert "need a vision model" in why(
        200, image=_base64(noise), vocabulary="natural", formula="(exists ?c (Is ?c 'cup'))"
    )
    assert "pixels" in why(413, image=_base64(_png(Image.new("1", (9000, 9000)))))
    assert "not valid JSON" in why(scene="{")
    assert "not valid JSON" in why(scene="[" * 100_000)
    assert "has no box_2d" in why(scene='{"objects": [{"label": "\\ud800"}]}')
    assert "1,000 objects" in why(413, scene=_text(Scene.of([RED.objects[0]] * 1000)))
    assert "line 1, column 1" in why(formula="(Is", scene=_text(RED))


def test_what_is_no_question_is_refused(visitor: Visitor) -> None:
    visitor.refusal(400, "check")
    visitor.refusal(400, "check", formula=7)
    visitor.refusal(400, "check", formula="(", semantics="vague")
    visitor.refusal(400, "check", formula="\ud800")
    visitor.refusal(400, "verify", formula=CUP_AND_FORK)
    visitor.refusal(400, "solve", formula=CUP_AND_FORK, seed=-1)
    visitor.refusal(413, "check", formula="(" * 20_001)
    visitor.refusal(413, "check", formula="(", more="x" * 300_000)
    visitor.refusal(413, "verify", formula="(", image="x" * 25_200_000)
    for path in ("/etc/hostname", "../knolling.toml", "/tmp/words.toml"):
        assert "knolling, natural" in visitor.refusal(400, "check", formula="(", vocabulary=path)


def test_other_sites_and_other_forms_are_refused(visitor: Visitor) -> None:
    asked = json.dumps({"formula": "(", "vocabulary": "knolling"})
    for matter in ("check", "solve", "verify"):
        foreign = {"Origin": "http://evil.example", "Content-Type": "application/json"}
        assert visitor.client.post(f"/playground/{matter}", content=asked, headers=foreign).status_code == 403
        plain = {"Content-Type": "text/plain"}
        assert visitor.client.post(f"/playground/{matter}", content=asked, headers=plain).status_code == 415
        assert visitor.client.get(f"/playground/{matter}").status_code == 405


def test_long_work_is_stopped_and_few_work_at_once() -> None:
    scene = Scene.of(
        [
            SceneObject("cup", Box(x, y, x + 20 + x % 7, y + 30 + y % 5))
            for x in range(0, 540, 90)
            for y in range(0, 540, 90)
        ]
    )
    bench = JobPool(workers=1, queue_timeout=0.01)
    asked = {"formula": ENDLESS, "vocabulary": "knolling", "semantics": "strict", "style": None, "draws": False}
    with pytest.raises(JobTimeoutError):
        bench.run("verify", 0.1, **asked, scene=_text(scene))
    assert bench.run("verify", 5, **{**asked, "formula": CUP_AND_FORK}, scene=_text(RED))["passed"] is True
    full = playground_routes(JobPool(workers=0, queue_timeout=0.01))
    crowded = Visitor(build_app(full, token=None, command="formalimg view"))
    assert "try again" in crowded.refusal(503, "solve", formula=CUP_AND_FORK)
    assert "try again" in crowded.refusal(503, "verify", formula=CUP_AND_FORK, scene=_text(RED))
    assert "try again" in str(crowded.reply("check", formula=CUP_AND_FORK)["wordless"])
    assert crowded.reply("check", formula="(")["problems"]


def test_examples_are_shipped_items_of_growing_complexity(visitor: Visitor) -> None:
    examples = visitor.client.get("/playground/examples?vocabulary=knolling").json()["examples"]
    assert 3 <= len(examples) <= 5
    assert [one["k"] for one in examples] == sorted({complexity(one["formula"]) for one in examples})
    assert not any(check(one["formula"], "knolling") for one in examples)
    assert visitor.client.get(f"/playground/examples?vocabulary={HARM}").status_code == 404


def test_the_page_runs_no_script_but_its_own_whatever_the_address_says(visitor: Visitor) -> None:
    page = visitor.client.get("/playground", params={"formula": HARM, "vocabulary": HARM, "style": HARM}).text
    assert "pwned" not in page
    assert re.findall(r"<script[^>]*src=\"([^\"]+)\"", page) == ["/static/theme.js", "/static/playground.js"]
    assert "<script>" not in page
    assert not re.search(r"\s(style|on\w+)=", page)


CUP = "(exists ?c (Is ?c 'cup'))"
PAIRS = " ".join("(and (Is ?x 'cup') (Has ?x 'red'))" for _ in range(10))
MANY_CLAUSES = f"(exists ?x (or {PAIRS}))"
"""A short formula with 1,024 clauses of ten literals."""

DISTINCT_PAIRS = " ".join(f"(and (Is ?x 'a{n}') (Is ?x 'b{n}'))" for n in range(10))
MANY_WORDS = f"(exists ?x (or {DISTINCT_PAIRS}))"

VERIFIED = {"formula": CUP, "vocabulary": "knolling", "semantics": "strict", "style": None, "draws": False}


def test_a_scene_is_counted_before_it_is_parsed(visitor: Visitor) -> None:
    told = visitor.refusal(413, "verify", formula=CUP, scene="[" + "[]," * 4_000_000 + "0]")
    assert told == "the scene has more than 200,000 values: verify a smaller one here"


def test_an_object_with_endless_words_is_refused(visitor: Visitor) -> None:
    scene = {"objects": [{"label": "x" * 2_000_000, "box_2d": [0, 0, 10, 10]}]}
    told = visitor.refusal(413, "verify", formula=CUP, scene=json.dumps(scene))
    assert told == "an object has more than 1000 characters of words: choose shorter ones"


def test_very_many_clauses_are_counted_and_not_listed(visitor: Visitor) -> None:
    reply = visitor.reply("check", formula=MANY_CLAUSES)
    assert (reply["clauses"], reply["k"]) == (None, 1)
    assert reply["unlisted"] == "it has 1,024 clauses: too many to be listed here"


def test_long_formulas_have_short_words(visitor: Visitor) -> None:
    name = "x" * 300
    told = visitor.refusal(413, "check", formula=f"(exists ?{name} (or {PAIRS.replace('?x', f'?{name}')}))")
    assert told == "a word of the formula has more than 200 characters: choose a shorter one"


def test_a_result_that_is_too_large_is_not_sent() -> None:
    pool = JobPool(1)
    scene = {"objects": [{"label": "y" * 900, "color": "red", "box_2d": [0, 0, 10, 10]}]}
    with pytest.raises(InputTooLargeError, match=r"the result has .* bytes, too many to be shown"):
        pool.run("verify", 30.0, **{**VERIFIED, "formula": MANY_WORDS}, scene=json.dumps(scene))
    found = pool.run("verify", 30.0, **VERIFIED, scene=json.dumps(RED.to_json()))
    assert found["passed"] is True


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the memory of a process")
def test_a_worker_that_needs_too_much_memory_says_so() -> None:
    greedy = (
        "from formalimg.web.playground import worker_pool as pool; pool._MAX_MEMORY = 1024**3; pool.limit_memory(); "
    )
    greedy += "print(pool.execute(lambda _: bytearray(2**31), {}))"
    told = subprocess.run([sys.executable, "-c", greedy], capture_output=True, text=True, check=True, timeout=60)
    assert "this takes too much memory here" in told.stdout


@pytest.mark.parametrize("matter", ["verify", "check", "solve"][: tries(1, 3)])
@pytest.mark.parametrize(
    "formula",
    [
        "(iff (exists ?x (Is ?x 'cup')) " * 190 + CUP + ")" * 190,
        "(or " + " ".join(f"(exists ?x{n} (and (Is ?x{n} 'cup') (Has ?x{n} 'red')))" for n in range(300)) + ")",
        "".join(f"(exists ?x{n} (forall ?y{n} (implies (Is ?y{n} 'cup') (and (LeftOf ?x{n} ?y{n}) " for n in range(9))
        + CUP
        + "))))" * 9,
    ],
    ids=["iff", "or", "alternation"],
)
def test_hostile_formulas_end_in_time(visitor: Visitor, matter: str, formula: str) -> None:
    began = time.monotonic()
    scene = {"scene": json.dumps(RED.to_json())} if matter == "verify" else {}
    sent = json.dumps({"vocabulary": "knolling", "formula": formula, **scene})
    answer = visitor.client.post(f"/playground/{matter}", content=sent, headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 413, 422), answer.text
    assert len(answer.content) < 8 * 1024 * 1024
    assert time.monotonic() - began < 30  # the timeouts are 8 seconds


def test_a_formula_that_is_nested_too_deep_is_not_solved(visitor: Visitor) -> None:
    formula = "(iff (exists ?x (Is ?x 'cup')) " * 190 + CUP + ")" * 190
    reply = visitor.reply("solve", formula=formula)
    assert reply == {"outcome": "unknown", "words": "the formula is nested too deep to be solved: write it flatter"}


def _drawing(side: int) -> str:
    """A drawing of so many pixels on each side, partly transparent."""
    file = io.BytesIO()
    image = draw(RED, 256).resize((side, side)).convert("RGBA")
    image.putpixel((0, 0), (255, 255, 255, 0))
    image.save(file, "PNG", compress_level=1)
    return base64.b64encode(file.getvalue()).decode("ascii")


def _memory_of_children() -> int:
    """Megabytes that the processes take together that this one has started."""
    total = 0
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            for child in (task / "children").read_text().split():
                if WORKER not in Path(f"/proc/{child}/cmdline").read_text():
                    continue  # not yet: it still has the memory of this process
                total += int(Path(f"/proc/{child}/statm").read_text().split()[1]) * 4096
    return total // 1_000_000


@only_in_full
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_large_images_share_the_memory_of_the_playground(record_property: Callable[[str, object], None]) -> None:
    image = _drawing(tries(4000, 4990))
    pool = JobPool(3, queue_timeout=60.0)
    app = build_app(playground_routes(pool), token=None, command="formalimg view")
    before, peak, is_over = _memory_of_children(), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not is_over.wait(0.005):
            peak = max(peak, _memory_of_children() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with ThreadPoolExecutor(3) as visitors:
            replies = list(visitors.map(lambda _: Visitor(app).reply("verify", formula=CUP, image=image), range(3)))
    finally:
        is_over.set()
        watcher.join()
    record_property("peak", peak)
    assert [reply["passed"] for reply in replies] == [True] * 3
    assert peak < 600


def test_only_some_jobs_wait_for_a_worker_and_others_are_refused_at_once() -> None:
    pool = JobPool(workers=0, queue_timeout=0.6)
    waits: list[float] = []

    def ask() -> None:
        began = time.monotonic()
        with pytest.raises(WorkersBusyError):
            pool.run("words", 1.0)
        waits.append(time.monotonic() - began)

    with ThreadPoolExecutor(30) as threads:
        list(threads.map(lambda _: ask(), range(30)))
    assert len(waits) == 30
    assert sum(wait >= 0.5 for wait in waits) == 8


pytestmark = pytest.mark.usefixtures("no_preflight")

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder of its own, with no judge configured anywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("FORMALIMG_JUDGE", raising=False)
    return tmp_path


@pytest.fixture
def scoring_visitor(elsewhere: Path) -> Visitor:
    """The worker processes start here, after the folder and the environment are as they should be."""
    return Visitor(build_app(playground_routes(), token=None, command="formalimg view"))


def test_without_a_chat_model_drawings_are_scored_as_by_the_command(scoring_visitor: Visitor, elsewhere: Path) -> None:
    drawing = _png(draw(RED, 256))
    prompt = "A blue cup is to the left of a fork."
    reply = scoring_visitor.reply("score", image=_base64(drawing), prompt=prompt)
    (same,) = formalimg.score(drawing, prompt, "builtin/icons", folder=elsewhere / "run")
    assert (reply["passed"], reply["score"], reply["reason"]) == (same.passed, same.score, same.reason)
    assert "blue" in str(reply["reason"])
    assert reply["parts"] == [
        {"text": part.name, "kind": part.kind, "holds": part.score >= 1, "reason": part.reason} for part in same.parts
    ]
    assert (
        scoring_visitor.reply("score", image=_base64(drawing), prompt="A red cup is left of a fork.")["passed"] is True
    )
    assert not list(elsewhere.glob("runs*"))


def test_what_the_embedded_grounder_cannot_read_is_unscored_and_says_what_is_needed(scoring_visitor: Visitor) -> None:
    shown = scoring_visitor.client.get("/playground/score").text
    assert "No chat model is configured" in shown
    photograph = _base64(_png(Image.effect_noise((200, 200), 80).convert("RGB")))
    reply = scoring_visitor.reply("score", image=photograph, prompt="A red cup is to the left of a fork.")
    assert (reply["passed"], reply["score"], reply["parts"]) == (None, None, [])
    assert str(reply["reason"]).startswith("unscored, ")
    assert "set FORMALIMG_JUDGE" in str(reply["advice"])
    said = scoring_visitor.refusal(422, "score", image=photograph, prompt="Melancholy, but make it jazz")
    assert "cannot answer questions" in said
    assert "set FORMALIMG_JUDGE" in said
    assert "image" in scoring_visitor.refusal(422, "score", image=_base64(b"no image"), prompt="A cup")
    assert scoring_visitor.refusal(400, "score", image=photograph, prompt="  ") == (
        "the prompt is empty: write what the image should show"
    )
    assert "no more than 2,000" in scoring_visitor.refusal(413, "score", image=photograph, prompt="x" * 2_001)


def test_a_configured_chat_model_answers_questions_about_any_image(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photograph = _png(Image.radial_gradient("L").convert("RGB"))
    cup, red = "Is there a cup?", "Is the cup red?"
    written = [question("1", cup), question("2", red, "1", category="attribute")]
    model = SeeingModel({hashlib.sha256(photograph).hexdigest(): {cup}}, written={"A red cup on a shelf": [written]})
    monkeypatch.setenv("OPENAI_API_KEY", "no-key-at-all-but-long-enough")
    with Loopback(reply=model) as server:
        own = elsewhere / "config" / "formalimg" / "formalimg.toml"
        own.parent.mkdir(parents=True)
        own.write_text(f'[defaults]\njudge = "openai/seeing"\njudge_options = {{ base_url = "{server.url}/v1" }}\n')
        monkeypatch.setenv("XDG_CONFIG_HOME", str(elsewhere / "config"))
        scoring_visitor = Visitor(build_app(playground_routes(), token=None, command="formalimg view"))
        assert f"Judged by openai/seeing, from {own}" in scoring_visitor.client.get("/playground/score").text
        reply = scoring_visitor.reply("score", image=_base64(photograph), prompt="A red cup on a shelf")
    assert (reply["passed"], reply["score"], reply["form"]) == (False, 0.5, "questions")
    assert reply["reason"] == f"no: {red}"
    assert reply["judge"] == "openai/seeing"


@pytest.fixture
def address(elsewhere: Path) -> Iterator[str]:
    with served_at(build_app(playground_routes(), token=None, command="formalimg view")) as found:
        yield found


@needs_browser
def test_an_image_is_chosen_and_scored_in_a_browser(browser: Browser, address: str) -> None:
    complaints: list[str] = []
    page = browser.new_page(base_url=address, viewport={"width": 390, "height": 844})
    page.set_default_timeout(PATIENCE)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto("/playground")
    page.get_by_role("link", name="any image, any prompt").click()
    assert page.get_by_role("button", name="Score").is_disabled()
    drawing = _png(draw(RED, 256))
    page.set_input_files("#file", {"name": f"{HARM}.png", "mimeType": "image/png", "buffer": drawing})
    page.get_by_label("Prompt").fill("A red cup is to the right of a fork.")
    page.locator("#score:enabled").wait_for()  # the file has been read
    page.keyboard.press("Control+Enter")
    page.locator("#verdict .fail").wait_for()
    assert page.locator("#parts .pass").count() == 3
    assert "(RightOf ?cup ?fork)" in page.locator("#parts tr", has=page.locator(".fail")).inner_text()
    assert "fork" in page.locator("#reason").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_label("Prompt").fill(HARM)
    assert page.locator("#parts tr").count() == 0  # what was scored before is about another prompt
    page.get_by_role("button", name="Score").click()
    page.locator("#error").get_by_text("set FORMALIMG_JUDGE").wait_for()
    assert page.evaluate("typeof pwned") == "undefined"
    page.close()
    assert not complaints
