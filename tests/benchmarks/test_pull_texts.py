"""`pull NAME --texts`: texts in source files are read as Python would evaluate them, and nothing of theirs runs."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from formalimg.api import run
from formalimg.benchmarks.download.source import PullError
from formalimg.benchmarks.download.texts import (
    find_pulled_texts,
    has_texts,
    load_texts,
    pull_texts,
    read_text,
    texts_folder,
)
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.prompts import Prompt, load_prompts
from formalimg.reports.comparison import compare
from formalimg.reports.notes import main_caption
from tests.support.command import formalimg
from tests.support.concept_items import CAT, concept_item
from tests.support.loopback import Loopback
from tests.support.models import Speckles
from tests.support.published_scripts import SCRIPTS, write_scripts

pytestmark = pytest.mark.usefixtures("stand_alone")


SOURCE = r'''
import os
os.remove("/nothing/of/this/runs")
HEAD = "Look: "
PLAIN = """
 a {"b": 1}@@
"""
JOINED = "one " "two\n" + 'three' + HEAD
TEMPLATE = "say {x} in {{braces}}"

class Judge:
    text: str = f"{self.item.prompt} and {names[0]}"

    def ask(self, task):
        words = f"first {task['prompt']!s}"
        words = f"""second
        {task['prompt']} {{"score": {json.dumps(value)}}}"""
        words += f"* {line}\n"
        if task:
            words += "end {}"
        self.send(prompt=HEAD + f"{task['words']}", other={"text": "in a key"})
        return "{a} {b}".format(a=1, b=2)

def fill():
    text = "  {dsl} {{}} ".format(dsl=dsl).strip()
'''.replace("@@", "  ").encode()


@pytest.mark.parametrize(
    ("parts", "is_template", "text"),
    [
        (["PLAIN"], False, '\n a {{"b": 1}}  \n'),
        (["JOINED"], False, "one two\nthreeLook: "),
        (["TEMPLATE"], True, "say {x} in {{braces}}"),
        (["TEMPLATE"], False, "say {{x}} in {{{{braces}}}}"),
        (["Judge.text"], False, "{prompt} and {names_0}"),
        (["Judge.ask.words[1]"], False, 'second\n        {prompt} {{"score": {value}}}'),
        (["Judge.ask.words[2]", "{more}", "Judge.ask.words[3]"], False, "* {line}\n{more}end {{}}"),
        (["Judge.ask.prompt", "[user]", "Judge.ask.text"], False, "Look: {words}\n[user]\nin a key"),
        (["fill.text"], False, "{dsl} {{}}"),
        ([], False, SOURCE.decode().replace("{", "{{").replace("}", "}}")),
    ],
)
def test_texts_are_read_as_format_strings(parts: list[str], is_template: bool, text: str) -> None:
    assert read_text(SOURCE, parts, is_template=is_template) == text


@pytest.mark.parametrize(
    ("source", "part", "message"),
    [
        (SOURCE, "MISSING", "there is no text MISSING"),
        (SOURCE, "Judge.ask.words[4]", r"there is no text Judge\.ask\.words\[4\]"),
        (SOURCE, "Judge.ask.words[0]", "a field has its own format"),
        (SOURCE, "a b", "names no text"),
        (b"x = 'open {'", "x", None),
        (b"x = f'{1 + 2}'", "x", "a field has no name, in line 1"),
        (b"x = y + ''\ny = x + ''", "x", "it refers to itself"),
        (b"x = (", "x", "not Python that can be read"),
        (b"\0", "x", "not Python that can be read|null bytes"),
        (b"x = " + b"(" * 5_000 + b"'a'" + b")" * 5_000, "x", "not Python that can be read"),
        (b"x = " + b"''+" * 20_000 + b"''", "x", "not Python that can be read|refers to itself"),
        (b"#" * 2_000_001, "x", "more than 2,000,000 bytes"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(source: bytes, part: str, message: str | None) -> None:
    if message is None:
        assert read_text(source, [part]) == "open {{"
        with pytest.raises(ValueError, match=r"expected '}'|Single '\{'"):
            read_text(source, [part], is_template=True)
        return
    with pytest.raises(ValueError, match=message):
        read_text(source, [part])


def test_every_text_takes_the_place_of_one_of_ours(tmp_path: Path) -> None:
    for name in SCRIPTS:
        pulled = pull_texts(name, tmp_path / name, write_scripts(tmp_path / "scripts", name))
        texts = {path.stem for path in pulled.folder.glob("*.txt")}
        assert texts == {text.name for text in load_texts()[name][1]}
        ours: dict[str, Prompt] = {}
        for folder in {path.parent for path in Path("/").joinpath(_package()).rglob("prompts/**/*.txt")}:
            ours |= {prompt.name: prompt for prompt in load_prompts(folder, pulled.folder).values() if prompt.origin}
        assert set(ours) == {
            text for text in texts if not text.startswith(("language-", "questions-")) and not text.endswith("-again")
        }
    assert {suite(name).source for name in suite_names() if has_texts(suite(name).source)} == set(SCRIPTS)


def _package() -> Path:
    import formalimg

    return Path(formalimg.__file__).parent


def test_the_command_puts_texts_where_published_protocols_look_for_them(tmp_path: Path) -> None:
    scripts = write_scripts(tmp_path / "scripts", "conceptmix")
    assert find_pulled_texts("conceptmix") is None
    said = formalimg("pull", "conceptmix", "--texts", "--from", str(scripts))
    assert said.code == 0, said.err
    assert f"in       {texts_folder('conceptmix')}" in said.out
    assert "the prompts in its scripts" in said.out
    assert said.out.endswith("used by  formalimg run --protocol published\n")
    assert "--items" not in said.out, "there are no items in it"
    assert "not verified" in said.err
    assert find_pulled_texts("conceptmix") == texts_folder("conceptmix")
    own = str(tmp_path / "own")
    said = formalimg("pull", "conceptmix", "--texts", "--from", str(scripts), "--to", own)
    assert said.code == 0
    assert f"used by  formalimg run --protocol published --prompts {own}" in said.out
    for words, message in (
        (("pull", "conceptmix"), "the data needs a folder: give --to DIR, as in --to conceptmix"),
        (("pull", "conceptmx"), "did you mean conceptmix?"),
        (("pull", "geneval", "--texts"), "geneval has no prompts that we know of: choose from those of formalimg, "),
        (("pull", "cf-world", "--texts", "--from", str(scripts)), "there is no data of cf-world in it"),
    ):
        refused = formalimg(*words)
        assert refused.code == 2
        assert message in refused.err
    (scripts / "dynamix/grading/gpt_grading.py").write_text("def gpt_grading_azure():\n    pass\n")
    refused = formalimg("pull", "conceptmix", "--texts", "--from", str(scripts), "--to", str(tmp_path / "other"))
    assert "gpt_grading.py, published-question-judge: there is no text gpt_grading_azure.text" in refused.err
    assert not (tmp_path / "other").exists()
    (scripts / "dynamix/grading/gpt_grading.py").unlink()
    (tmp_path / "LICENSE").write_text("MIT")
    with pytest.raises(PullError, match=r"there is no dynamix/grading/gpt_grading\.py in it: pull conceptmix --texts"):
        pull_texts("conceptmix", tmp_path / "other", scripts)


@pytest.mark.parametrize("is_pulled", [False, True])
def test_manifest_caption_and_dry_run_say_whose_wording_it_is(is_pulled: bool, tmp_path: Path) -> None:
    if is_pulled:
        pull_texts("conceptmix", origin=write_scripts(tmp_path / "scripts", "conceptmix"))
    wording = f"published protocol, {'the authors' if is_pulled else 'our'}{chr(39) if is_pulled else ''} wording"
    with Loopback(reply=lambda question: "Yes") as server:
        options = {"base_url": f"{server.url}/v1"}
        done = run(
            "conceptmix",
            Speckles(),
            "openai/looker",
            judge_options=options,
            protocol="published",
            preflight=False,
            items=[concept_item(CAT)],
            size=64,
            folder=tmp_path / "run",
        )
    judge = tomllib.loads((tmp_path / "run" / "run.toml").read_text())["judge"]
    assert judge["wording"] == wording
    comparison = compare([done.run])
    assert f"Judged by openai/looker ({wording})" in main_caption(comparison.sections[0], comparison)
    given = (
        "run",
        "conceptmix",
        "-m",
        "builtin/scatter",
        "--judge",
        "openai/looker",
        "--levels",
        "1",
        "--per-level",
        "1",
    )
    said = formalimg(*given, "--protocol", "published", "--dry-run", cwd=tmp_path)
    assert said.code == 0, said.err
    advice = "" if is_pulled else "; for the authors' texts: formalimg pull conceptmix --texts"
    assert f"  judge openai/looker: {wording}{advice}\n" in said.out
    assert "published protocol" not in formalimg(*given, "--dry-run", cwd=tmp_path).out
