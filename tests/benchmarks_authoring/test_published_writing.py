"""`items write knolling|natural` with texts of the authors' form: how they are filled, and answers read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.authoring.engine import author_suite
from formalimg.benchmarks.authoring.task import AuthoringPlan
from formalimg.benchmarks.download.texts import pull_texts
from formalimg.errors import FormalimgError
from formalimg.models.base import Answered, Message, Reply, Usage
from formalimg.types import AnswerType
from tests.support.published_scripts import authors_scripts, script_text, write_scripts

BLACK_CAT = "(and (IsStyle 'cartoon') (exists ?a (and (Is ?a 'cat') (HasColor ?a 'black'))))"


@dataclass
class Author:
    """Writes and checks in the published form, and remembers what it was sent."""

    formula: str
    review: dict[str, Any]
    name: str = "scripted/model"
    settings: dict[str, Any] = field(default_factory=dict)
    concurrency: int = 1
    asked: list[str] = field(default_factory=list)

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        (text,) = (part for message in messages for part in message.parts)
        assert isinstance(text, str)
        self.asked.append(text)
        writes = "dsl_representation" in answer_type.model_fields
        said = {"natural_language_description": "One.", "dsl_representation": self.formula} if writes else self.review
        return Answered(answer_type.model_validate(said), json.dumps(said), Usage(1, 1), 0.0, {})


FINE = {"is_contradictory": False, "is_aligned": True, "corrected_nl_description": None}


@pytest.fixture(params=["own words", "the authors'"])
def texts(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """The folder of the scripts, and the folder of the texts that were pulled from there."""
    own = request.param == "own words"
    scripts = write_scripts(tmp_path / "scripts", "formalimg") if own else authors_scripts("formalimg")
    pull_texts("formalimg", tmp_path / "texts", scripts)
    return scripts, tmp_path / "texts"


def test_natural_is_written_and_checked_by_the_authors_texts(texts: tuple[Path, Path], tmp_path: Path) -> None:
    scripts, folder = texts
    prompts = scripts / "src/tasks/natural/prompts/prompts.py"
    language = (scripts / "configs/dsl_natural.json").read_text(encoding="utf-8")
    plan = AuthoringPlan("natural", (1,), 1, attempts=1, seed=next(_seeds_with_style("cartoon")))
    author = Author(BLACK_CAT, FINE)
    written = author_suite(plan, author, tmp_path / "out", prompts=folder)
    (item,) = written.items
    assert (item.prompt, str(item.spec.formula)) == ("One.", BLACK_CAT)
    writing, checking = author.asked
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
    from formalimg.benchmarks.authoring.task import Slot
    from formalimg.benchmarks.formal.authoring.templates import draw_assignment

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
    pull_texts("formalimg", tmp_path / "texts", write_scripts(tmp_path / "scripts", "formalimg"))
    plan = AuthoringPlan("natural", (1,), 1, attempts=1, seed=next(_seeds_with_style("cartoon")))
    author = Author(BLACK_CAT, review)
    written = author_suite(plan, author, tmp_path / "out", prompts=tmp_path / "texts")
    assert not written.items
    assert len(author.asked) == asked
    assert list(written.rejections) == reasons


def test_the_language_has_to_lie_beside_the_authors_text(tmp_path: Path) -> None:
    pull_texts("formalimg", tmp_path / "texts", write_scripts(tmp_path / "scripts", "formalimg"))
    (tmp_path / "texts" / "language-knolling.txt").unlink()
    with pytest.raises(FormalimgError, match=r"cannot read the prompt .*language-knolling\.txt: put it there"):
        author_suite(AuthoringPlan("knolling", (1,), 1), Author("", FINE), tmp_path / "out", prompts=tmp_path / "texts")
