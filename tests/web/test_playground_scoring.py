"""Any image by any prompt in the playground: what `formalimg score` gives, and plain words where it gives nothing."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image

import formalimg
from formalimg.drawing.icon_scene import draw
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.web.playground.routes import playground_routes
from formalimg.web.server import build_app
from tests.support.browser import PATIENCE, needs_browser, served_at
from tests.support.loopback import Loopback
from tests.support.seeing import SeeingModel, question
from tests.web.sites import HARM
from tests.web.test_playground import Visitor

pytestmark = pytest.mark.usefixtures("no_preflight")

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CUP_AND_FORK = Scene.of(
    [SceneObject("cup", Box(100, 100, 300, 300), "red"), SceneObject("fork", Box(600, 100, 660, 400), "gray")]
)


def _png(image: Image.Image) -> bytes:
    written = io.BytesIO()
    image.save(written, "PNG")
    return written.getvalue()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder of its own, with no judge configured anywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("FORMALIMG_JUDGE", raising=False)
    return tmp_path


@pytest.fixture
def visitor(elsewhere: Path) -> Visitor:
    """The worker processes start here, after the folder and the environment are as they should be."""
    return Visitor(build_app(playground_routes(), token=None, command="formalimg view"))


def test_without_a_chat_model_drawings_are_scored_as_by_the_command(visitor: Visitor, elsewhere: Path) -> None:
    drawing = _png(draw(CUP_AND_FORK, 256))
    prompt = "A blue cup is to the left of a fork."
    reply = visitor.reply("score", image=_base64(drawing), prompt=prompt)
    (same,) = formalimg.score(drawing, prompt, "builtin/icons", folder=elsewhere / "run")
    assert (reply["passed"], reply["score"], reply["reason"]) == (same.passed, same.score, same.reason)
    assert "blue" in str(reply["reason"])
    assert reply["parts"] == [
        {"text": part.name, "kind": part.kind, "holds": part.score >= 1, "reason": part.reason} for part in same.parts
    ]
    assert visitor.reply("score", image=_base64(drawing), prompt="A red cup is left of a fork.")["passed"] is True
    assert not list(elsewhere.glob("runs*"))


def test_what_the_embedded_grounder_cannot_read_is_unscored_and_says_what_is_needed(visitor: Visitor) -> None:
    shown = visitor.client.get("/playground/score").text
    assert "No chat model is configured" in shown
    photograph = _base64(_png(Image.effect_noise((200, 200), 80).convert("RGB")))
    reply = visitor.reply("score", image=photograph, prompt="A red cup is to the left of a fork.")
    assert (reply["passed"], reply["score"], reply["parts"]) == (None, None, [])
    assert str(reply["reason"]).startswith("unscored, ")
    assert "set FORMALIMG_JUDGE" in str(reply["advice"])
    said = visitor.refusal(422, "score", image=photograph, prompt="Melancholy, but make it jazz")
    assert "cannot answer questions" in said
    assert "set FORMALIMG_JUDGE" in said
    assert "image" in visitor.refusal(422, "score", image=_base64(b"no image"), prompt="A cup")
    assert visitor.refusal(400, "score", image=photograph, prompt="  ") == (
        "the prompt is empty: write what the image should show"
    )
    assert "no more than 2,000" in visitor.refusal(413, "score", image=photograph, prompt="x" * 2_001)


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
        visitor = Visitor(build_app(playground_routes(), token=None, command="formalimg view"))
        assert f"Judged by openai/seeing, from {own}" in visitor.client.get("/playground/score").text
        reply = visitor.reply("score", image=_base64(photograph), prompt="A red cup on a shelf")
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
    drawing = _png(draw(CUP_AND_FORK, 256))
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
