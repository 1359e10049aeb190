"""`formalimg formula translate` as a user types it: the reader, open vocabularies, a chat model and its check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from formalimg.language.equivalence import is_equivalent_as_written
from formalimg.language.free_english import find_unknown_nouns
from formalimg.logic.parser import parse
from formalimg.scoring.translation import translate_by_reader, translation_words
from tests.support.command import formalimg as command
from tests.support.loopback import Asked, Loopback
from tests.support.published import FOLDER


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORMALIMG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "no-key-at-all-but-long-enough")


def _lines(text: str) -> list[dict[str, str | None]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.txt", "three cups\n\nA pig dances.\n"),
        ("p.jsonl", '{"prompt": "three cups"}\n{"prompt": "A pig dances."}\n'),
    ],
)
def test_the_reader_translates_what_it_understands(name: str, text: str) -> None:
    Path(name).write_text(text)
    code, out, err = command("formula", "translate", name, "--to", "formulas")
    first, second = _lines(out)
    assert code == 0
    assert first == {
        "prompt": "three cups",
        "formula": "(exactly 3 ?cup_1 (Is ?cup_1 'cup'))",
        "how": "reader",
        "reason": "",
    }
    assert (second["formula"], second["how"]) == (None, "not translated")
    assert "'pig' is no noun phrase that is known" in str(second["reason"])
    assert "2 prompts to formulas: 50.0% read without a model, 50.0% not translated" in err


def test_an_open_vocabulary_takes_nouns_from_the_prompt_and_a_file_gives_them() -> None:
    Path("p.txt").write_text("a photo of seven black pigs\na tv remote and two couches\n")
    Path("classes.txt").write_text("pig\ntv remote\ncouch\n")
    read = {
        vocabulary: [
            line["formula"] for line in _lines(command("formula", "translate", "p.txt", "--vocabulary", vocabulary)[1])
        ]
        for vocabulary in ("natural", "open", "classes.txt")
    }
    pigs = "(and (IsStyle 'photo') (exactly 7 ?pig_1 (and (Is ?pig_1 'pig') (HasColor ?pig_1 'black'))))"
    remote = "(exists ?a (and (Is ?a 'tv remote') (exactly 2 ?b (Is ?b 'couch'))))"
    assert read["natural"] == [None, None]
    assert read["open"][0] == pigs
    assert "(Is ?tv_remote_control_1 'tv remote control')" in str(read["open"][1])
    assert read["classes.txt"][0] == pigs
    assert is_equivalent_as_written(parse(str(read["classes.txt"][1])), parse(remote))


@pytest.mark.parametrize(
    ("text", "nouns"),
    [
        ("five raccoons and a yellow zebra", ("raccoon", "zebra")),
        ("four volcanoes, three cactuses and six cookies", ("volcano", "cactus", "cookie")),
        ("two benchs", ()),
        ("a shark in a swimming pool", ("shark",)),
        ("a fancy dog", ()),
        ("four pigs jumping over a fence", ("fence",)),
    ],
)
def test_unknown_nouns_are_found_by_their_place(text: str, nouns: tuple[str, ...]) -> None:
    assert find_unknown_nouns(text, "natural") == nouns


def test_a_chat_model_translates_the_rest_and_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    formula = "(exists ?d (and (Is ?d 'dog') (HasState ?d 'running')))"
    replies = {
        "A dog runs.": [("", "(exists ?d (Is ?d 'dgo'))"), ("", formula)],  # the second is put right
        "A cat purrs.": [("", "(exists ?c"), ("", "(Is ?c 'cat')")],
        "A dog barks loudly.": [("barking", "")],
    }
    asked: list[str] = []

    def reply(one: Asked) -> str:
        prompt = next(prompt for prompt in replies if any(f"The prompt:\n{prompt}" in text for text in one.texts))
        asked.append(prompt)
        unsaid, written = replies[prompt].pop(0)
        return json.dumps({"unsaid": unsaid, "formula": written})

    Path("p.txt").write_text("\n".join(["three cups", *replies]))
    with Loopback(reply=reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        code, _, err = command(
            "formula", "translate", "p.txt", "--model", "openai/chat", "-M", "first_wait=0", "--out", "found.jsonl"
        )
    assert code == 0, err
    found = _lines(Path("found.jsonl").read_text())
    assert [line["how"] for line in found] == ["reader", "model", "not translated", "not translated"]
    assert found[1]["formula"] == formula
    assert "no valid formula" in str(found[2]["reason"])
    assert "barking" in str(found[3]["reason"])
    assert sorted(asked) == sorted(["A dog runs."] * 2 + ["A cat purrs."] * 2 + ["A dog barks loudly."])
    assert "25.0% read without a model, 25.0% by openai/chat, 50.0% not translated" in err


def test_what_cannot_be_translated_says_what_to_do() -> None:
    Path("p.txt").write_text("A pig dances.\n")
    assert command("formula", "translate", "p.txt")[0] == 1
    for arguments, message in [
        (["nowhere.txt"], "check the path"),
        (["p.txt", "--vocabulary", "nope"], "give knolling, natural, open, or a file of classes"),
        (["p.txt", "-M", "a=b"], "name it with --model"),
    ]:
        code, _, err = command("formula", "translate", *arguments)
        assert code == 2
        assert message in err


def test_all_published_geneval_prompts_are_read_with_their_class_names() -> None:
    folder = FOLDER.parents[1] / "geneval"
    if not folder.is_dir():
        pytest.skip("the published prompts of GenEval are not at hand")
    words = translation_words(str(folder / "object_names.txt"))
    for line in (folder / "evaluation_metadata.jsonl").read_text().splitlines():
        wanted = json.loads(line)
        found = translate_by_reader(wanted["prompt"], words)
        assert found.formula is not None, found
        for part in wanted["include"]:
            assert f"'{part['class']}'" in found.formula
            assert part.get("count", 1) == 1 or f"(exactly {part['count']} " in found.formula
            assert f"'{part.get('color', part['class'])}'" in found.formula
