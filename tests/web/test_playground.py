"""What the playground answers: the library's own findings, within limits, and to nobody else's pages."""

from __future__ import annotations

import base64
import io
import json
import re

import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.testclient import TestClient

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
from formalimg.web.playground.worker_pool import JobPool, JobTimeoutError
from formalimg.web.server import build_app
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
