"""Quick runs to be rated, of each kind of suite, and ways through a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from formalimg.benchmarks.conceptmix.spec import ConceptSpec, RequestedConcept
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.human_eval.protocol import AnswerValue, RatingProtocol, RatingStep
from formalimg.human_eval.study import RatingTask, Study, open_study
from formalimg.human_eval.study_builder import create_study
from formalimg.judges.base import LoadedImage
from formalimg.models.base import Generated, ImageRequest, ImageResult, Refused
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.reader import StoredRun, open_run
from formalimg.types import Item, Unscored, Verdict
from tests.support.models import NumberJudge, Speckles, small_items, speckled
from tests.support.values import not_none

OBJECTS = ("cat", "boat", "lamp", "tree", "chair", "piano", "clock")


def concept_items(count: int, levels: int = 2) -> list[Item[ConceptSpec]]:
    found = []
    for number in range(count):
        obj, level = OBJECTS[number % len(OBJECTS)], 1 + number * levels // count
        asked = [RequestedConcept("object", obj, f"a {obj}", f"Is there a {obj}?", (1,))]
        asked += [
            RequestedConcept("color", colour, f"it is {colour}", f"Is the {obj} {colour}?", (1,))
            for colour in ("red", "blue", "green")[:level]
        ]
        item = Item("conceptmix", f"{number:03}", level, f"A {obj}, number {number}.", ConceptSpec(tuple(asked)))
        found.append(item)
    return found


def image_in(run: str, item: str, sample: int = 0) -> bytes:
    return speckled(f"{run} {item} {sample}", 16)


def rated_run(
    folder: Path, items: Sequence[Item[object]], *, refused: frozenset[str] = frozenset(), samples: int = 1
) -> Path:
    def answer(request: ImageRequest) -> ImageResult:
        if request.item in refused:
            return Refused("no")
        return Generated(image_in(folder.name, request.item, request.sample))

    model = Speckles(name=f"secret/{folder.name}", answer=answer)
    execute(RunConfig(items, model, samples=samples, size=16), folder)
    return folder


SEEN = {"objects": [{"label": "cup", "color": "red", "box_2d": [100, 100, 300, 400]}]}


def grounded_run(
    folder: Path,
    items: Sequence[Item[FormulaSpec]],
    seen: Mapping[str, object] = SEEN,
    unread: frozenset[str] = frozenset(),
) -> Path:
    def verdict(item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        return Unscored("not understood", "?") if item.id in unread else Verdict(True, (), {"scene": seen})

    execute(RunConfig(items, Speckles(), size=16), folder, NumberJudge(verdict=verdict))
    return folder


@contextmanager
def opened(*folders: Path) -> Iterator[list[StoredRun]]:
    with ExitStack() as stack:
        yield [stack.enter_context(closing(open_run(folder))) for folder in folders]


@contextmanager
def small_study(home: Path, protocol: RatingProtocol, items: Sequence[Item[object]], **how: object) -> Iterator[Study]:
    run = home / "run"
    if not run.exists():
        rated_run(run, items)
    with opened(run) as runs:
        create_study(home / "study", runs, protocol, **{"raters": 1, "per_image": 1, **how})  # type: ignore[arg-type]
    with open_study(home / "study") as study:
        yield study


def take(study: Study, rater: str, say: Callable[[RatingTask, RatingStep], AnswerValue], most: int = 1 << 30) -> int:
    done = 0
    while done < most and (task := study.next_task(rater)) is not None:
        while not task.is_complete:
            step = next(step for step in task.steps if step.name not in task.answers)
            study.answer(rater, task.id, step.name, say(task, step), 1.5)
            again = not_none(study.next_task(rater))
            assert again.id == task.id
            task = again
        study.finish(rater, task.id)
        done += 1
    return done


def formula_items(count: int) -> list[Item[FormulaSpec]]:
    return small_items(count)
