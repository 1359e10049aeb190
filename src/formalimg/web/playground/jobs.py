"""Jobs for worker processes: phrase a formula in English, solve it, verify a scene or image, score an image."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from formalimg._util.images import png_bytes
from formalimg._util.json_size import count_values
from formalimg.drawing.icon_scene import DrawingError, draw, read_layout
from formalimg.errors import FormalimgError
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse
from formalimg.logic.soft_score.best_binding import BestBinding, ClauseResult, best_binding
from formalimg.logic.verification import Verification, verify
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene
from formalimg.scenes.solver.results import SolverLimitError, Unsatisfiable
from formalimg.scenes.solver.search import solve
from formalimg.web.playground.image_jobs import read_image, score_image
from formalimg.web.playground.worker_pool import InputTooLargeError

MAX_OBJECTS = 200  # Scenes with more objects are not verified here
_MAX_SCENE_VALUES = 200_000  # Maximum number of values in the JSON of a scene, before it is parsed
_MAX_DESCRIPTION = 1000  # Maximum number of characters of an object's class and attributes, which each reason repeats
_SIZE = 640  # Width and height of drawings, in pixels
_GROUNDED = "knolling"  # The vocabulary whose images the embedded grounder can read


class _GroundedScene(NamedTuple):
    """A scene and its origin."""

    scene: Scene
    by: str


def realize_formula(arguments: Mapping[str, Any]) -> dict[str, object]:
    """Return the formula as an English instruction, or the reason why it cannot be phrased."""
    from formalimg.language.lexicon import WordingError
    from formalimg.language.realization import realize

    try:
        return {"words": realize(parse(arguments["formula"]), arguments["vocabulary"]), "wordless": ""}
    except WordingError as error:
        return {"words": "", "wordless": str(error)}
    except FormulaError as error:  # a sound formula, but too large to be laid out
        return {"words": "", "wordless": error.problems[0].message}


def solve_formula(arguments: Mapping[str, Any]) -> dict[str, object]:
    """Return a witness with its drawing, a proof that the formula is unsatisfiable, or neither."""
    try:
        result = solve(arguments["formula"], seed=arguments["seed"])
    except SolverLimitError as error:
        return {"outcome": "unknown", "words": str(error)}
    if isinstance(result, Unsatisfiable):
        return {"outcome": "unsatisfiable", "words": str(result)}
    return {
        "outcome": "witness",
        "words": f"a witness, margin {result.margin}",
        "style": result.style or "",
        "scene": scene_text(result.scene),
        **_image_of(result.scene),
    }


def verify_scene(arguments: Mapping[str, Any]) -> dict[str, object]:
    """Return the verdict on a scene, which may be grounded in an image."""
    formula = parse(arguments["formula"])
    seen = _in_image(arguments) if "image" in arguments else _GroundedScene(_read(arguments["scene"]), "")
    if len(seen.scene) > MAX_OBJECTS:
        raise InputTooLargeError(f"the scene has {len(seen.scene):,} objects: verify no more than {MAX_OBJECTS} here")
    verdict = verify(formula, seen.scene, arguments["semantics"], arguments["style"])
    return {
        "passed": verdict.passed,
        "objects": len(seen.scene),
        "by": seen.by,
        "explanation": verdict.explain(),
        "warnings": seen.scene.unknown_words(arguments["vocabulary"]),
        "scene": scene_text(seen.scene),
        **(_image_of(seen.scene) if arguments["draws"] else {}),
        **_clauses(verdict),
    }


JOBS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, object]]] = {
    "words": realize_formula,
    "solve": solve_formula,
    "verify": verify_scene,
    "score": score_image,
}
"""All jobs, by name."""


def scene_text(scene: Scene) -> str:
    """Format a scene as readable JSON: one line per object."""
    written = scene.to_json()
    objects, relations = written["objects"], written.get("relations")
    lines = ",\n".join(f"  {json.dumps(one, ensure_ascii=False)}" for one in objects)  # type: ignore[attr-defined]
    seen = "" if relations is None else f', "relations": {json.dumps(relations, ensure_ascii=False)}'
    return f'{{"objects": [\n{lines}\n]{seen}}}' if lines else f'{{"objects": []{seen}}}'


def _read(text: str) -> Scene:
    if count_values(text.encode("utf-8", "surrogatepass"), _MAX_SCENE_VALUES) > _MAX_SCENE_VALUES:
        raise InputTooLargeError(f"the scene has more than {_MAX_SCENE_VALUES:,} values: verify a smaller one here")
    try:
        scene = Scene.from_json(json.loads(text))
        if max((len(obj.describe()) for obj in scene.objects), default=0) > _MAX_DESCRIPTION:
            raise InputTooLargeError(
                f"an object has more than {_MAX_DESCRIPTION} characters of words: choose shorter ones"
            )
        return scene
    except SceneError as error:
        raise FormalimgError(f"the scene cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise FormalimgError(f"the scene is not valid JSON: {error}") from error


def _in_image(arguments: Mapping[str, Any]) -> _GroundedScene:
    from formalimg.judges.grounders.icons import IconGrounder, ground_icons
    from formalimg.types import Unscored

    image = read_image(arguments["image"])
    try:
        return _GroundedScene(read_layout(image.pil), "the layout stored in the file")
    except (SceneError, RecursionError):  # an ordinary image
        if arguments["vocabulary"] != _GROUNDED:
            raise FormalimgError(
                f"images of {arguments['vocabulary']} need a vision model, which is not available here: drop a scene"
            ) from None
    grounding = ground_icons(image.pil)
    if isinstance(grounding, Unscored):
        raise FormalimgError(grounding.detail)
    return _GroundedScene(grounding.scene, f"{IconGrounder.name}, confidence {grounding.confidence:.2f}")


def _clauses(verdict: Verification) -> dict[str, object]:
    """Return the clauses under the best binding, and the boxes with failing objects marked."""
    best = _best(verdict)
    failed = [one for one in best.clauses if not one.holds] if best else []
    failed_objects = {bound.obj for clause in failed for bound in clause.bindings}
    scene = verdict.scene
    assert isinstance(scene, Scene)
    return {
        "clauses": None if best is None else [_clause(one) for one in best.clauses],
        "boxes": [
            {"looks": obj.describe(), "box": list(obj.box), "failed": number in failed_objects}
            for number, obj in enumerate(scene.objects)
        ],
    }


def _best(verdict: Verification) -> BestBinding | None:
    try:
        return best_binding(verdict.formula, verdict.scene, verdict.semantics, verdict.style)
    except FormulaError as error:
        if any(problem.kind != "size" for problem in error.problems):
            raise
        return None  # too many clauses, or too tightly connected


def _clause(judged: ClauseResult) -> dict[str, object]:
    objects = ", ".join(f"?{bound.variable} = {bound.description}" for bound in judged.bindings)
    return {
        "kind": judged.kind,
        "text": judged.clause.text,
        "holds": judged.holds,
        "reason": ": ".join(filter(None, [objects, judged.reason])),
    }


def _image_of(scene: Scene) -> dict[str, object]:
    """Return a drawing of a scene as a PNG data URL, left blank if an object cannot be drawn."""
    from PIL import Image

    try:
        image, is_drawn = draw(scene, _SIZE), True
    except DrawingError:
        image, is_drawn = Image.new("RGB", (_SIZE, _SIZE), "white"), False
    url = f"data:image/png;base64,{base64.b64encode(png_bytes(image, compress_level=6)).decode('ascii')}"
    return {"image": url, "is_drawn": is_drawn}
