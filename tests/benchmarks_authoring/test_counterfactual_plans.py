"""What CF-World is written from: laws in files of any of three forms, and plans that make sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg.benchmarks.authoring.task import AuthoringPlan
from formalimg.benchmarks.cfworld.authoring.choices import CounterfactualChoices, Law, read_laws
from formalimg.benchmarks.conceptmix.authoring.choices import ConceptChoices
from formalimg.errors import FormalimgError
from tests.benchmarks_authoring.counterfactual_author import laws


def test_laws_are_read_from_text_tables_and_toml(tmp_path: Path) -> None:
    expected = (Law("Ice floats on water.", "physics", "mechanics"), Law("Bees like flowers."))
    texts = {
        "laws.txt": "# mine\n\nIce floats on water. | physics | mechanics\nBees like  flowers.\n",
        "laws.csv": "law,discipline,branch\nIce floats on water.,physics,mechanics\nBees like flowers.,,\n",
        "laws.toml": '[[law]]\nlaw="Ice floats on water."\ndiscipline="physics"\nbranch="mechanics"\n'
        '[[law]]\nlaw="Bees like flowers."\n',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        assert read_laws(tmp_path / name) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "Ice floats.\nice floats", "line 2: a law is a sentence"),
        ("a.txt", "Ice floats.\n\nIce floats. | physics", "line 3: this law stands there twice"),
        ("a.txt", "Ice floats. | Physics!", "line 1: discipline and branch are small letters"),
        ("a.txt", "Ice floats. | a | b | c", "line 1: unknown part 4"),
        ("a.txt", "A gun fires.", "line 1: the law says 'gun'"),
        ("a.txt", "# none", "holds no laws"),
        ("a.csv", "rule\nIce floats.", "law is missing"),
        ("a.csv", "law\nIce floats.,physics", "line 2: unknown one more column"),
        ("a.toml", "law = 3", "laws are tables"),
        ("a.toml", "law = ", "is no TOML"),
        ("a.toml", "[[law]]\nlaw = 3", "law 1: law, discipline and branch must be texts"),
    ],
)
def test_a_file_without_proper_laws_is_an_error_with_its_place(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormalimgError, match=message):
        read_laws(tmp_path / name)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (lambda: AuthoringPlan("cf-world", (1,)), "leave --levels out"),
        (lambda: AuthoringPlan("cf-world", per_level=7), "say --per-law"),
        (lambda: AuthoringPlan("cf-world-rules"), "cannot be written"),
        (lambda: AuthoringPlan("cf-world", choices=ConceptChoices(binder="offline")), "for conceptmix only"),
        (lambda: AuthoringPlan("natural", choices=CounterfactualChoices(laws(1))), "--laws: for cf-world only"),
        (
            lambda: AuthoringPlan("cf-world-attributes", choices=CounterfactualChoices(per_law=2)),
            "--per-law: not for cf-world-attributes",
        ),
    ],
)
def test_plans_that_make_no_sense_are_refused(plan: type[AuthoringPlan], message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        plan()  # type: ignore[call-arg]
