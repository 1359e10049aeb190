"""The playground in a real browser: problems while one writes, a drawn witness, files that are dropped, links."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from formalimg.drawing.icon_scene import draw
from formalimg.logic.verification import verify
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.web.playground.routes import playground_routes
from formalimg.web.server import build_app
from tests.support.browser import PATIENCE, needs_browser, served_at, watched
from tests.support.sizes import only_in_full
from tests.web.sites import HARM

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [needs_browser, only_in_full]

FORMULA = "(exists ?c (and (Is ?c 'cup') (Has ?c 'red') (OnLeftSide ?c)))"
DROP = """({ name, type, data }) => {
  const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([bytes], name, { type }));
  const drop = new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer });
  document.querySelector("#stage").dispatchEvent(drop);
}"""

LATE = """() => {
  const fetched = window.fetch;
  window.fetch = async (address, sent) => {
    const answer = await fetched(address, sent);
    if (!sent?.body.includes("'cupp'")) return answer;
    const text = await answer.clone().text();
    window.late = "arrived";
    await new Promise((done) => { window.letGo = done; });
    return new Response(text, { headers: answer.headers });
  };
}"""
"""The answer on one formula comes after that on the next."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served_at(build_app(playground_routes(), token=None, command="formalimg view")) as found:
        yield found


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page that has seen no complaint: no error of a script, nothing that the policy had to stop, nothing outside."""
    context = browser.new_context(base_url=address, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    complaints = watched(opened, address, "data:", "blob:")
    yield opened
    harmed = opened.evaluate("typeof pwned")
    context.close()
    assert not complaints
    assert harmed == "undefined"


def _drop(page: Page, name: str, sort: str, data: bytes) -> None:
    page.evaluate(DROP, {"name": name, "type": sort, "data": base64.b64encode(data).decode("ascii")})


def test_problems_show_while_one_writes_and_lead_to_their_place(page: Page) -> None:
    page.goto("/playground")
    page.locator("#formula").press_sequentially("(exists ?x (Is ?x 'cupp'))")
    problem = page.locator("#problems li")
    problem.wait_for()
    assert "did you mean 'cup'?" in problem.inner_text()
    source, caret = (problem.locator("pre").text_content() or "").split("\n")
    assert source[caret.index("^") : len(caret)] == "'cupp'"
    assert page.locator("#solve").is_disabled()
    problem.get_by_role("button", name="line 1, column 19").press("Enter")
    page.keyboard.type("'cup'")
    page.get_by_text("K = 1: 1 variable, 1 clause").wait_for()
    assert page.locator("#problems li").count() == 0
    assert page.locator("#words").inner_text().endswith("There is a cup.")


def test_the_key_solves_and_the_witness_is_drawn_and_verified(page: Page) -> None:
    page.goto("/playground")
    page.fill("#formula", FORMULA)
    page.keyboard.press("Control+Enter")
    page.locator("#verdict .pass").wait_for()
    drawn = (
        "document.querySelector('#stage img').decode().then(() => document.querySelector('#stage img').naturalWidth)"
    )
    assert page.evaluate(drawn) == 640
    first = page.input_value("#scene")
    assert verify(FORMULA, Scene.from_json(json.loads(first)))
    assert page.locator("#clauses .pass").count() == page.locator("#clauses tr").count() == 3
    page.keyboard.press("Control+Enter")
    page.wait_for_function("before => document.querySelector('#scene').value !== before", arg=first)


def test_a_counted_formula_is_verified_and_says_how_many_are_missing(page: Page) -> None:
    page.goto("/playground")
    page.fill("#formula", "(exactly 3 ?c (and (Is ?c 'cup') (Has ?c 'red')))")
    page.get_by_text("K = 1").wait_for()
    assert page.locator("#problems li").count() == 0
    cups = [SceneObject("cup", Box(300 * n + 50, 100, 300 * n + 250, 300), "red") for n in range(3)]
    book = SceneObject("book", Box(100, 600, 300, 800), "red")
    _drop(page, "two.json", "application/json", json.dumps(Scene.of([cups[0], book, cups[1]]).to_json()).encode())
    page.locator("#verdict .fail").wait_for()
    assert "3 red cups needed, 2 found: #0 #2" in page.locator("#clauses").inner_text()
    _drop(page, "three.json", "application/json", json.dumps(Scene.of([*cups, book]).to_json()).encode())
    page.locator("#verdict .pass").wait_for()


def test_dropped_scenes_and_images_are_verified_and_again_when_the_formula_changes(page: Page) -> None:
    page.goto(f"/playground?formula={FORMULA}")
    page.get_by_text("K = 1").wait_for()
    scene = Scene.of(
        [SceneObject("cup", Box(600, 100, 800, 300), "red"), SceneObject(HARM, Box(100, 600, 300, 800), "red")]
    )
    _drop(page, f"{HARM}.json", "application/json", json.dumps(scene.to_json()).encode())
    page.locator("#verdict .fail").wait_for()
    assert page.locator("#clauses .fail").count() == 1
    assert "(OnLeftSide ?c)" in page.locator("#clauses tr", has=page.locator(".fail")).inner_text()
    page.locator("#stage .detected.fault").wait_for()
    assert page.locator("#stage .detected.fault text").text_content() == "red cup"
    assert HARM in page.locator("#warnings").inner_text()
    assert "centre x 700" in page.locator("#explanation").inner_text()

    image = io.BytesIO()
    draw(Scene.of([SceneObject("cup", Box(600, 100, 800, 300), "red")]), 256).save(image, "PNG")
    _drop(page, f"{HARM}.png", "image/png", image.getvalue())
    page.get_by_text("seen by builtin/icons").wait_for()
    assert page.locator("#verdict .fail").is_visible()
    assert (page.get_attribute("#stage img", "src") or "").startswith("blob:")
    page.fill("#formula", FORMULA.replace("OnLeftSide", "OnRightSide"))
    page.locator("#verdict .pass").wait_for()
    assert page.locator("#stage .fault").count() == 0


def test_the_address_brings_everything_back(page: Page) -> None:
    formula = "(and (IsStyle 'photo') (forall ?p (implies (Is ?p 'plant') (HasColor ?p 'green'))))"
    page.goto("/playground")
    page.select_option("#vocabulary", "natural")
    page.select_option("#semantics", "classical")
    page.fill("#formula", formula)
    page.get_by_label("style of the image").select_option("cartoon")
    page.get_by_text("K = 1").wait_for()
    assert page.locator("#solve").is_disabled()  # the solver has no rules for it
    page.wait_for_url("**style=cartoon**")
    kept = page.url
    page.goto("/playground")
    page.goto(kept)
    page.get_by_text("K = 1").wait_for()
    page.get_by_label("style of the image").wait_for()
    chosen = [page.input_value(f"#{name}") for name in ("formula", "vocabulary", "semantics", "style")]
    assert chosen == [formula, "natural", "classical", "cartoon"]
    assert page.url == kept


def test_no_answer_overtakes_a_later_one(page: Page) -> None:
    page.goto("/playground")
    page.evaluate(LATE)
    page.fill("#formula", "(exists ?x (Is ?x 'cupp'))")
    page.wait_for_function("() => window.late === 'arrived'")
    page.fill("#formula", "(exists ?x (Is ?x 'cup'))")
    page.get_by_text("K = 1").wait_for()
    page.evaluate("letGo()")
    page.wait_for_timeout(100)
    assert page.locator("#problems li").count() == 0
    assert page.locator("#measures").inner_text().startswith("K = 1")


def test_narrow_windows_do_not_scroll_sideways(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 700})
    page.goto(f"/playground?formula={FORMULA.replace('red', 'x' * 300)}")
    page.locator("#problems li").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.set_viewport_size({"width": 1280, "height": 900})
