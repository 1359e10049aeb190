"""The example task for Inspect, run by Inspect itself: right and wrong images, and an answer without one."""

from __future__ import annotations

import base64
import importlib
import io
from pathlib import Path
from typing import Any

import pytest

import formalimg

inspect_ai = pytest.importorskip("inspect_ai", reason="needs Inspect: pip install inspect_ai")


def _image(item: formalimg.Item[Any]) -> Any:
    file = io.BytesIO()
    formalimg.draw(item.spec.witness, 512).save(file, "PNG")
    from inspect_ai.model import ContentImage

    return ContentImage(image=f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}")


def test_inspect_evaluates_images_and_counts_what_is_unscored_as_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput, ModelUsage, get_model

    monkeypatch.chdir(tmp_path)
    example = importlib.import_module("examples.harnesses.inspect_ai_task")
    task = example.text_to_image("knolling", "builtin/icons", per_level=1)
    items = {item.id: item for item in formalimg.load("knolling")}
    asked = [items[str(sample.id)] for sample in task.dataset]
    contents = ["I cannot draw.", [_image(asked[0])], *([_image(item)] for item in asked[2:])]
    outputs = [
        ModelOutput(
            model="painter",
            choices=[ChatCompletionChoice(message=ChatMessageAssistant(content=content))],
            usage=ModelUsage(),  # or else Inspect counts tokens, with files from elsewhere
        )
        for content in contents
    ]
    model = get_model("mockllm/painter", custom_outputs=outputs)
    [log] = inspect_ai.eval(task, model=model, display="none", max_connections=1, max_samples=1)
    assert log.status == "success", log.error
    by_name = {score.name: score for score in log.results.scores}
    assert (by_name["passed"].scored_samples, by_name["passed"].unscored_samples) == (9, 1)
    assert by_name["passed"].metrics["grouped_all"].value == pytest.approx(8 / 9)
    assert 8 / 9 < by_name["score"].metrics["mean"].value < 1
    told = {sample.id: sample.scores["shows_prompt"].explanation for sample in log.samples}
    first, second, third, *_ = (item.id for item in asked)
    assert told[first] == "the model answered without an image"
    assert told[second].startswith("not shown: ")
    assert told[third] == "all shown"
