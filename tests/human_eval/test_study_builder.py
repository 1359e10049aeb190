"""Creation of studies: assignment of images to raters, and what is refused."""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, fields, replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.errors import FormalimgError
from formalimg.human_eval.assignment import Candidate, assign_images, checks_per_rater, choose_images
from formalimg.human_eval.attention_checks import is_unrelated
from formalimg.human_eval.manifest import StudyConfig, read_study_manifest, require_same_config
from formalimg.human_eval.records import read_study
from formalimg.human_eval.study import Study, open_study
from formalimg.human_eval.study_builder import create_study
from formalimg.logic.parser import parse
from formalimg.runs.reader import StoredRun
from tests.human_eval.counterfactual_runs import scored_item, scored_run
from tests.human_eval.rated_runs import concept_items, formula_items, grounded_run, opened, rated_run, take
from tests.support.values import not_none

ITEMS = concept_items(24)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[StoredRun]]:
    home = tmp_path_factory.mktemp("runs")
    folders = [
        rated_run(home / name, ITEMS, refused=frozenset({"003"} if name == "beta" else ()))
        for name in ("alpha", "beta")
    ]
    with opened(*folders) as found:
        yield found


def test_ratings_are_balanced_and_nobody_sees_an_image_twice(runs: list[StoredRun], tmp_path: Path) -> None:
    create_study(tmp_path / "study", runs, "questions", raters=4, per_image=3, checks=0.1, seed=5)
    study = read_study(tmp_path / "study")
    real = [task for task in study.tasks if not task.is_check]
    rated = Counter((task.run, task.item, task.sample) for task in real)
    assert (len(rated), set(rated.values())) == (47, {3})
    seen = Counter((task.rater, task.run, task.item, task.sample) for task in study.tasks)
    assert set(seen.values()) == {1}
    loads = Counter(task.rater for task in study.tasks)
    assert max(loads.values()) - min(loads.values()) <= 1
    checks = Counter(task.rater for task in study.tasks if task.is_check)
    assert all(checks[rater] / loads[rater] >= 0.1 for rater in loads)
    assert [run.without_image for run in study.manifest.runs] == [0, 1]
    assert [run.images for run in study.manifest.runs] == [24, 23]


def test_checks_have_words_that_do_not_fit(runs: list[StoredRun], tmp_path: Path) -> None:
    create_study(tmp_path / "study", runs, "likert", raters=3, per_image=1, checks=0.2)
    by_id = {item.id: item for item in ITEMS}
    checks = [task for task in read_study(tmp_path / "study").tasks if task.is_check]
    assert len(checks) == 12
    for check in checks:
        assert by_id[check.item].prompt.split(",")[0] != by_id[check.words_of].prompt.split(",")[0]


def test_raters_learn_nothing_of_models_and_checks(runs: list[StoredRun], tmp_path: Path) -> None:
    made = create_study(tmp_path / "study", runs, "questions", raters=2, per_image=1, checks=0.1)
    told: dict[str, set[str]] = {}
    with open_study(made.folder) as study:

        def note(task: object) -> None:
            shown = json.dumps(asdict(task))  # type: ignore[call-overload]
            assert not any(word in shown for word in ("alpha", "beta", "secret", "check", str(tmp_path)))

        for rater in made.links:
            while (task := study.next_task(rater)) is not None:
                note(task)
                told.setdefault(rater, set()).update((task.id, task.image))
                assert study.image(rater, task.image)
                take(study, rater, lambda task, step: True, 1)
    tokens = [token for those in told.values() for token in those]
    assert all(len(token) == 16 for token in tokens)
    ids = [token for (token,) in _rows(made.folder, "SELECT id FROM tasks")]
    assert len(set(ids)) == len(ids)


def _rows(folder: Path, query: str) -> list[tuple[str | int, ...]]:
    with closing(sqlite3.connect(folder / "ratings.sqlite")) as database:
        return database.execute(query).fetchall()


def _shown(folder: Path) -> list[tuple[str | int, ...]]:
    shown = "rater, tasks.position, run, item, sample, is_check"
    return _rows(folder, f"SELECT {shown} FROM tasks JOIN pictures ON token = picture ORDER BY 1, 2")


def test_the_same_seed_gives_the_same_study_but_other_tokens(runs: list[StoredRun], tmp_path: Path) -> None:
    how = {"raters": 3, "per_image": 2, "checks": 0.1}
    one = create_study(tmp_path / "one", runs, "likert", seed=1, **how)  # type: ignore[arg-type]
    same = create_study(tmp_path / "same", runs, "likert", seed=1, **how)  # type: ignore[arg-type]
    other = create_study(tmp_path / "other", runs, "likert", seed=2, **how)  # type: ignore[arg-type]
    assert _shown(one.folder) == _shown(same.folder) != _shown(other.folder)
    for table in ("SELECT id FROM tasks", "SELECT token FROM pictures"):
        assert not set(_rows(one.folder, table)) & set(_rows(same.folder, table))
    assert not set(one.links.values()) & set(same.links.values())


def test_everyone_has_an_order_of_their_own(runs: list[StoredRun], tmp_path: Path) -> None:
    create_study(tmp_path / "study", runs, "likert", raters=2, per_image=2)
    orders = [[row[2:] for row in _shown(tmp_path / "study") if row[0] == rater] for rater in (1, 2)]
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != orders[1]
    assert sorted(orders[0]) not in orders


def test_links_are_kept_as_digests_and_can_be_renewed(runs: list[StoredRun], tmp_path: Path) -> None:
    made = create_study(tmp_path / "study", runs, "likert", raters=2, per_image=1)
    with open_study(made.folder) as study:
        assert {study.rater_of(link): link for link in made.links.values()} == made.links
        new = study.new_link("rater-1")
        assert study.rater_of(new) == "rater-1"
        for wrong in (made.links["rater-1"], "", "rater-1", "\ud800"):
            with pytest.raises(FormalimgError, match="link is unknown"):
                study.rater_of(wrong)
    kept = b"".join(path.read_bytes() for path in made.folder.iterdir())
    assert not any(link.encode() in kept for link in (*made.links.values(), new))


def test_a_study_is_gone_on_with_only_if_it_is_the_one_that_is_wanted(runs: list[StoredRun], tmp_path: Path) -> None:
    made = create_study(tmp_path / "study", runs, "likert", raters=2, per_image=1, levels=[2], per_level=3, seed=7)
    manifest = read_study_manifest(made.folder)
    folders = tuple(run.folder for run in runs)
    same = StudyConfig(folders[::-1], "likert", 2, 1, (2,), 3, 0.0, 7)
    for wanted in (same, StudyConfig()):
        require_same_config(made.folder, manifest, wanted)
    changes: dict[str, object] = {
        "runs": folders[:1],
        "protocol": "questions",
        "raters": 3,
        "per_image": 2,
        "levels": (1, 2),
        "per_level": 4,
        "checks": 0.1,
        "seed": 8,
        "borderline": True,
        "labels": 20,
    }
    assert {*changes} == {field.name for field in fields(StudyConfig)}
    for name, value in changes.items():
        with pytest.raises(FormalimgError, match=rf"other settings \({name.replace('_', ' ')}: was "):
            require_same_config(made.folder, manifest, replace(same, **{name: value}))  # type: ignore[arg-type]


def test_levels_and_numbers_are_chosen(runs: list[StoredRun], tmp_path: Path) -> None:
    create_study(tmp_path / "study", runs, "likert", raters=1, per_image=1, levels=[2], per_level=5)
    study = read_study(tmp_path / "study")
    assert Counter((task.run, task.level) for task in study.tasks) == {("alpha", 2): 5, ("beta", 2): 5}
    assert (study.manifest.levels, study.manifest.per_level) == ((2,), 5)


def test_a_study_and_its_runs_can_be_moved_together(tmp_path: Path) -> None:
    with opened(rated_run(tmp_path / "old" / "run", ITEMS[:3])) as runs:
        create_study(tmp_path / "old" / "study", runs, "likert", raters=1, per_image=1)
    (tmp_path / "old" / "study").rename(tmp_path / "alone")
    with pytest.raises(FormalimgError, match=f"images of {tmp_path / 'run'}, which does not exist"):
        open_study(tmp_path / "alone")
    (tmp_path / "alone").rename(tmp_path / "old" / "study")
    (tmp_path / "old").rename(tmp_path / "new")
    with open_study(tmp_path / "new" / "study") as study:
        task = not_none(study.next_task("rater-1"))
        assert study.image("rater-1", task.image).startswith(b"\x89PNG")
        image = next((tmp_path / "new" / "run" / "images").glob("*.png"))
        for path in image.parent.glob("*.png"):
            path.write_bytes(b"another")
        with pytest.raises(FormalimgError, match="has changed since the study was created"):
            study.image("rater-1", task.image)


def test_checks_need_prompts_that_do_not_fit(tmp_path: Path) -> None:
    cats = [item for number, item in enumerate(concept_items(28)) if number % 7 == 0]
    with opened(rated_run(tmp_path / "cats", cats)) as alike:
        with pytest.raises(FormalimgError, match=r"1 attention check must have as many images .* there are 0"):
            create_study(tmp_path / "study", alike, "questions", raters=1, per_image=1, checks=0.01)
        assert not (tmp_path / "study").exists()
        made = create_study(tmp_path / "study", alike, "questions", raters=1, per_image=1, checks=None)
    assert made.checks == 0
    assert read_study_manifest(made.folder).checks == 0


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"raters": 2, "per_image": 3}, "need 3 raters, not 2"),
        ({"raters": 5, "per_level": 1, "levels": [1]}, "3 of 5 raters would have no images"),
        ({"per_level": 13}, "has 12 images of level 1, not 13"),
        ({"levels": [1, 9]}, "no images of level 9"),
        ({"checks": 0.9}, "take 0 to 0.5"),
        ({"protocol": "scores"}, "take runs of cf-world"),
        ({"protocol": "boxes"}, "no grounder has judged .* take runs of knolling or natural"),
        ({"protocol": "boxes", "checks": 0.1}, "has no attention checks"),
    ],
)
def test_what_cannot_be_asked_is_refused_and_leaves_nothing_behind(
    runs: list[StoredRun], tmp_path: Path, how: dict[str, object], message: str
) -> None:
    asked = {"protocol": "likert", "raters": 2, "per_image": 1, **how}
    with pytest.raises(FormalimgError, match=message) as refused:
        create_study(tmp_path / "study", runs, **asked)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_folders_that_are_there_and_runs_that_do_not_belong_together_are_refused(
    runs: list[StoredRun], tmp_path: Path
) -> None:
    with pytest.raises(FormalimgError, match="already exists"):
        create_study(tmp_path, runs, "likert", raters=1, per_image=1)
    with (
        opened(rated_run(tmp_path / "knolling", formula_items(2))) as others,
        pytest.raises(FormalimgError, match="one suite, not of conceptmix, knolling"),
    ):
        create_study(tmp_path / "study", [*runs, *others], "likert", raters=1, per_image=1)
    with pytest.raises(FormalimgError, match="two of the runs are called alpha"):
        create_study(tmp_path / "study", [runs[0], runs[0]], "likert", raters=1, per_image=1)
    with pytest.raises(FormalimgError, match="not of none"):
        create_study(tmp_path / "study", [], "likert", raters=1, per_image=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "no study"), ("schema = 9", "schema 9"), ("=", "damaged"), ("schema = 1", "protocol is missing")],
)
def test_folders_that_are_no_studies_are_refused(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "study.toml").write_text(text)
    with pytest.raises(FormalimgError, match=message):
        Study(tmp_path)


def test_only_items_without_a_common_object_are_foreign() -> None:
    cat, boat, cat_again = ITEMS[0], ITEMS[1], ITEMS[7]
    assert is_unrelated(cat, boat, "questions")
    assert not is_unrelated(cat, cat_again, "questions")
    cup, pen, *_ = formula_items(8)
    assert is_unrelated(cup, pen, "likert")
    assert not is_unrelated(cup, cup, "likert")
    assert not is_unrelated(cup, boat, "likert")
    ice, steam = (scored_item(f"{name}-l1", dimensions=["integrity"]) for name in ("ice", "steam"))
    assert not is_unrelated(ice, steam, "likert")  # of one field: they may show the same
    steam = replace(steam, tags=("chemistry",))
    assert is_unrelated(ice, steam, "likert")
    assert not is_unrelated(ice, steam, "scores")  # no question decides
    nothing = replace(cup, spec=FormulaSpec.of(parse("(not (exists ?x (Is ?x 'pen')))")))
    assert not is_unrelated(cup, nothing, "likert")  # every image without a pen will do


def test_what_a_judge_saw_must_be_a_scene(tmp_path: Path) -> None:
    folder = grounded_run(tmp_path / "run", formula_items(1), {"objects": None})
    with opened(folder) as runs, pytest.raises(FormalimgError, match=r"is invalid .* judge the run again"):
        create_study(tmp_path / "study", runs, "boxes", raters=1, per_image=1)


SCORES = [0.0, 0.1, 0.29, 0.3, 0.45, 0.5, 0.7, 0.71, 1.0, None]


@pytest.fixture
def scored(tmp_path: Path) -> Iterator[list[StoredRun]]:
    items = [scored_item(f"g{number}-l{level}", level) for number in range(len(SCORES)) for level in (1, 2)]
    given = {item.id: [SCORES[int(item.id[1])]] for item in items}
    with opened(scored_run(tmp_path / "scored", items, given)) as found:
        yield found


def test_borderline_images_are_those_with_scores_from_three_to_seven_tenths(
    scored: list[StoredRun], tmp_path: Path
) -> None:
    create_study(tmp_path / "study", scored, "likert", raters=1, per_image=1, levels=[1], borderline=True)
    study = read_study(tmp_path / "study")
    assert sorted(task.item for task in study.tasks) == ["g3-l1", "g4-l1", "g5-l1", "g6-l1"]
    assert study.manifest.borderline
    assert "borderline = true" in (tmp_path / "study" / "study.toml").read_text()


def test_other_images_only_fill_up_a_level(scored: list[StoredRun], tmp_path: Path) -> None:
    how = {"raters": 1, "per_image": 1, "borderline": True}
    for per_level, seed in ((3, 1), (4, 2), (6, 3)):
        folder = tmp_path / f"study-{per_level}"
        create_study(folder, scored, "likert", per_level=per_level, seed=seed, **how)  # type: ignore[arg-type]
        for level in (1, 2):
            taken = {int(task.item[1]) for task in read_study(folder).tasks if task.level == level}
            assert len(taken) == per_level
            assert len(taken & {3, 4, 5, 6}) == min(4, per_level)


def test_a_study_of_all_images_says_nothing_of_borderline_ones(scored: list[StoredRun], tmp_path: Path) -> None:
    made = create_study(tmp_path / "study", scored, "likert", raters=1, per_image=1)
    assert "borderline" not in (made.folder / "study.toml").read_text()
    with pytest.raises(FormalimgError, match="borderline: was False, now True"):
        require_same_config(made.folder, read_study_manifest(made.folder), StudyConfig(borderline=True))


def test_borderline_images_need_scores(runs: list[StoredRun], tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match=r"no judge has scored the images of .*alpha: judge the run first"):
        create_study(tmp_path / "study", runs, "likert", raters=1, per_image=1, borderline=True)
    sure = scored_run(tmp_path / "sure", [scored_item("g0-l1")], {"g0-l1": [1.0]})
    with opened(sure) as found, pytest.raises(FormalimgError, match=r"no image has a score from 0\.3 to 0\.7"):
        create_study(tmp_path / "study", found, "likert", raters=1, per_image=1, borderline=True)


@given(st.integers(0, 80), st.integers(1, 9), st.data())
def test_every_image_is_rated_as_often_as_asked_and_shares_are_fair(
    images: int, raters: int, data: st.DataObject
) -> None:
    per_image = data.draw(st.integers(1, raters))
    shares = assign_images(range(images), raters, per_image, random.Random(data.draw(st.integers())))
    assert len(shares) == raters
    assert Counter(image for share in shares for image in share) == dict.fromkeys(range(images), per_image)
    assert all(len(set(share)) == len(share) for share in shares)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    start = data.draw(st.integers(0, images))
    inside = [sum(image >= start for image in share) for share in shares]
    assert max(inside) - min(inside) <= 2


def test_all_pairs_of_raters_meet() -> None:
    shares = assign_images(range(200), 6, 2, random.Random(0))
    met = {pair: len(set(shares[pair[0]]) & set(shares[pair[1]])) for pair in combinations(range(6), 2)}
    assert min(met.values()) >= 5


@pytest.mark.parametrize(("raters", "per_image"), [(2, 3), (0, 1), (3, 0)])
def test_too_few_raters_are_refused(raters: int, per_image: int) -> None:
    with pytest.raises(FormalimgError, match="per image"):
        assign_images(range(4), raters, per_image, random.Random(0))


_CANDIDATES = st.sets(
    st.builds(
        lambda run, item, sample: Candidate(f"run{run}", f"i{item}", sample, 1 + item % 3),
        st.integers(0, 2),
        st.integers(0, 9),
        st.integers(0, 1),
    ),
    min_size=1,
)


@given(_CANDIDATES, st.integers(1, 3), st.integers())
def test_each_run_and_level_gives_the_same_number(candidates: set[Candidate], per_level: int, seed: int) -> None:
    strata = {(run, level) for run in {it.run for it in candidates} for level in {it.level for it in candidates}}
    there = Counter((it.run, it.level) for it in candidates)
    try:
        chosen = choose_images(sorted(candidates), per_level, random.Random(seed))
    except FormalimgError:
        assert any(there[stratum] < per_level for stratum in strata)
        return
    assert set(chosen) <= candidates
    assert Counter((it.run, it.level) for it in chosen) == dict.fromkeys(strata, per_level)
    assert (
        choose_images(sorted(candidates, reverse=True), per_level, random.Random(seed)) == chosen
    )  # order does not matter


@given(_CANDIDATES, st.integers())
def test_all_are_taken_without_a_number(candidates: set[Candidate], seed: int) -> None:
    chosen = choose_images(list(candidates), None, random.Random(seed))
    assert sorted(chosen) == sorted(candidates)
    places = [(it.level, it.run) for it in chosen]
    assert places == sorted(places)


def test_models_are_compared_on_the_same_items() -> None:
    there = [Candidate(run, str(item), sample, 1) for run in "ab" for item in range(30) for sample in range(2)]
    chosen = choose_images(there, 10, random.Random(3))
    of = {run: {it.item for it in chosen if it.run == run} for run in "ab"}
    assert of["a"] == of["b"]
    assert len(of["a"]) == 10  # one sample of each, since there are items enough


@given(st.integers(0, 500), st.floats(0, 0.5))
def test_checks_are_never_fewer_than_asked(most: int, share: float) -> None:
    each = checks_per_rater(most, share)
    if most:
        assert each / (most + each) >= share - 1e-6
        assert each == 0 or (each - 1) / (most + each - 1) < share


@pytest.mark.parametrize("share", [-0.1, 0.6, float("nan")])
def test_shares_that_make_no_sense_are_refused(share: float) -> None:
    with pytest.raises(FormalimgError, match=r"take 0 to 0\.5"):
        checks_per_rater(10, share)
