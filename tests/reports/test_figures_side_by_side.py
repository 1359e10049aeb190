"""The same model under several settings, by several judges, over easy and hard concepts: a panel for each."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from formalimg.benchmarks.cfworld.score_studies import compare_scores
from formalimg.judges.base import LoadedImage
from formalimg.reports.comparison import compare
from formalimg.reports.figures.runs import comparison_figures
from formalimg.reports.figures.studies import study_figures
from formalimg.reports.figures.svg import Figure
from formalimg.runs.execution import judge_run
from formalimg.runs.reader import open_run
from formalimg.types import Item, RunRecord, Unscored, Verdict
from tests.human_eval.concept_runs import PlannedJudge, concept_item, concept_run
from tests.reports import concept_runs as answered
from tests.reports.counterfactual_runs import groups_of, judge_by, scored_run
from tests.reports.drawn_runs import DrawnRun, Fates, plain_run
from tests.reports.figures_read import figures, words


def drawn(*runs: RunRecord) -> dict[str, Figure]:
    return {each.name: each for each in comparison_figures(compare(list(runs)))}


def layouts(model: str, fates: Fates) -> DrawnRun:
    run = plain_run(model, fates)
    return replace(run, manifest=replace(run.manifest, task="layout"))


def test_layouts_and_images_of_a_model_share_a_panel() -> None:
    half: Fates = {1: [True, False], 2: [False, False]}
    found = drawn(
        plain_run("lab/a", half), layouts("lab/a", {1: [True, True], 2: [True, False]}), plain_run("lab/b", half)
    )
    drawing = found["knolling-rates-by-setting"]
    assert figures(drawing) == {
        "lab/a, K 1, image": "0.500",
        "lab/a, K 2, image": "0.000",
        "lab/a, K 1, layout task": "1.000",
        "lab/a, K 2, layout task": "0.500",
    }
    assert "lab/b" not in words(drawing)


def test_language_models_on_the_layout_task_have_their_curves() -> None:
    found = drawn(layouts("chat/a", {1: [True], 2: [False]}), layouts("chat/b", {1: [True], 2: [True]}))
    assert {"chat/a, layout task", "chat/b, layout task"} <= set(words(found["knolling-rates"]))
    assert "knolling-rates-by-setting" not in found


def test_each_judge_has_a_panel_with_all_runs(tmp_path: Path) -> None:
    items = [concept_item("a", ["object", "color"]), concept_item("b", ["object", "color"])]
    judges = [
        PlannedJudge("kind/judge", lambda item: [True, True]),
        PlannedJudge("strict/judge", lambda item: [True, item.id == "a"]),
    ]
    runs = []
    for name in ("one", "two"):
        folder = concept_run(tmp_path / name, items, judges, model=f"lab/{name}")
        with closing(open_run(folder)) as run:
            runs += [open_run(folder, judge) for judge in run.judges()]
    assert figures(drawn(*runs)["conceptmix-rates-by-judge"]) == {
        f"{judge}, k 1, lab/{name}": rate
        for name in ("one", "two")
        for judge, rate in (("kind/judge", "1.000"), ("strict/judge", "0.500"))
    }
    assert "conceptmix-rates-by-judge" not in drawn(runs[0], runs[2])


def test_runs_over_easy_and_hard_concepts_are_shaded_around_the_others(tmp_path: Path) -> None:
    def run(name: str, values: tuple[str, str], shown: tuple[bool, bool]) -> RunRecord:
        items = [answered.concept_item(f"{name}-{value}", ("object", "cat"), ("color", value)) for value in values]
        answers = {item.id: [True, yes] for item, yes in zip(items, shown, strict=True)}
        return answered.concept_run(tmp_path / name, "lab/a", items, answers)

    easy, hard = run("easy", ("red", "green"), (True, True)), run("hard", ("brown", "black"), (False, False))
    mixed = run("mixed", ("red", "brown"), (True, False))
    drawing = drawn(easy, hard, mixed)["conceptmix-rates-by-difficulty"]
    assert figures(drawing) == {
        "lab/a, k 1, easy": "1.000",
        "lab/a, k 1, hard": "0.000",
        "lab/a, k 1, all concepts": "0.500",
    }
    assert "from easy to hard" in words(drawing)
    assert "conceptmix-rates-by-difficulty" not in drawn(easy, mixed)


class _JudgeWithItsOwnWords(answered.PlannedJudge):
    """Calls every part a concept, whatever its category is."""

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        found = await super().judge(item, image)
        assert isinstance(found, Verdict)
        return replace(found, parts=tuple(replace(part, kind="concept") for part in found.parts))


def test_categories_that_are_none_of_ours_are_drawn_as_they_are_called(tmp_path: Path) -> None:
    items = [answered.concept_item("a", ("object", "cat"), ("color", "red"))]
    judge = _JudgeWithItsOwnWords({"a": [True, False]}, {})
    judge.name = "own/words"
    folder = answered.concept_run(tmp_path / "run", "lab/a", items, {"a": [True, False]}).folder
    judge_run(folder, judge)
    assert figures(drawn(open_run(folder))["conceptmix-failures-by-category"]) == {"lab/a, concept": "0.500"}


def test_two_judges_of_scores_by_level_and_dimension(tmp_path: Path) -> None:
    groups = groups_of(2)
    kind = judge_by({item.id: [1, 0.75, 1] for item in groups}, "kind/judge")
    strict = judge_by({item.id: [0.5, 0.25, 1] for item in groups}, "strict/judge")
    study = compare_scores(scored_run(tmp_path / "run", groups, kind, strict))
    found = {each.name: each for each in study_figures(study)}
    assert set(found) == {"cf-world-judges-run-levels", "cf-world-judges-run-dimensions"}
    assert figures(found["cf-world-judges-run-levels"]) == {
        f"{who}, L{level}": f"{score:.3f}"
        for level, apart in study.scores_by_level.items()
        for who, score in (("kind/judge", apart.first), ("strict/judge", apart.second))
    }
    assert study.scores_by_level[2].first != study.scores_by_level[2].second
