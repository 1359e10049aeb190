"""`items write knolling|natural` with texts of the authors' form: how they are filled, and answers read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.authoring.engine import author_suite
from formalimg.benchmarks.authoring.task import AuthoringPlan, Slot
from formalimg.benchmarks.formal.authoring.templates import draw_assignment
from formalimg.errors import FormalimgError
from tests.benchmarks_authoring.published_author import PublishedAuthor, pulled
from tests.support.published_scripts import script_text

BLACK_CAT = "(and (IsStyle 'cartoon') (exists ?a (and (Is ?a 'cat') (HasColor ?a 'black'))))"


def author(review: dict[str, Any]) -> PublishedAuthor:
    """Writes of a black cat, and checks in the published form."""

    def reply(text: str, answer_type: Any) -> str:
        writes = "dsl_representation" in answer_type.model_fields
        return json.dumps(
            {"natural_language_description": "One.", "dsl_representation": BLACK_CAT} if writes else review
        )

    return PublishedAuthor(reply)


FINE = {"is_contradictory": False, "is_aligned": True, "corrected_nl_description": None}


@pytest.mark.parametrize("own", [True, False])
def test_natural_is_written_and_checked_by_the_authors_texts(own: bool, tmp_path: Path) -> None:
    scripts, folder = pulled("formalimg", tmp_path, own=own)
    prompts = scripts / "src/tasks/natural/prompts/prompts.py"
    language = (scripts / "configs/dsl_natural.json").read_text(encoding="utf-8")
    plan = AuthoringPlan("natural", (1,), 1, attempts=1, seed=next(_seeds_with_style("cartoon")))
    model = author(FINE)
    written = author_suite(plan, model, tmp_path / "out", prompts=folder)
    (item,) = written.items
    assert (item.prompt, str(item.spec.formula)) == ("One.", BLACK_CAT)
    [(_, writing)], [(_, checking)] = model.asked
    template = script_text(prompts, "prompts_generate")
    before, _, after = template.format(dsl=language, instruction="\0").partition("\0")
    assert writing.startswith(before)
    assert writing.endswith(after)
    parameters = json.loads(writing[len(before) : len(writing) - len(after)])
    assert parameters["style_control"] == {"target_style": "cartoon"}
    assert parameters["target_dependency_depth"] == {"num_object_class": 1, "regular": 1, "count": 0}
    assert parameters["structure_control"]["closure_depths"] == [1]
    assert parameters["structure_control"]["exists_forall_struct"] in ([["exists"]], [["forall"]])
    assert set(parameters["predicate_control"]["required_predicates"]) >= {"Is", "IsStyle"}
    sample = json.dumps({"natural_language_description": "One.", "dsl_representation": BLACK_CAT}, indent=2)
    assert checking == script_text(prompts, "prompt_check_v8").format(dsl=language, sample_to_check=sample)
    noted = json.loads((tmp_path / "out" / "writing.json").read_text())["prompts"]
    assert set(noted) == {"write-natural", "check-natural", "language-natural"}
    assert all(version.startswith("of the authors (yhj137/FormalImG)") for version in noted.values())


def _seeds_with_style(style: str) -> Any:
    for seed in range(1000):
        plan = AuthoringPlan("natural", (1,), 1, attempts=1, seed=seed)
        if draw_assignment(plan, Slot(0, 1), 0).style == style:
            yield seed


@pytest.mark.parametrize(
    ("review", "asked", "reasons"),
    [
        ({**FINE, "is_contradictory": True, "is_aligned": None}, 2, ["check: implausible"]),
        ({**FINE, "is_aligned": False, "corrected_nl_description": "Better."}, 3, ["check: not aligned"]),
        ({**FINE, "is_aligned": None}, 2, ["check: not aligned"]),
    ],
)
def test_the_published_keys_of_reviews_are_understood(
    review: dict[str, Any], asked: int, reasons: list[str], tmp_path: Path
) -> None:
    _, folder = pulled("formalimg", tmp_path)
    plan = AuthoringPlan("natural", (1,), 1, attempts=1, seed=next(_seeds_with_style("cartoon")))
    model = author(review)
    written = author_suite(plan, model, tmp_path / "out", prompts=folder)
    assert not written.items
    assert len(model.asked) == asked
    assert list(written.rejections) == reasons


def test_the_language_has_to_lie_beside_the_authors_text(tmp_path: Path) -> None:
    _, folder = pulled("formalimg", tmp_path)
    (folder / "language-knolling.txt").unlink()
    with pytest.raises(FormalimgError, match=r"cannot read the prompt .*language-knolling\.txt: put it there"):
        author_suite(AuthoringPlan("knolling", (1,), 1), author(FINE), tmp_path / "out", prompts=folder)
