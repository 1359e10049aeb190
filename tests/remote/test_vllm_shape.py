"""The commands of docs/guides/vllm.md against a server that takes what vLLM's protocol takes, and nothing else."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Sequence
from contextlib import closing
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from formalimg.benchmarks.loader import load
from formalimg.cli.commands import app
from formalimg.errors import FormalimgError
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.plan import Selection
from formalimg.runs.reader import open_run
from tests.support.concept_items import answer_of
from tests.support.loopback import Loopback
from tests.support.loopback.dialects import Asked, Dialect, Parts, Route, image_in
from tests.support.loopback.faults import Fault
from tests.support.loopback.http import Request, Response
from tests.support.models import Speckles
from tests.support.remote_models import PLANTED

pytest.importorskip("openai", reason="pip install 'formalimg[openai]'")

pytestmark = pytest.mark.usefixtures("stand_alone")

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "vllm.md").read_text(encoding="utf-8")
LINES = [shlex.split(line) for line in re.findall(r"^(?:vllm|formalimg) .*$", PAGE, re.MULTILINE)]
SERVED = [line[2] for line in LINES if line[0] == "vllm"]
JUDGING = [line[1:] for line in LINES if line[0] == "formalimg"]

FLAGS = {
    *("--max-model-len", "--limit-mm-per-prompt", "--enable-prefix-caching", "--host", "--port", "--api-key"),
    "--tensor-parallel-size",
}
"""Options of `vllm serve` in its documentation that the page uses."""

FIELDS = {"model", "messages", "temperature", "max_tokens", "max_completion_tokens", "top_p", "seed", "response_format"}
"""What vLLM's request may have of what we can send. It passes over others in silence, so here they are refused."""

KEYWORDS = {"type", "properties", "required", "additionalProperties", "items", "enum", "description", "$defs", "$ref"}
"""What the schemas may say; the grammars of all backends know it."""

LONGEST = 16384
PIXELS_PER_TOKEN = 28 * 28


class Vllm(Loopback):
    """Refuses, as vLLM does or more strictly, whatever is not in its protocol; answers what the schema asks for."""

    def __init__(self, latency: float = 0.0) -> None:
        route = Route(re.compile(r"/v1/chat/completions"), self._completed)
        error = {"message": "it went wrong", "type": "InternalServerError", "param": None, "code": 500}
        super().__init__(
            latency=latency, reply=_reply, dialects=[Dialect((route,), lambda status, code, message: {"error": error})]
        )

    def _completed(self, request: Request, fault: Fault | None, parts: Parts) -> Response:
        if request.headers.get("authorization") != f"Bearer {PLANTED}":
            return Response.of({"error": "Unauthorized"}, 401)
        body = request.json
        if body["model"] not in SERVED:
            return _refused(404, f"The model `{body['model']}` does not exist.")
        wrong = _wrong(body)
        if wrong:
            return _refused(400, wrong)
        text = parts.reply(_asked(body))
        return Response.of(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1_700_000_000,
                "model": body["model"],
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": text, "refusal": None, "reasoning": None},
                        "finish_reason": "stop",
                        "stop_reason": None,
                    }
                ],
                "usage": {"prompt_tokens": 1500, "completion_tokens": 20, "total_tokens": 1520},
                "prompt_logprobs": None,
                "kv_transfer_params": None,
            }
        )


def _refused(status: int, message: str) -> Response:
    sort = "NotFoundError" if status == 404 else "BadRequestError"
    return Response.of({"error": {"message": message, "type": sort, "param": None, "code": status}}, status)


def _wrong(body: dict[str, Any]) -> str:
    """What is wrong with a request; nothing if all is right."""
    if body.keys() - FIELDS:
        return f"unknown fields {sorted(body.keys() - FIELDS)}"
    roles = [message["role"] for message in body["messages"]]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"]:
        return f"Conversation roles must alternate user/assistant/user/assistant/...: {roles}"
    parts = _parts(body)
    for part in parts:
        if part not in ({"type": "text", "text": part.get("text")}, {"type": "image_url", "image_url": {"url": ANY}}):
            return f"unknown part {json.dumps(part)[:80]}"
    images = [image_in(part["image_url"]["url"]) for part in parts if part["type"] == "image_url"]
    if len(images) > 1:
        return "At most 1 image(s) may be provided in one prompt."
    wanted = body["response_format"]
    if wanted.keys() != {"type", "json_schema"} or wanted["json_schema"].keys() - {"name", "schema", "strict"}:
        return f"unknown response_format {wanted}"
    if _keywords(wanted["json_schema"]["schema"]) - KEYWORDS:
        return f"the schema has {_keywords(wanted['json_schema']['schema']) - KEYWORDS}"
    taken = sum(len(part.get("text", "")) // 3 for part in parts) + body["max_tokens"]
    for image in images:
        with Image.open(io.BytesIO(image)) as decoded:
            taken += decoded.width * decoded.height // PIXELS_PER_TOKEN
    return f"This model's maximum context length is {LONGEST} tokens, but {taken}" if taken > LONGEST else ""


class _Any:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, str)

    __hash__ = None  # type: ignore[assignment]


ANY = _Any()


def _keywords(schema: object) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(_keywords, schema))
    if not isinstance(schema, dict):
        return set()
    inside = [value for key, value in schema.items() if key not in ("properties", "$defs", "enum", "required")]
    named = [value for key in ("properties", "$defs") for value in schema.get(key, {}).values()]
    return {*schema}.union(*map(_keywords, [*inside, *named]))


def _parts(body: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for message in body["messages"]:
        content = message["content"]
        found += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return found


def _beginning(texts: Sequence[str]) -> str:
    """What all of them begin with."""
    same = takewhile(lambda characters: len(set(characters)) == 1, zip(*texts, strict=False))
    return "".join(characters[0] for characters in same)


def _asked(body: dict[str, Any]) -> Asked:
    texts = tuple(part["text"] for part in _parts(body) if part["type"] == "text")
    return Asked(body["model"], texts, (), body["response_format"]["json_schema"]["schema"])


def _reply(asked: Asked) -> str:
    """An answer of the form that is asked for: nothing is seen, and all questions are answered."""
    assert isinstance(asked.schema, dict)
    match sorted(asked.schema["properties"]):
        case ["objects"]:
            return '{"objects": []}'
        case ["clauses", "fulfilled", "observations"]:
            clauses = asked.texts[-1].rpartition("one on each line:\n")[2].splitlines()
            told = [{"clause": clause, "because": "look", "holds": True} for clause in clauses]
            return json.dumps({"observations": [], "clauses": told, "fulfilled": True})
        case ["answer", "observation"]:
            return json.dumps(answer_of(asked.texts[-1], {asked.texts[-1].rpartition("\n")[2]: "yes"}))
        case _:
            numbers = re.findall(r"^([0-9]+)\. ", asked.texts[-1], re.MULTILINE)
            scores = [{"number": int(number), "reasoning": "look", "score": 1} for number in numbers]
            return json.dumps({"answers": scores})


def run_of(suite: str, folder: Path, count: int = 2) -> Path:
    """A run of the first items of the highest level, with images and without verdicts."""
    items = load(suite)
    highest = max(item.level for item in items)
    several = [item.id for item in items if item.level == highest][:count]
    execute(RunConfig(items, Speckles(), Selection(ids=several), size=64), folder)
    return folder


def judge(server: Loopback, line: Sequence[str], folder: Path, *more: str) -> Result:
    """Give the command as it stands in the page, but with this run and this server."""
    here = [word.replace("http://127.0.0.1:8000", server.url) for word in line]
    here[1] = str(folder)
    return CliRunner().invoke(app, [*here, "-J", "tries=1", "-J", "cache=off", *more])


def test_the_commands_of_the_page_serve_one_image_per_request_and_name_the_same_models() -> None:
    assert len(SERVED) == 2
    assert len(JUDGING) == 4
    for line in LINES:
        if line[0] == "vllm":
            options = dict(zip(line, [*line[1:], ""], strict=True))
            assert {word for word in line if word.startswith("--")} <= FLAGS
            assert json.loads(options["--limit-mm-per-prompt"]) == {"image": 1, "video": 0}
            assert int(options["--max-model-len"]) == LONGEST
    assert {line[line.index("--judge") + 1].removeprefix("openai/") for line in JUDGING} == {*SERVED}


@pytest.mark.parametrize("line", JUDGING, ids=lambda line: line[1])
def test_a_command_of_the_page_works_with_what_the_protocol_takes(line: list[str], tmp_path: Path) -> None:
    suite = line[1].removeprefix("runs/").removesuffix("-my-model")
    folder = run_of(suite, tmp_path / "run")
    with Vllm() as server:
        assert judge(server, line, folder).exit_code == 0
        bodies = [request.json for request in server.requests]
    with closing(open_run(folder)) as run:
        assert [(one.passed is not None, one.detail) for one in run.outcomes()] == [(True, "")] * 2
    by_image: dict[str, list[str]] = {}
    for body in bodies:
        sent = json.dumps(body["messages"])
        (url,) = [part["image_url"]["url"] for part in _parts(body) if part["type"] == "image_url"]
        by_image.setdefault(url, []).append(sent)
    assert len(by_image) == 2
    instruction = json.dumps(_parts(bodies[0])[0]["text"])
    for url, requests in by_image.items():
        shared = _beginning(requests)
        assert instruction in shared, "the instruction is read once for an image"
        assert len(instruction) > 1000 or suite == "conceptmix"
        assert url in shared, "and so is the image"
    assert instruction in _beginning([requests[0] for requests in by_image.values()])
    if suite in ("knolling", "conceptmix"):
        assert all(len(requests) > 2 for requests in by_image.values())


def test_as_many_requests_are_under_way_as_is_asked_for_and_those_of_an_image_lie_together(tmp_path: Path) -> None:
    line = next(line for line in JUDGING if "conceptmix" in line[1])
    folder = run_of("conceptmix", tmp_path / "run", 6)
    with Vllm(latency=0.1) as server:
        assert judge(server, line, folder, "-J", "concurrency=12").exit_code == 0
        assert server.most_at_once == 12
        urls = [
            next(part["image_url"]["url"] for part in _parts(one.json) if "image_url" in part)
            for one in server.requests
        ]
    of_each = len(urls) // 6
    for url in set(urls):
        places = [place for place, one in enumerate(urls) if one == url]
        assert len(places) == of_each > 3
        assert places[-1] - places[0] < len(urls) // 2, "twelve at once are two images, however they are scheduled"


@pytest.mark.parametrize(
    ("key", "model", "told"), [("another", SERVED[0], "OPENAI_API_KEY"), (PLANTED, "Qwen/Other", "does not exist")]
)
def test_a_wrong_key_or_model_ends_the_command_with_one_line(
    key: str, model: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run_of("conceptmix", tmp_path / "run")
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with Vllm() as server:
        done = judge(server, ["judge", "", "--judge", f"openai/{model}", "-J", f"base_url={server.url}/v1"], folder)
    assert isinstance(done.exception, FormalimgError)
    assert re.fullmatch(f".*{told}.*", str(done.exception)), "in one line"
    assert PLANTED not in str(done.exception)
    with closing(open_run(folder)) as run:
        assert {one.reason for one in run.outcomes()} == {"not judged"}
