"""Prompt texts: placeholders are filled and checked, versions kept, and users may bring their own."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

import formalimg.benchmarks
import formalimg.judges
from formalimg.prompts import Prompt, PromptError, load_prompts

BENCHMARKS = Path(formalimg.benchmarks.__file__).parent
ROOM = Path(formalimg.judges.__file__).parent
FOLDERS = {
    **{path.parent.name: path.parent for path in ROOM.glob("prompts/*/*.txt")},
    **{path.parent.parent.name: path.parent for path in BENCHMARKS.glob("*/prompts/*.txt")},
    "cfworld, published": BENCHMARKS / "cfworld" / "prompts" / "published",
}
OURS = {name: load_prompts(folder) for name, folder in FOLDERS.items()}

VERSIONS = {
    "clause-judge": ("version 2", "8c6de5a1ddf6"),
    "clause-judge-again": ("version 1", "edff99634dd0"),
    "clause-judge-published": ("version 2", "8c81bb78b736"),
    "grounder-again": ("version 1", "12a34f7c2bb6"),
    "grounder-all-at-once": ("version 2", "c5572209f326"),
    "grounder-per-class": ("version 2", "e293cd5ee819"),
    "published-clause-judge": ("version 1", "8498e2c237a2"),
    "published-grounder": ("version 1", "302a123f43f9"),
    "published-phrase-judge": ("version 1", "2a1effa98ab5"),
    "published-question-judge": ("version 1", "0568ec2b375c"),
    "published-score-attributes": ("version 2", "ac5e8629ba7c"),
    "published-score-counterfactual-gemini": ("version 1", "01b0e538e6f0"),
    "published-score-counterfactual-qwen": ("version 1", "3d33981d92be"),
    "published-score-factual-gemini": ("version 1", "8a658f5c9900"),
    "published-score-factual-qwen": ("version 1", "be9adc23098b"),
    "published-score-rules": ("version 1", "1cbc1a1aa7d9"),
    "published-word-judge": ("version 1", "0bb015599140"),
    "question-judge": ("version 2", "afca6f8058e7"),
    "question-judge-again": ("version 1", "e7044ddb1d41"),
    "question-judge-all": ("version 2", "0844843fa2c2"),
    "score-judge-again": ("version 1", "ec79f6756fab"),
    "score-judge-attributes": ("version 2", "b47ab889011f"),
    "score-judge-counterfactual": ("version 2", "a3639b49b859"),
    "score-judge-counterfactual-strict": ("version 2", "830e2fc168ad"),
    "score-judge-factual": ("version 2", "e49507350fc7"),
    "score-judge-factual-balanced": ("version 2", "a8ce9d257c33"),
    "score-judge-rules": ("version 2", "84696db2d1b1"),
}
"""Verdicts are found again by the versions of the texts that led to them: a text that changes needs a new one."""


def test_no_text_changes_without_a_new_version() -> None:
    found = {
        name: (prompt.version, hashlib.sha256(prompt.text.encode()).hexdigest()[:12])
        for prompts in OURS.values()
        for name, prompt in prompts.items()
    }
    assert dict(sorted(found.items())) == VERSIONS


def test_every_placeholder_of_ours_is_known_to_its_judge() -> None:
    known = {
        "vlm_grounder": {"class", "classes", "colors", "box", "picture", "problem"},
        "clause_judge": {"words", "formula", "clauses", "picture", "problem"},
        "question_judge": {"question", "questions", "picture", "problem"},
        "cfworld": {"questions", "picture", "problem"},
        "cfworld, published": {"questions", "prompt", "a", "b"},
        "conceptmix": {"question"},
        "formal": {"classes", "colors", "words", "formula"},
        "geneval2": {"question"},
        "t2i_compbench": {"question"},
    }
    for room, prompts in OURS.items():
        for prompt in prompts.values():
            assert prompt.placeholders <= known[room]
            assert prompt.optional <= prompt.placeholders
            filled = prompt.fill(dict.fromkeys(known[room], "x"))
            # Without a schema, a text has to show the form of the answer itself.
            assert "{" not in filled or (
                prompt.name.startswith("published") and re.search(r'^\{"', filled, re.MULTILINE)
            )
            assert not prompt.text.startswith("version")


def test_filling_leaves_braces_in_values_and_json_alone() -> None:
    prompt = Prompt("x", 'Find {class}. Answer {"objects": []} or {}.', "version 1")
    assert prompt.placeholders == {"class"}
    assert prompt.fill({"class": "{colors}"}) == 'Find {colors}. Answer {"objects": []} or {}.'


def ours() -> Path:
    return ROOM / "prompts" / "vlm_grounder"


def test_a_text_of_the_users_takes_the_place_of_ours(tmp_path: Path) -> None:
    text = 'Where is {class}? One of {colors}.\n{"label": …}\n'
    (tmp_path / "grounder-per-class.txt").write_text(f"version: mine\n\n{text}", encoding="utf-8-sig")
    (tmp_path / "writer-plan.txt").write_text("for somebody else")
    prompts = load_prompts(ours(), tmp_path)
    own = prompts["grounder-per-class"]
    assert own.text == text.strip()
    assert (
        str(own) == f"grounder-per-class, the user's own, sha256 {hashlib.sha256(own.text.encode()).hexdigest()[:16]}"
    )
    assert prompts["grounder-again"] == load_prompts(ours())["grounder-again"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "grounder-per-class",
            "Where is {class}?",
            r"has no \{colors\}: a text in its place needs \{class\}, \{colors\}, ",
        ),
        (
            "grounder-per-class",
            "{class} {colors} {boxes}",
            r"unknown placeholder \{boxes\}: choose from .*\{box\} \(may be",
        ),
        ("grounder-per-clas", "{class} {colors}", r"did you mean grounder-per-class\.txt"),
        ("grounder_per_class", "{class} {colors}", r"did you mean grounder-per-class\.txt"),
        ("grounder-again", "", r"has no \{problem\}"),
    ],
)
def test_a_text_that_cannot_stand_in_for_ours_is_an_error(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / f"{name}.txt").write_text(text)
    with pytest.raises(PromptError, match=message):
        load_prompts(ours(), tmp_path)


def test_a_folder_or_a_text_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="there is no folder"):
        load_prompts(ours(), tmp_path / "nowhere")
    (tmp_path / "grounder-again.txt").write_bytes(b"\xff\xfe\x00{problem}")
    with pytest.raises(PromptError, match="UTF-8"):
        load_prompts(ours(), tmp_path)
