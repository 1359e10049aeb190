"""`formalimg.toml`: where it is found, what it may say, and messages that name the file and the key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.runs.defaults.config_file import allow_file, read_wishes, revoke_file
from formalimg.runs.defaults.settings import ConfiguredJudge, load_defaults
from tests.support.values import not_none

PROJECT = """
[defaults]
judge = "openai/qwen"
judge_options = { temperature = 0.5, concurrency = 32, cache = true }
budget = 2.5
runs = "results/runs"

[suite.natural]
judge = "gemini/some"
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    repository = tmp_path / "home" / "work" / "repository"
    (repository / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("FORMALIMG_JUDGE", raising=False)
    monkeypatch.chdir(repository)
    return tmp_path / "home"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_everything_that_a_file_may_say() -> None:
    write(Path("formalimg.toml"), PROJECT)
    found = load_defaults()
    options = {"temperature": "0.5", "concurrency": "32", "cache": "on"}
    assert found.judge("knolling") == ConfiguredJudge("openai/qwen", options, "./formalimg.toml")
    assert found.judge("natural") == ConfiguredJudge("gemini/some", {}, "./formalimg.toml")
    assert (found.budget.value, found.budget.source) == (2.5, "./formalimg.toml")
    assert found.runs.value == Path("results/runs")


def test_environment_then_project_then_user(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_defaults().judge() is None
    own = write(
        home / ".config/formalimg/formalimg.toml", '[defaults]\njudge = "hf/own"\nbudget = 7\nruns = "~/mine"\n'
    )
    assert load_defaults().judge() == ConfiguredJudge("hf/own", {}, "~/.config/formalimg/formalimg.toml")
    assert load_defaults().runs.value == home / "mine"
    write(Path("formalimg.toml"), '[defaults]\njudge = "hf/project"\n')
    assert [load_defaults().judge(), load_defaults().budget.value] == [
        ConfiguredJudge("hf/project", {}, "./formalimg.toml"),
        7,
    ]
    write(own, '[suite.natural]\njudge = "hf/for-natural"\n')
    assert load_defaults().judge("natural") == ConfiguredJudge("hf/project", {}, "./formalimg.toml")
    monkeypatch.setenv("FORMALIMG_JUDGE", "gemini/chosen")
    assert load_defaults().judge("natural") == ConfiguredJudge("gemini/chosen", {}, "FORMALIMG_JUDGE")
    monkeypatch.setenv("FORMALIMG_JUDGE_OPTIONS", "top_p=0.5 base_url=http://127.0.0.1:9/v1")
    options = {"top_p": "0.5", "base_url": "http://127.0.0.1:9/v1"}
    assert load_defaults().judge() == ConfiguredJudge("gemini/chosen", options, "FORMALIMG_JUDGE")
    monkeypatch.setenv("FORMALIMG_JUDGE", "gemini")
    with pytest.raises(FormalimgError, match="FORMALIMG_JUDGE names no judge: write it as provider/model"):
        load_defaults()


def test_the_user_file_may_lie_elsewhere_and_be_a_link(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = write(home / "dotfiles" / "mine.toml", '[defaults]\njudge = "hf/own"\n')
    (home / "xdg" / "formalimg").mkdir(parents=True)
    (home / "xdg" / "formalimg" / "formalimg.toml").symlink_to(target)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "xdg"))
    found = not_none(load_defaults().judge())
    assert found.source == "~/xdg/formalimg/formalimg.toml"


def test_parents_are_searched_up_to_the_repository_and_not_beyond(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(Path("../formalimg.toml"), '[defaults]\njudge = "hf/outside"\n')
    assert load_defaults().judge() is None
    write(Path("formalimg.toml"), '[defaults]\njudge = "hf/inside"\nruns = "runs"\n')
    deep = Path("a/b")
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    found = load_defaults()
    assert found.judge() == ConfiguredJudge("hf/inside", {}, "../../formalimg.toml")
    assert found.runs.value == Path("../../runs"), "the project's folder, wherever the command is given"


def test_folders_that_belong_to_nobody_are_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes /tmp/formalimg.toml does not choose for everybody who works below /tmp."""
    write(tmp_path / "shared" / "formalimg.toml", '[defaults]\njudge = "hf/planted"\n')
    (tmp_path / "shared" / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "shared" / "mine")
    assert load_defaults().judge() is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[default]\njudge = "a/b"', "unknown key 'default' in the file: did you mean defaults?"),
        ('[defaults]\njugde = "a/b"', r"unknown key 'jugde' in \[defaults\]: did you mean judge\?"),
        (
            "[defaults]\ncolour = 1",
            r"unknown key 'colour' in \[defaults\]: choose from judge, judge_options, budget, runs",
        ),
        ('[suite.naturel]\njudge = "a/b"', r"unknown key 'naturel' in \[suite\]: did you mean natural\?"),
        ("[suite.natural]\nbudget = 3", r"unknown key 'budget' in \[suite.natural\]: choose from judge, judge_options"),
        ("suite = 3", r"suite is a table: write \[suite.NAME\]"),
        ("[suite]\nnatural = 3", r"suite.natural is a table: write \[suite.natural\]"),
        ('[defaults]\njudge = "gpt"', r"judge in \[defaults\] cannot be used: write it as on the command line"),
        ("[defaults]\njudge = 3", r"judge in \[defaults\] cannot be used"),
        ('[defaults]\njudge = "a/\x1b"', "is not valid TOML"),
        (
            "[defaults]\njudge_options = { a = 1 }",
            r"judge_options in \[defaults\] belong to a judge: name it there too",
        ),
        ("[defaults]\ngrounder = 3", r"grounder in \[defaults\] cannot be used"),
        ("[defaults]\ngrounder_options = { a = 1 }", "grounder_options in .* belong to a grounder: name it there too"),
        ('[defaults]\njudge = "a/b"\njudge_options = 3', "judge_options in .* cannot be used: write a table"),
        ('[defaults]\njudge = "a/b"\njudge_options = { c = [1] }', r"judge_options\.c in .* write text, a number"),
        ("[defaults]\nbudget = -1", r"budget in \[defaults\] cannot be used: write 0 or more US dollars"),
        ("[defaults]\nbudget = true", "budget in .* cannot be used"),
        ("[defaults]\nbudget = nan", "budget in .* cannot be used"),
        ('[defaults]\nruns = ""', "runs in .* cannot be used: write the path of a folder"),
        ("[defaults", "is not valid TOML"),
        (f"{'a.' * 50_000}b = 1", "is not valid TOML|bytes"),
        ("x = " + "[" * 5000, "is not valid TOML: values in it are nested too deeply"),
        ("#" * 200_000, "cannot read ./formalimg.toml: it has 200,000 bytes"),
    ],
    ids=lambda text: text[:40],
)
def test_what_is_wrong_is_one_line_with_file_and_key(text: str, message: str) -> None:
    write(Path("formalimg.toml"), text)
    with pytest.raises(FormalimgError, match=message) as caught:
        load_defaults()
    assert "./formalimg.toml" in str(caught.value)
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        'api_key = "abcdefgh12345678"',
        'token = "abcdefgh12345678"',
        '"extra.authorization" = "abcdefgh12345678"',
        'persona = "sk-abcdefgh12345678"',
    ],
)
@pytest.mark.parametrize("mine", [True, False])
def test_keys_are_refused_and_not_shown(options: str, mine: bool, home: Path) -> None:
    place = home / ".config/formalimg/formalimg.toml" if mine else Path("formalimg.toml")
    write(place, f'[defaults]\njudge = "openai/m"\njudge_options = {{ {options} }}\n')
    with pytest.raises(FormalimgError, match="holds a key, and options are stored with the results") as caught:
        load_defaults()
    assert "12345678" not in str(caught.value)


WISHES = [
    'judge = "hf/http://127.0.0.1:9/v1"',
    'judge = "openai/../admin"',
    'judge = "transformers/./judge"',
    'judge = "detector/./weights"',
    'judge = "plugin/model"',
    'grounder = "detector/./weights"',
    'grounder = "openai/m"\ngrounder_options = { base_url = "http://127.0.0.1:8000/v1" }',
    'judge = "openai/m"\njudge_options = { base_url = "https://evil.example/v1" }',
    'judge = "openai/m"\njudge_options = { base_url = "http://127.0.0.1:8000/v1" }',
    'judge = "openai/m"\njudge_options = { base_url = "http://169.254.169.254/v1" }',
    'judge = "openai/m"\njudge_options = { base_url = "http://[::1]:8000/v1" }',
    'judge = "openai/m"\njudge_options = { trust_remote_code = true }',
    'judge = "openai/m"\njudge_options = { "processor.trust_remote_code" = true }',
    'judge = "openai/m"\njudge_options = { "generate.custom_generate" = "./code" }',
    'judge = "openai/m"\njudge_options = { "extra.webhook" = "a" }',
    'judge = "openai/m"\njudge_options = { prompts = "prompts" }',
    'judge = "openai/m"\njudge_options = { price = "0/0" }',
    'judge = "openai/m"\njudge_options = { bill_to = "you" }',
    'judge = "openai/m"\nruns = "../elsewhere"',
    'judge = "openai/m"\nruns = "/etc"',
    'judge = "openai/m"\nruns = "~/x"',
    'judge = "openai/m"\nruns = "."',
    'judge = "openai/m"\nruns = "link"',
    'judge = "openai/m"\nruns = "link/runs"',
]


@pytest.mark.parametrize("lines", WISHES)
def test_what_a_project_may_decide_only_if_it_is_allowed(lines: str, home: Path) -> None:
    """A project's file may come with somebody else's repository; the user's own may say all of it."""
    Path("link").symlink_to(home)
    file = write(Path("formalimg.toml"), f"[defaults]\n{lines}\n")
    with pytest.raises(FormalimgError, match=r"which no project may decide by itself: .*`formalimg config allow`"):
        load_defaults()
    content, wishes = read_wishes(file)
    assert len(wishes) == 1
    allow_file(file, content)
    found = load_defaults()
    assert (found.judge() or found.grounder) is not None
    file.write_text(f"[defaults]\n{lines}\n# another file now\n")
    with pytest.raises(FormalimgError, match="no project may decide"):
        load_defaults()
    file.unlink()
    write(home / ".config/formalimg/formalimg.toml", f"[defaults]\n{lines}\n")
    found = load_defaults()
    assert (found.judge() or found.grounder) is not None


def test_a_file_is_allowed_where_it_is_and_until_it_is_revoked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[defaults]\njudge = "transformers/./judge"\n'
    file = write(Path("formalimg.toml"), text)
    allow_file(file, text.encode())
    copy = write(home / "copy" / "formalimg.toml", text)
    monkeypatch.chdir(copy.parent)
    with pytest.raises(FormalimgError, match="no project may decide"):
        load_defaults()
    monkeypatch.chdir(home / "work" / "repository")
    assert load_defaults().judge() is not None
    assert [revoke_file(file), revoke_file(file)] == [True, False]
    with pytest.raises(FormalimgError, match="no project may decide"):
        load_defaults()
    write(home / ".config/formalimg/allowed.json", "{")
    with pytest.raises(FormalimgError, match=r"cannot read ~/\.config/formalimg/allowed\.json: remove it"):
        load_defaults()


def test_a_project_may_lower_the_budget_and_raise_it_only_if_it_is_allowed(home: Path) -> None:
    write(home / ".config/formalimg/formalimg.toml", "[defaults]\nbudget = 5\n")
    for project, budget in (("inf", 5), ("7", 5), ("3", 3)):
        file = write(Path("formalimg.toml"), f"[defaults]\nbudget = {project}\n")
        assert load_defaults().budget.value == budget
    file.write_text("[defaults]\nbudget = 7\n")
    allow_file(file, file.read_bytes())
    assert load_defaults().budget.value == 7


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_links_and_pipes_of_a_project_are_refused(home: Path) -> None:
    Path("formalimg.toml").symlink_to(write(home / "secret.txt", "very secret"))
    with pytest.raises(FormalimgError, match=r"cannot read \./formalimg\.toml: it is a symbolic link") as caught:
        load_defaults()
    assert "very secret" not in str(caught.value)
    Path("formalimg.toml").unlink()
    os.mkfifo("formalimg.toml")
    with pytest.raises(FormalimgError, match="it is a named pipe"):
        load_defaults()
