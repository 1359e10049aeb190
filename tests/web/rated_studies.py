"""Studies to be answered in the browser, one for each protocol, with texts that try to do harm."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from formalimg.human_eval.protocol import RatingProtocol
from formalimg.human_eval.study_builder import NewStudy, create_study
from formalimg.models.base import Generated, ImageRequest, ImageResult
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.types import Item
from tests.human_eval.counterfactual_runs import scored_item
from tests.human_eval.rated_runs import SEEN, concept_items, formula_items, grounded_run, opened
from tests.support.models import Speckles, speckled
from tests.web.sites import HARM

MODEL = "secret-model"


def explained_image(request: ImageRequest, shape: tuple[int, int] = (64, 64)) -> ImageResult:
    """An image in whose file its model is named, in a kind of file that not all models give."""
    image = Image.open(io.BytesIO(speckled(request.item, 64))).resize(shape)
    file = io.BytesIO()
    if int(request.item[:3], 36) % 2:
        image.save(file, "JPEG", comment=MODEL.encode())
    else:
        texts = PngInfo()
        texts.add_text("parameters", MODEL)
        image.save(file, "PNG", pnginfo=texts)
    return Generated(file.getvalue())


def items_for(protocol: RatingProtocol, count: int) -> Sequence[Item[object]]:
    if protocol == "boxes":
        return formula_items(count)
    if protocol == "scores":
        return [scored_item(f"{number:03}-l1", dimensions=("integrity", "assessment")) for number in range(count)]
    return [replace(item, prompt=f"{item.prompt} {HARM}") for item in concept_items(count, levels=1)]


def studied(
    home: Path,
    protocol: RatingProtocol,
    *,
    count: int = 3,
    raters: int = 1,
    per_image: int | None = None,
    shape: tuple[int, int] = (64, 64),
    seen: Mapping[str, object] = SEEN,
) -> NewStudy:
    """A study over a run whose folder and model are called secret-model; boxes are of what was seen."""
    items = items_for(protocol, count)
    run = home / MODEL
    if protocol == "boxes":
        grounded_run(run, items, seen)  # type: ignore[arg-type]
    else:
        paint = partial(explained_image, shape=shape)
        execute(RunConfig(items, Speckles(name=f"test/{MODEL}", answer=paint), size=64), run)
    with opened(run) as runs:
        return create_study(home / f"{MODEL}-{protocol}", runs, protocol, raters=raters, per_image=per_image or raters)
