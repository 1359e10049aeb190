"""Question graphs: what is a valid list of questions, how lists are read from files, and how items keep them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from formalimg.benchmarks.export.suite_export import PublisherInfo, export_suite
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.items_file import decode_item, encode_item, write_items
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.questions.spec import (
    MAX_QUESTIONS,
    GraphQuestion,
    QuestionSpec,
    find_graph_problem,
    unread_question,
)
from formalimg.benchmarks.record import ItemsError
from formalimg.errors import FormalimgError
from formalimg.logic.parser import parse
from formalimg.scoring.user_inputs import read_questions
from formalimg.types import Item

CUP = GraphQuestion("cup", "Is there a cup?", category="object")
RED = GraphQuestion("red", "Is the cup red?", ("cup",), category="attribute")
NO_DOG = GraphQuestion("dog", "Is there a dog?", expected="no", weight=2.0)


@pytest.mark.parametrize(
    ("questions", "problem"),
    [
        ([], "no questions"),
        ([CUP, replace(RED, id="cup", parents=())], "two questions have the id 'cup'"),
        ([RED], "depends on 'cup', which is not there"),
        ([replace(CUP, parents=("red",)), RED], "depends on itself"),
        ([replace(CUP, parents=("cup",))], "depends on itself"),
        ([replace(CUP, question="  ")], "no words"),
        ([replace(CUP, id=str(number)) for number in range(MAX_QUESTIONS + 1)], f"{MAX_QUESTIONS} are the most"),
    ],
)
def test_what_cannot_be_asked_is_named(questions: list[GraphQuestion], problem: str) -> None:
    found = find_graph_problem(questions)
    assert found is not None
    assert problem in found


@given(some.lists(some.sets(some.integers(0, 7)), min_size=1, max_size=8))
def test_circles_are_found_and_nothing_else(above: list[set[int]]) -> None:
    """Compared with walking up from every question."""
    parents = [{parent for parent in some_parents if parent < len(above)} for some_parents in above]

    def reaches_itself(start: int) -> bool:
        seen, left = set[int](), list(parents[start])
        while left:
            place = left.pop()
            if place not in seen:
                seen.add(place)
                left += parents[place]
        return start in seen

    questions = [
        GraphQuestion(str(number), "Is it?", tuple(map(str, parents[number]))) for number in range(len(parents))
    ]
    assert (find_graph_problem(questions) is None) == (not any(map(reaches_itself, range(len(parents)))))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.txt", "Is there a cup?\n\n  Is the cup red?\n"),
        ("q.jsonl", '{"question": "Is there a cup?"}\n{"question": "Is the cup red?"}\n'),
        ("q.json", '["Is there a cup?", "Is the cup red?"]'),
        ("q.csv", "question\nIs there a cup?\nIs the cup red?\n"),
    ],
)
def test_lists_of_questions_are_read_in_every_form(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_questions(tmp_path / name) == (
        GraphQuestion("1", "Is there a cup?"),
        GraphQuestion("2", "Is the cup red?"),
    )


def test_all_fields_of_a_question_are_read(tmp_path: Path) -> None:
    table = tmp_path / "q.csv"
    table.write_text(
        "id,question,parents,expected,category,weight\n"
        "cup,Is there a cup?,,,object,\n"
        "red,Is the cup red?,cup,yes,attribute,1\n"
        "dog,Is there a dog?,,No,,2\n"
    )
    assert read_questions(table) == (CUP, RED, NO_DOG)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"question": "Is it?", "parent": "1"}', "unknown field 'parent'"),
        ('{"question": "Is it?", "expected": "maybe"}', "give yes or no"),
        ('{"question": "Is it?", "weight": -1}', "weight must be a number above 0"),
        ('{"question": "Is it?", "parents": 7}', "parents must be a list of ids"),
        ('{"question": ""}', "it has no words"),
        ('{"question": "Is it?", "parents": ["7"]}', "depends on '7'"),
        ('{"question": ', "cannot read"),
        ("[1]", "must hold a list of objects"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "q.jsonl").write_text(text + "\n")
    with pytest.raises(FormalimgError, match=r"q\.jsonl") as raised:
        read_questions(tmp_path / "q.jsonl")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match="check the path"):
        read_questions(tmp_path / "none.csv")


FORMULA = QuestionSpec(formula=FormulaSpec.of(parse("(exists ?x (Is ?x 'cup'))")), vocabulary="natural")
GRAPH = QuestionSpec((CUP, RED, NO_DOG))
IN_PART = replace(FORMULA, questions=(unread_question("on a table", "A cup on a table."),))
UNREAD = QuestionSpec(no_formula="'dreams' is not understood here")


@pytest.mark.parametrize("spec", [FORMULA, GRAPH, IN_PART, UNREAD])
def test_items_read_back_as_they_were(tmp_path: Path, spec: QuestionSpec) -> None:
    item = Item("free-prompts", "one", 1, "A red cup, and no dog.", spec, ("questions",), "1")
    assert decode_item(encode_item(item), "free-prompts") == item
    write_items([item], tmp_path)
    assert load("free-prompts", tmp_path) == [item]
    export_suite("free-prompts", tmp_path / "out", items=tmp_path, imprint=PublisherInfo(licence="CC-BY-4.0"))
    assert "questions, " in (tmp_path / "out" / "DATASHEET.md").read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"parents": ["cup"]', '"parents": ["mug"]', "depends on 'mug'"),
        ('"expected": "no"', '"expected": "maybe"', "expected is yes or no"),
        ('"weight": 2.0', '"weight": 0', "a weight above 0"),
        ('"version": "1"', '"version": "1", "dsl": "(and)", "vocabulary": "natural"', "and needs at least one formula"),
        ('"version": "1"', '"version": "1", "vocabulary": "natural"', "belong together"),
        ('"version": "1"', '"version": "1", "no_formula": ""', "no_formula"),
    ],
)
def test_items_that_cannot_be_asked_are_refused(old: str, new: str, message: str) -> None:
    text = encode_item(Item("free-prompts", "one", 1, "A red cup, and no dog.", GRAPH, (), "1"))
    assert old in text
    with pytest.raises(ItemsError, match=message):
        decode_item(text.replace(old, new), "free-prompts")


@pytest.mark.parametrize(
    ("dsl", "vocabulary"),
    [("(exists ?x (HasColor ?x 'odd'))", "natural"), ("(Is ?x 'cup')", "natural"), ("(and)", "x")],
)
def test_items_whose_formula_nobody_can_judge_by_are_refused(dsl: str, vocabulary: str) -> None:
    text = encode_item(Item("free-prompts", "one", 1, "A cup.", FORMULA, (), "1"))
    wrong = text.replace("(exists ?x (Is ?x 'cup'))", dsl).replace('"natural"', f'"{vocabulary}"')
    assert wrong != text
    with pytest.raises(ItemsError):
        decode_item(wrong, "free-prompts")
