"""CF-World and its probes open a judge of scores from a chat model's name, and say what to do where they cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg.benchmarks.cfworld.judge import ScoreJudge
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.judges.factory import open_judge

pytestmark = pytest.mark.usefixtures("stand_alone")

CHAT = "openai/gpt-4o"
QWEN = "openai/Qwen/Qwen3-VL-8B-Instruct"


@pytest.mark.parametrize("name", [name for name in suite_names() if suite(name).has_scores])
def test_cf_world_asks_a_chat_model_for_scores(name: str, tmp_path: Path) -> None:
    judge = open_judge(name, CHAT)
    assert isinstance(judge, ScoreJudge)
    assert (judge.name, judge.settings["persona"], judge.settings["answers"]) == (CHAT, "standard", "numbered")
    assert open_judge(name, QWEN).settings["persona"] == "strict"
    assert open_judge(name, QWEN, {"persona": "standard"}).settings["persona"] == "standard"
    (tmp_path / "score-judge-again.txt").write_text("{problem}")
    options = {"persona": "strict", "answers": "published", "prompts": str(tmp_path), "temperature": "0.5"}
    judge = open_judge(name, CHAT, options)
    assert [judge.settings[key] for key in ("persona", "answers", "temperature")] == ["strict", "published", 0.5]
    assert "the user's own" in str(judge.settings["prompt_again"])
    with pytest.raises(FormalimgError, match=f"no judge for {name} that works offline: name a chat model that can see"):
        open_judge(name)


@pytest.mark.parametrize(
    ("suite", "name", "options", "message"),
    [
        ("cf-world", "builtin/icons", {}, "builtin/icons sees boxes and colours only, and cannot give scores: name"),
        ("cf-world-rules", "detector/owlv2", {}, "detector/owlv2 sees boxes .* name a chat model"),
        ("cf-world", CHAT, {"requests": "all-at-once"}, "cf-world has no option 'requests': it knows persona, answers"),
        ("cf-world", CHAT, {"persona": "mild"}, "unknown persona 'mild': known are auto, standard, strict"),
        ("cf-world", CHAT, {"answers": "each-clause"}, "unknown answers 'each-clause': known are numbered, published"),
        ("conceptmix", CHAT, {"persona": "strict"}, "conceptmix has no option 'persona'"),
        ("natural", CHAT, {"persona": "strict"}, "natural has no option 'persona'"),
        ("knolling", CHAT, {"persona": "strict"}, "a grounder has no option 'persona'"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(suite: str, name: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(FormalimgError, match=message) as raised:
        open_judge(suite, name, options)
    assert "\n" not in str(raised.value)
