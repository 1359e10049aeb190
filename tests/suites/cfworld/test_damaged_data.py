"""Damaged files in the published form: refused with the place and the reason, each mistake once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from formalimg.errors import FormalimgError
from formalimg.suites import ItemsError, load
from formalimg.suites.cfworld.published import read_cf_world
from tests.suites.cfworld.test_tidying import ASKED, COMMON, GROUP, PAIR, RULE, question, repository


@pytest.mark.parametrize(
    ("groups", "questions", "message"),
    [
        ([GROUP], [*ASKED, question(10, "l1", "Style")], "id 10: unknown question_type 'Style'"),
        ([GROUP], [*ASKED, question(10, "l4")], "unknown prompt_level 'l4'"),
        ([GROUP], [*ASKED, question(10, "l1", source_id="5")], "questions for group 5, l1, which is not there"),
        ([GROUP], [*ASKED, question(10, "l1")], "group 0, l1: must have one question of the type Assessment Point"),
        ([GROUP], [*ASKED, question(10, "l1", "Visual Integrity", weight=0)], "above 0 and below 1,000, but is 0"),
        ([GROUP], [*ASKED, question(10, "l1", "Visual Integrity", weight="3")], "above 0 and below 1,000, but is '3'"),
        ([GROUP], [*ASKED, question(10, "l1", question=" ")], "question must be text and not empty"),
        ([GROUP], [{"id": "1"}], "source_id, prompt_level, .* missing: a question has id, source_id, prompt_level"),
        ([{**GROUP, "prompt_l2": ""}], ASKED, "prompt_l2 must be text and not empty"),
        ([{**GROUP, "prmpt_l1": "x"}], ASKED, "unknown field prmpt_l1: a group has id, prompt_l1"),
        ([], ASKED, r"prompt/physics/Classical Mechanics.json: holds no groups, though there are questions"),
        ([{**GROUP, "ap_l3": "a", "ap_3": "b"}], ASKED, "unknown field ap_3"),
        ([GROUP, GROUP], ASKED, "another record has this id"),
        ([{**GROUP, "id": "../x"}], ASKED, "id must be a number"),
        ([{**GROUP, "id": True}], ASKED, "id must be a number"),
        ([{**GROUP, "prompt_l1": "\ud800"}], ASKED, "half a character"),
        (["text"], ASKED, "record 1: must be an object"),
        ({}, ASKED, "must be a list of records"),
        ("[{", ASKED, "not valid JSON"),
        ('[{"id": "0", "prompt_l1": "Lost.", "prompt_l1": "Kept."}]', ASKED, "'prompt_l1' occurs twice"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(
    groups: object, questions: object, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ItemsError, match=message) as caught:
        load("cf-world", repository(tmp_path, groups, questions))
    assert len(caught.value.findings) == 1  # and nothing that only follows from it


def test_a_question_that_cannot_be_read_is_told_once(tmp_path: Path) -> None:
    """Not also that the group has no question that decides."""
    asked = [{**each, "weight": -1} if each["id"] == "3" else each for each in ASKED]
    with pytest.raises(ItemsError) as caught:
        load("cf-world", repository(tmp_path, [GROUP], asked))
    assert [finding.partition(": ")[0][-4:] for finding in caught.value.findings] == ["id 3"]


@pytest.mark.parametrize(
    ("groups", "reworded", "expected"),
    [
        ([{**GROUP, "prompt_l2": ""}], [{"id": "0", "prompt": "a"}], "prompt_l2 must be text and not empty"),
        ([GROUP], [{"id": "0"}], "prompt missing: a de-nominalised prompt has id, prompt"),
        ([GROUP], "[{", "not valid JSON"),
    ],
)
def test_what_follows_from_a_damaged_file_is_not_told_of_others(
    groups: object, reworded: object, expected: str, tmp_path: Path
) -> None:
    place = repository(tmp_path, groups, probes={"de-norm/physics/Classical Mechanics": reworded})
    with pytest.raises(ItemsError, match=expected) as caught:
        load("cf-world-denominalised", place)
    assert len(caught.value.findings) == 1


def test_other_wordings_of_no_known_field_are_refused(tmp_path: Path) -> None:
    sound = [{"id": "0", "prompt": "Up."}]
    probes = {"de-norm/physics/Classical Mechanics": sound, "de-norm/Poetry": sound}
    with pytest.raises(ItemsError, match=r"^prompt_ablation/de-norm/Poetry.json: there is no such file in prompt"):
        load("cf-world-denominalised", repository(tmp_path, [GROUP], probes=probes))


def test_files_without_their_counterpart_are_refused(tmp_path: Path) -> None:
    repository(tmp_path, [GROUP])
    (tmp_path / "prompt" / "Biology.json").write_text("[]")
    (tmp_path / "eval_questions" / "Poetry_gemini.json").write_text("[]")
    with pytest.raises(ItemsError) as caught:
        load("cf-world", tmp_path)
    assert [finding.split(":")[0] for finding in caught.value.findings] == [
        "eval_questions/Poetry_gemini.json",
        "eval_questions/Biology_gemini.json",
    ]


def test_folders_without_the_data_say_what_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match=r"folders prompt, eval_questions \(prompt is not there\)"):
        load("cf-world", tmp_path)
    with pytest.raises(FormalimgError, match=r"prompt_ablation is not there"):
        load("cf-world-rules", repository(tmp_path, [GROUP]))
    with pytest.raises(FormalimgError, match="not a suite of CF-World"):
        read_cf_world(tmp_path, "knolling")


@pytest.mark.parametrize(
    ("suite", "records", "message"),
    [
        ("rule_decouple", [{**RULE, "category": "odd"}], "unknown category 'odd': known are original, cf"),
        ("attribute_decouple", [PAIR], "pair-7-rare has no partner pair-7-common"),
        ("attribute_decouple", [PAIR, {**COMMON, "category": "unusual"}], "contradict each other"),
        ("de-norm/physics/Classical Mechanics", [], "lacks group 0"),
        ("de-norm/physics/Classical Mechanics", [{"id": "0", "prompt": "a"}, {"id": "4", "prompt": "b"}], "no such"),
    ],
)
def test_probes_that_contradict_themselves_are_refused(
    suite: str, records: list[dict[str, Any]], message: str, tmp_path: Path
) -> None:
    (tmp_path / "prompt_ablation/de-norm/physics").mkdir(parents=True)
    place = repository(tmp_path, [GROUP], probes={suite: records})
    name = {"rule_decouple": "rules", "attribute_decouple": "attributes"}.get(suite, "denominalised")
    with pytest.raises(ItemsError, match=message):
        load(f"cf-world-{name}", place)
