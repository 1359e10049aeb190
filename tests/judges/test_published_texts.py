"""The authors' texts in place: each published protocol sends what the authors' script would send, to the byte.

What the script would send is sent by the library that the scripts use, with their texts as Python evaluates them.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI
from PIL import Image

from formalimg.benchmarks.cfworld.items import pair_spec
from formalimg.benchmarks.conditions import Condition, StyleText
from formalimg.benchmarks.download.texts import pull_texts, texts_folder
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.judges.factory import open_judge
from formalimg.logic.parser import parse
from formalimg.logic.vocabulary import vocabulary
from formalimg.prompts import PromptError
from formalimg.runs.manifest import AUTHORS_WORDING, published_wording
from formalimg.runs.parties import open_judges, open_model
from formalimg.types import Item
from tests.judges.test_protocols import KNOLLING, image
from tests.support.concept_items import CAT, concept_item
from tests.support.loopback import Loopback
from tests.support.published_scripts import authors_scripts, script_text, write_scripts
from tests.support.remote_models import answers, request
from tests.support.score_items import RISES, SHARP, score_item

pytestmark = pytest.mark.usefixtures("stand_alone")

LIFTED = "(forall ?c (or (HasColor ?c 'black') (not (Is ?c 'cat'))))"
NATURAL = Item(
    "natural",
    "1",
    1,
    'Every "cat" {is} black.',
    FormulaSpec(parse("(forall ?c (implies (Is ?c 'cat') (HasColor ?c 'black')))"), lifted=LIFTED),
)
KNOLLING_PROMPTS, NATURAL_PROMPTS = (
    "src/tasks/knolling/prompts/prompts.py",
    "src/tasks/natural/prompts/prompts.py",
)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(reply=lambda question: "{}") as running:
        yield running


Scripts = Callable[[str], Path]


@pytest.fixture(params=["own words", "the authors'"])
def scripts(request: pytest.FixtureRequest, tmp_path: Path) -> Scripts:
    """Pull the texts of a benchmark and return the folder of its scripts: of the same form, or the authors' own."""

    def prepare(name: str) -> Path:
        own = request.param == "own words"
        folder = write_scripts(tmp_path / "scripts", name) if own else authors_scripts(name)
        pull_texts(name, origin=folder)
        return folder

    return prepare


def judged(server: Loopback, suite: str, item: Item[Any], model: str, size: int = 16) -> list[bytes]:
    """The bodies of the requests for an image by the published protocol."""
    options = {"base_url": f"{server.url}/v1", "max_attempts": "1", "parse_retries": "0"}
    judge = open_judge(suite, f"openai/{model}", options, protocol="published")
    asyncio.run(judge.judge(item, image(size)))
    return [sent.body for sent in server.requests]


def by_script(server: Loopback, **fields: Any) -> bytes:
    """The body that a script sends with these arguments."""
    before = len(server.requests)
    OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0).chat.completions.create(**fields)
    return server.requests[before].body


def url(data: bytes, kind: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,{base64.b64encode(data).decode()}"}}


def test_knolling_to_the_byte(scripts: Scripts, server: Loopback) -> None:
    prompts = scripts("formalimg") / KNOLLING_PROMPTS
    classes = KNOLLING.spec.object_classes
    with Loopback(reply=lambda question: '{"objects": []}') as ours:
        sent = judged(ours, "knolling", KNOLLING, "qwen3-vl-8b-instruct")
    assert len(sent) == len(classes)
    colors = json.dumps(list(vocabulary("knolling").words["color"]), indent=4)
    for body, label in zip(sent, classes, strict=True):
        only = json.dumps([label], indent=4)
        text = script_text(prompts, "PROMPT_GROUNDING").format(
            object_classes=only, colors=colors, object_classes2=only, colors2=colors
        )
        messages = [{"role": "system", "content": text}, {"role": "user", "content": [url(image().data, "jpeg")]}]
        expected = by_script(server, model="qwen3-vl-8b-instruct", messages=messages, temperature=0.1, max_tokens=2048)
        assert body == expected


def test_natural_to_the_byte(scripts: Scripts, server: Loopback) -> None:
    prompts = scripts("formalimg") / NATURAL_PROMPTS
    (sent,) = judged(server, "natural", NATURAL, "gemini-3-pro-preview")
    text = script_text(prompts, "prompts_eval").format(nl=NATURAL.prompt, cnf=LIFTED)
    expected = by_script(
        server,
        model="gemini-3-pro-preview",
        messages=[{"role": "user", "content": [{"type": "text", "text": text}, url(image().data, "png")]}],
        temperature=0.1,
        response_format={"type": "json_object"},
    )
    assert sent == expected


def test_layouts_to_the_byte(scripts: Scripts, server: Loopback) -> None:
    prompts = scripts("formalimg") / KNOLLING_PROMPTS
    options = {"base_url": f"{server.url}/v1", "max_attempts": "1"}
    planner = open_model("openai/deepseek-reasoner", options, "knolling", task="layout", protocol="published").instance
    answers(planner, [request("A red {cup}.")])
    words = vocabulary("knolling").words
    text = script_text(prompts, "prompt_style_llm").format(objs=list(words["class"]), colors=list(words["color"]))
    messages = [{"role": "user", "content": f"{text}A red {{cup}}."}]
    expected = by_script(server, model="deepseek-reasoner", messages=messages, temperature=1.0)
    assert server.requests[0].body == expected
    assert published_wording(planner.settings) == AUTHORS_WORDING


@pytest.mark.parametrize(("style", "name"), [("long", "prompt_style"), ("short", "prompt_style_diffusion")])
def test_prompts_of_images_to_the_letter(scripts: Scripts, style: StyleText, name: str) -> None:
    prompts = scripts("formalimg") / KNOLLING_PROMPTS
    condition = Condition(style=style, prompts=texts_folder("formalimg"))
    assert condition.model_input(KNOLLING).prompt == script_text(prompts, name) + KNOLLING.prompt
    assert condition.versions[f"style_{style}"].startswith("of the authors")


def test_conceptmix_to_the_byte(scripts: Scripts, server: Loopback) -> None:
    grading = scripts("conceptmix") / "dynamix/grading/gpt_grading.py"
    (sent,) = judged(server, "conceptmix", concept_item(CAT), "gpt-4o-2024-05-13")
    text = script_text(grading, "text", 1, question=CAT.question)
    messages = [{"role": "user", "content": [{"type": "text", "text": text}, url(image().data, "jpeg")]}]
    expected = by_script(server, model="gpt-4o-2024-05-13", messages=messages, max_tokens=1, temperature=0)
    assert sent == expected


@pytest.mark.parametrize("level", [1, 2, 3])
def test_cf_world_by_gemini_to_the_byte(scripts: Scripts, server: Loopback, level: int) -> None:
    script = scripts("cf-world") / "scripts/score/gemini.py"
    (sent,) = judged(server, "cf-world", score_item(SHARP, RISES, level=level), "gemini-3-pro-preview", size=1100)
    listed = "".join(
        f'\nQuestion ID "{number}":\nQuestion: {one.question}\nCriteria: {one.criteria}\n---'
        for number, one in enumerate((SHARP, RISES), 1)
    )
    number = 0 if level == 1 else 1
    text = script_text(script, "user_content_text", number, base_q_text=listed)
    expected = by_script(
        server,
        model="gemini-3-pro-preview",
        messages=[
            {"role": "system", "content": script_text(script, "system_prompt", number)},
            {"role": "user", "content": [{"type": "text", "text": text}, url(_smaller(image(1100).data), "png")]},
        ],
        temperature=0.0,
        max_tokens=5500,
    )
    assert sent == expected


@pytest.mark.parametrize(
    ("suite", "level", "script", "system", "number"),
    [
        ("cf-world", 1, "qwen3vl-235b", "system_prompt", 0),
        ("cf-world", 3, "qwen3vl-235b", "system_prompt", 1),
        ("cf-world-denominalised", 2, "qwen3vl-235b", "system_prompt", 1),
        ("cf-world-rules", 2, "rule_decouple", "unified_system_prompt", 0),
    ],
)
def test_cf_world_by_qwen_to_the_byte(
    scripts: Scripts, server: Loopback, suite: str, level: int, script: str, system: str, number: int
) -> None:
    """The scripts run the model in their own process, so there are messages, and no request to compare."""
    path = scripts("cf-world") / f"scripts/score/{script}.py"
    judged(server, suite, score_item(SHARP, RISES, level=level, suite=suite), "Qwen3-VL-235B")
    listed = "".join(
        f'\nQuestion ID: "{place}"\nQuestion: {one.question}\nCriteria: {one.criteria}\n---'
        for place, one in enumerate((SHARP, RISES), 1)
    )
    text = script_text(path, "user_content", number, task={"base_q_text": listed})
    body = server.requests[0].json
    assert body["messages"] == [
        {"role": "system", "content": script_text(path, system, number)},
        {"role": "user", "content": [url(image().data, "png"), {"type": "text", "text": text}]},
    ]
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.1, 0.9, 2048)


def test_cf_world_attributes_to_the_byte(scripts: Scripts, server: Loopback) -> None:
    path = scripts("cf-world") / "scripts/score/attribute_decouple.py"
    prompt = "An otter in front of a cathedral."
    item = Item("cf-world-attributes", "93", 2, prompt, pair_spec("93", "Giant Otter", "a cathedral", prompt))
    judged(server, "cf-world-attributes", item, "Qwen3-VL-235B")
    pair = {"prompt": prompt, "A": "Giant Otter", "B": "a cathedral"}
    assert server.requests[0].json["messages"] == [
        {"role": "system", "content": script_text(path, "unified_system_prompt")},
        {
            "role": "user",
            "content": [url(image().data, "png"), {"type": "text", "text": script_text(path, "user_content", q=pair)}],
        },
    ]


def _smaller(data: bytes) -> bytes:
    """An image as the script for Gemini sends it."""
    with Image.open(io.BytesIO(data)) as opened:
        pixels = opened.convert("RGB")
        scale = min(1.0, 1024 / max(pixels.size))
        pixels = pixels.resize((int(pixels.width * scale), int(pixels.height * scale)), Image.Resampling.LANCZOS)
        file = io.BytesIO()
        pixels.save(file, format="JPEG", quality=85)
    return file.getvalue()


def test_a_machine_without_the_texts_refuses(tmp_path: Path) -> None:
    """Judges are opened again where the work is done, such as on a cluster."""
    pull_texts("conceptmix", origin=write_scripts(tmp_path / "scripts", "conceptmix"))
    (judge,) = open_judges("conceptmix", "m", ["openai/x"], lambda *_: {}, protocol="published")
    assert judge.factory().settings == judge.instance.settings
    shutil.rmtree(texts_folder("conceptmix"))
    with pytest.raises(PromptError, match="there is no folder"):
        judge.factory()
