"""Jobs for worker processes: phrase a formula in English, solve it, verify a scene or image, score an image."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from formalimg._util.images import png_bytes
from formalimg._util.strict_json import count_values
from formalimg.drawing.icon_scene import DrawingError, draw, read_layout
from formalimg.errors import FormalimgError
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse
from formalimg.logic.soft_score.best_binding import BestBinding, ClauseResult, best_binding
from formalimg.logic.verification import Verification, verify
from formalimg.runs.defaults.settings import ICONS, JUDGE_VARIABLE, ConfiguredJudge, load_defaults
from formalimg.runs.inspection import LARGE_IMAGE_BYTES, count_decoded_bytes, inspect
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene
from formalimg.types import Unscored
from formalimg.web.playground.worker_pool import InputTooLargeError, Job

if TYPE_CHECKING:
    from formalimg.judges.base import LoadedImage

MAX_OBJECTS = 200  # of a scene to verify
_MAX_SCENE_VALUES = 200_000  # in the JSON of a scene, counted before it is parsed
_MAX_DESCRIPTION = 1000  # characters of an object's class and attributes, which each reason repeats
_MAX_PIXELS = 25_000_000  # of an uploaded image: the playground may be open to others, and shares its memory
_SIZE = 640  # width and height of drawings, in pixels
_GROUNDED = "knolling"  # the vocabulary whose images the embedded grounder can read

_NEEDS_CHAT_MODEL = (
    f"For other images and prompts, name a chat model that can see before `formalimg view`: set {JUDGE_VARIABLE}, or "
    "judge in formalimg.toml."
)


def realize_formula(arguments: Mapping[str, Any]) -> dict[str, object]:
    """Return the formula as an English instruction, or the reason why it cannot be phrased."""
    from formalimg.language.lexicon import WordingError
    from formalimg.language.realization import realize

    try:
        return {"words": realize(parse(arguments["formula"]), arguments["vocabulary"]), "wordless": ""}
    except WordingError as error:
        return {"words": "", "wordless": str(error)}
    except FormulaError as error:  # valid, but too large to be laid out
        return {"words": "", "wordless": error.problems[0].message}


def solve_formula(arguments: Mapping[str, Any]) -> dict[str, object]:
    """Return a witness with its drawing, a proof that the formula is unsatisfiable, or neither."""
    from formalimg.scenes.solver.results import SolverLimitError, Unsatisfiable  # pages need no solver
    from formalimg.scenes.solver.search import solve

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
        **_draw(result.scene),
    }


def verify_scene(arguments: Mapping[str, Any]) -> dict[str, object]:
    """Return the verdict on a scene, which may be grounded in an image."""
    formula = parse(arguments["formula"])
    if "image" in arguments:
        scene, source = _ground_image(arguments["image"], arguments["vocabulary"])
    else:
        scene, source = _parse_scene(arguments["scene"]), ""
    if len(scene) > MAX_OBJECTS:
        raise InputTooLargeError(f"the scene has {len(scene):,} objects: verify no more than {MAX_OBJECTS} here")
    verdict = verify(formula, scene, arguments["semantics"], arguments["style"])
    best = _best_binding(verdict)
    failures = [clause for clause in best.clauses if not clause.holds] if best else []
    failed_objects = {bound.obj for clause in failures for bound in clause.bindings}
    return {
        "passed": verdict.passed,
        "objects": len(scene),
        "by": source,
        "explanation": verdict.explain(),
        "warnings": scene.unknown_words(arguments["vocabulary"]),
        "scene": scene_text(scene),
        **(_draw(scene) if arguments["draws"] else {}),
        "clauses": None if best is None else [_clause_values(clause) for clause in best.clauses],
        "boxes": [
            {"looks": obj.describe(), "box": list(obj.box), "failed": number in failed_objects}
            for number, obj in enumerate(scene.objects)
        ],
    }


def score_image(arguments: Mapping[str, Any]) -> dict[str, object]:
    """Score an image against a prompt and return the score with its parts, without storing anything."""
    from formalimg.scoring.scoring import open_scoring

    read_image(arguments["image"])  # refused here in plain words
    judge = scoring_judge()
    is_limited = judge.name == ICONS
    try:
        image = (_decode(arguments["image"]), arguments["prompt"])
        scoring = open_scoring([image], judge.name, judge_options=judge.options)
        with TemporaryDirectory(prefix="formalimg-playground-") as folder:
            scores = scoring.execute(Path(folder) / "run", load_defaults().budget.value, lambda progress: None)
    except FormalimgError as error:
        if is_limited:
            raise FormalimgError(f"{error}. {_NEEDS_CHAT_MODEL}") from error
        raise
    (score,) = scores
    return {
        "passed": score.passed,
        "score": score.score,
        "reason": score.reason,
        "form": score.form,
        "judge": judge.name,
        "parts": [
            {"text": part.name, "kind": part.kind, "holds": part.score >= 1, "reason": part.reason}
            for part in score.parts
        ],
        "warnings": list(scores.warnings),
        "advice": _NEEDS_CHAT_MODEL if is_limited and score.passed is None else "",
    }


JOBS: Mapping[str, Job] = {
    "words": realize_formula,
    "solve": solve_formula,
    "verify": verify_scene,
    "score": score_image,
}


# --- images


def scoring_judge() -> ConfiguredJudge:
    """Return the judge configured for free prompts, or the built-in grounder, which reads drawings only."""
    return load_defaults().judge("free-prompts") or ConfiguredJudge(ICONS)


def read_image(text: str) -> LoadedImage:
    """Decode an image sent as base64."""
    image = inspect(_decode(text), _MAX_PIXELS)
    if isinstance(image, Unscored):
        error_type = InputTooLargeError if image.reason == "too large" else FormalimgError
        raise error_type(f"{image.reason}: {image.detail}")
    return image


def is_large_image(text: str) -> bool:
    """Return whether decoding an image sent as base64 takes much memory."""
    try:
        return count_decoded_bytes(_decode(text)) > LARGE_IMAGE_BYTES
    except FormalimgError:
        return False


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise FormalimgError("the image is not valid base64") from error


def _ground_image(text: str, vocabulary: str) -> tuple[Scene, str]:
    """Return the scene of an image, and where it comes from."""
    from formalimg.judges.grounders.icons import IconGrounder, ground_icons

    image = read_image(text)
    try:
        return read_layout(image.pil), "the layout stored in the file"
    except (SceneError, RecursionError):  # an ordinary image
        if vocabulary != _GROUNDED:
            raise FormalimgError(
                f"images of {vocabulary} need a vision model, which is not available here: drop a scene"
            ) from None
    grounding = ground_icons(image.pil)
    if isinstance(grounding, Unscored):
        raise FormalimgError(grounding.detail)
    return grounding.scene, f"{IconGrounder.name}, confidence {grounding.confidence:.2f}"


def _draw(scene: Scene) -> dict[str, object]:
    """Return a drawing of a scene as a PNG data URL, left blank if an object cannot be drawn."""
    from PIL import Image

    try:
        image, is_drawn = draw(scene, _SIZE), True
    except DrawingError:
        image, is_drawn = Image.new("RGB", (_SIZE, _SIZE), "white"), False
    url = f"data:image/png;base64,{base64.b64encode(png_bytes(image, compress_level=6)).decode('ascii')}"
    return {"image": url, "is_drawn": is_drawn}


# --- scenes and verdicts


def scene_text(scene: Scene) -> str:
    """Format a scene as readable JSON: one line per object."""
    data: dict[str, Any] = scene.to_json()
    lines = ",\n".join(f"  {json.dumps(obj, ensure_ascii=False)}" for obj in data["objects"])
    objects = f"[\n{lines}\n]" if lines else "[]"
    relations = data.get("relations")
    suffix = "" if relations is None else f', "relations": {json.dumps(relations, ensure_ascii=False)}'
    return f'{{"objects": {objects}{suffix}}}'


def _parse_scene(text: str) -> Scene:
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


def _best_binding(verdict: Verification) -> BestBinding | None:
    try:
        return best_binding(verdict.formula, verdict.scene, verdict.semantics, verdict.style)
    except FormulaError as error:
        if any(problem.kind != "size" for problem in error.problems):
            raise
        return None  # too many clauses, or too tightly connected


def _clause_values(clause: ClauseResult) -> dict[str, object]:
    objects = ", ".join(f"?{bound.variable} = {bound.description}" for bound in clause.bindings)
    return {
        "kind": clause.kind,
        "text": clause.clause.text,
        "holds": clause.holds,
        "reason": ": ".join(filter(None, [objects, clause.reason])),
    }
