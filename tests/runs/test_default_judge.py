"""The default judge, its sources and suggestions."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

import formalimg as python
from formalimg.runs.defaults.settings import NoJudgeError, default_judge, no_judge_error, suggest_judge
from tests.support.command import formalimg


def test_keys_are_named_and_never_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefgh12345678")
    (tmp_path / ".env").write_text("GOOGLE_API_KEY=AIzaabcdefgh12345678\n")
    lines = no_judge_error("knolling", "openai/x", "default", "command", making=True).findings
    assert [line.strip() for line in lines[:3]] == [
        "Available here, add one of these:",
        "--judge gemini/gemini-3-pro-preview  (GOOGLE_API_KEY is set)",
        "--judge openai/gpt-5                 (OPENAI_API_KEY is set)",
    ]
    assert suggest_judge() == "--judge gemini/gemini-3-pro-preview"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:password@somewhere/v1")
    text = str(no_judge_error("knolling", "openai/x", "default", "python", making=True))
    assert "judge='openai/MODEL'" in text
    assert "(OPENAI_BASE_URL is set: name a model of that server)" in text
    assert "password" not in text
    assert "openai/gpt-5" not in text


FEW = ("--levels", "1", "--per-level", "1", "--size", "256")
ICONS_FILE = '[defaults]\njudge = "builtin/icons"\n'
KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "HF_TOKEN")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in (*KEYS, "FORMALIMG_JUDGE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "photos").mkdir()
    Image.effect_noise((256, 256), 60).convert("RGB").save(tmp_path / "photos" / "0.png")
    return tmp_path


@pytest.mark.parametrize(
    ("suite", "why"),
    [
        ("knolling", "no judge for the images of folder/photos: knolling needs a chat model that can see, or"),
        ("natural", "no judge for natural that works offline: it needs a chat model that can see, which"),
        ("conceptmix", "one question for each concept"),
        ("cf-world", "asked for scores"),
    ],
)
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_foreign_model_without_a_judge_is_refused_before_anything_is_made(
    suite: str, why: str, more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-abcdefgh12345678")
    code, out, err = formalimg("run", suite, "-m", "folder/photos", *FEW, *more)
    assert (code, out) == (2, "")
    assert why in err
    assert "\n  --judge anthropic/claude-sonnet-4-5  (ANTHROPIC_API_KEY is set)\n" in err
    assert "12345678" not in err
    assert "…" not in err
    assert 'FORMALIMG_JUDGE=NAME in the environment, or judge = "NAME" below [defaults] in formalimg.toml' in err
    assert [path.name for path in Path().iterdir()] == ["photos"]


def test_score_without_a_judge_names_what_can_look_at_photographs() -> None:
    code, out, err = formalimg("score", "photos", "--prompt", "There is a cat.")
    assert (code, out) == (2, "")
    assert "there is no judge for these images: name a chat model that can see, which is asked about the prompt" in err
    assert "or a detector for prompts that name objects." in err
    assert "--judge detector/coco" in err


def test_where_nothing_is_available_it_says_how_to_get_a_judge() -> None:
    err = formalimg("run", "knolling", "-m", "folder/photos", *FEW).err
    assert "Nothing is available here: no key is set (ANTHROPIC_API_KEY, GEMINI_API_KEY, " in err
    assert "\n  --judge gemini/gemini-3-pro-preview  (with GEMINI_API_KEY in the environment or in .env" in err
    assert "\n  --judge openai/MODEL -J base_url=http://127.0.0.1:8000/v1  (with a vision-language model" in err


def test_published_protocols_need_a_chat_model_also_for_builtin_models() -> None:
    code, _, err = formalimg("run", "natural", "-m", "builtin/oracle", *FEW, "--protocol", "published")
    assert (code, "no judge for natural that works offline" in err) == (2, True)
    code, _, err = formalimg("run", "knolling", "-m", "builtin/reader", *FEW, "--protocol", "published")
    assert (code, "the protocol published asks a chat model" in err) == (2, True)


@pytest.mark.parametrize("suite", ["natural", "conceptmix"])
def test_what_built_in_models_draw_is_judged_by_the_scenes_in_the_drawings(suite: str) -> None:
    code, _, err = formalimg("run", suite, "-m", "builtin/scatter", *FEW, "--dry-run")
    said = "judge builtin/drawn goes by the scenes in the drawings: it measures pipeline and models, not an eye"
    assert (code, said in err.splitlines()) == (0, True)


def test_the_judge_of_the_environment_and_of_a_file_is_used_and_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("formalimg.toml").write_text(
        '[defaults]\njudge = "openai/m"\njudge_options = { temperature = 0.5 }\nruns = "theirs"\n'
    )
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    code, out, err = formalimg("run", "knolling", "-m", "folder/photos", *FEW, "--dry-run")
    assert code == 0, err
    assert "judge openai/m (temperature=0.5) from ./formalimg.toml" in err
    assert "runs in theirs from ./formalimg.toml" in err
    assert "theirs/knolling-folder-photos" in out
    wrong = formalimg("run", "knolling", "-m", "folder/photos", *FEW, "--dry-run", "-J", "base_url=nowhere")
    assert (wrong.code, "base_url='nowhere' of openai/m is not a URL" in wrong.err) == (2, True), "-J overrides"
    monkeypatch.setenv("FORMALIMG_JUDGE", "builtin/icons")
    err = formalimg("run", "knolling", "-m", "folder/photos", *FEW, "--dry-run", "--runs", "mine").err
    assert "judge builtin/icons from FORMALIMG_JUDGE" in err
    assert "runs in" not in err


def test_builtin_models_keep_their_judge_whatever_is_configured() -> None:
    Path("formalimg.toml").write_text('[defaults]\njudge = "openai/m"\n')
    code, _, err = formalimg("run", "knolling", "-m", "builtin/oracle", *FEW)
    assert (code, err) == (0, "")


def test_each_of_several_models_has_the_judge_that_can_read_it() -> None:
    both = ("-m", "builtin/oracle", "-m", "folder/photos")
    code, _, err = formalimg("run", "knolling", *both, *FEW)
    assert (code, "no judge for the images of folder/photos" in err) == (2, True)
    assert not Path("runs").exists(), "not even the images of the builtin model are made"
    Path("formalimg.toml").write_text(ICONS_FILE)
    code, out, err = formalimg("run", "knolling", *both, *FEW)
    assert (code, "0/1" in out, "1/1" in out) == (1, True, True), err


def test_judging_the_run_of_a_foreign_model_needs_a_judge_too() -> None:
    made = formalimg("run", "--no-judge", "knolling", "-m", "folder/photos", *FEW, "--out", "run")
    assert "judge them with: formalimg judge run --judge JUDGE" in made.out
    code, _, err = formalimg("judge", "run")
    assert (code, "no judge for the images of folder/photos" in err) == (2, True)
    assert "--no-judge" not in err, "the images are there"
    Path("formalimg.toml").write_text(ICONS_FILE)
    assert "judge builtin/icons from ./formalimg.toml" in formalimg("judge", "run").err


def test_the_name_of_a_model_in_somebody_elses_run_adds_no_lines_to_the_message() -> None:
    with pytest.raises(NoJudgeError, match=r"no judge for the images of folder/x·  --judge evil/one·") as caught:
        default_judge("knolling", "folder/x\n  --judge evil/one\x1b")
    assert "\n  --judge evil" not in str(caught.value)


@pytest.mark.parametrize(("suite", "judge"), [("knolling", "builtin/icons"), ("natural", "builtin/drawn")])
def test_a_judge_of_drawings_warns_before_and_names_the_remedy_after(suite: str, judge: str) -> None:
    code, _, err = formalimg("run", suite, "-m", "folder/photos", *FEW, "-j", judge, "--out", "run")
    assert (code, err.count("warning:")) == (1, 1)
    first, *_, last = err.splitlines()
    assert first.startswith(f"warning: {judge} reads only drawings made by formalimg: images of folder/photos")
    assert last.startswith(f"nothing was scored in run: {judge} cannot read these images")
    assert "judge them with `formalimg judge run --judge gemini/gemini-3-pro-preview`" in last


def test_budgets_of_files_are_kept_announced_and_lifted() -> None:
    Path("formalimg.toml").write_text("[defaults]\nbudget = 5\n")
    nobody = ("-m", "openai/nobody-knows", "-M", "base_url=http://nowhere.invalid/v1", "--dry-run")
    painter = (*nobody, "-j", "builtin/icons")
    code, _, err = formalimg("run", "knolling", *painter, *FEW)
    assert "budget of 5 dollars from ./formalimg.toml (--budget inf lifts it)" in err
    assert (code, "--price" in err) == (2, True), "a budget needs prices"
    assert formalimg("run", "knolling", *painter, *FEW, "--budget", "inf").code == 0
    assert (
        "budget of 5 dollars from ./formalimg.toml"
        in formalimg("items", "write", "knolling", *nobody, "--out", "new").err
    )


def test_python_says_the_same_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefgh12345678")
    calls: list[Callable[[], object]] = [
        lambda: python.evaluate(lambda prompt: None, "knolling", per_level=1),
        lambda: python.run("knolling", "folder/photos", per_level=1),
    ]
    for call in calls:
        with pytest.raises(NoJudgeError, match="no judge for the images of") as caught:
            call()
        assert "\n  judge='openai/gpt-5'  (OPENAI_API_KEY is set)\n" in str(caught.value)
        assert "--judge" not in str(caught.value)
    assert [path.name for path in Path().iterdir()] == ["photos"], "no empty run folder is left behind"


def test_python_takes_the_configured_judge_its_options_and_folder(caplog: pytest.LogCaptureFixture) -> None:
    Path("formalimg.toml").write_text('[defaults]\njudge = "builtin/icons"\nruns = "theirs"\n')
    with caplog.at_level(logging.WARNING):
        result = python.run("knolling", "folder/photos", levels=[1], per_level=1)
    assert result.folder == Path("theirs/knolling-folder-photos")
    assert "judge builtin/icons from ./formalimg.toml" in caplog.text
    with pytest.raises(python.FormalimgError, match="builtin/icons has no options, but boxes was given"):
        python.run("knolling", "folder/photos", judge_options={"boxes": "on"}, per_level=1)


def test_layouts_need_no_judge() -> None:
    assert default_judge("knolling", "openai/planner", task="layout") is None
