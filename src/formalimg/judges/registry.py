"""Registry: open judges and grounders by name, such as `builtin/icons`; suite and protocol decide how each is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounder, Judge
from formalimg.judges.scene_judge import LayoutJudge, SceneJudge
from formalimg.suites import JudgeKind, suite_names
from formalimg.suites import suite as suite_of

if TYPE_CHECKING:
    from formalimg.judges.published.judges import Followed
    from formalimg.judges.published.word_judge import PublishedWordJudge
    from formalimg.models import ChatModel, Options

Protocol: TypeAlias = Literal["default", "published", "paper", "official-code"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
"""How models are asked and answers are scored: our way, or as published. `published` is what the published code does;
`paper` and `official-code` say it where the two differ."""

ICONS = "builtin/icons"
DRAWN = "builtin/drawn"
"""Goes by the scene that drawings of the built-in models carry."""
DETECTORS = "detector/"
"""Names that begin with this are detectors: `detector/coco` for photographs, else open-vocabulary ones."""
COCO = f"{DETECTORS}coco"

# Options that say how a chat model is used; all others belong to the model.
_GROUNDER_OPTIONS = ("requests", "boxes", "prompts")
_CLAUSE_OPTIONS = ("decide", "answers", "prompts")
_QUESTION_OPTIONS = ("requests", "prompts")
_SCORE_OPTIONS = ("persona", "answers", "prompts")
_PROMPT_OPTIONS = ("requests", "zeroing", "prompts")
_OBJECT_OPTIONS = ("profile", "colors", "clip", "confidence", "counting_confidence")
_COMPOSITION_OPTIONS = ("profile", "colors", "clip", "confidence", "grounder")
_PUBLISHED_OPTIONS = ("prompts",)
_WORD_OPTIONS = ("prompts", "grounder")
_PUBLISHED_SCORE_OPTIONS = ("persona", "prompts")
_WORD_TOKENS = 16
_RULES_FOR_BOXES: tuple[JudgeKind, ...] = ("objects", "compositions")
_JUDGE_OPTIONS = (
    *_GROUNDER_OPTIONS,
    *_CLAUSE_OPTIONS,
    *_QUESTION_OPTIONS,
    *_SCORE_OPTIONS,
    *_PROMPT_OPTIONS,
    *_WORD_OPTIONS,
)

_Factory: TypeAlias = Callable[[str, str | None, Mapping[str, str] | None], Judge]
"""Creates a judge for a suite, from its name, if there is one, and its options."""


def open_judge(
    suite: str,
    name: str | None = None,
    options: Mapping[str, str] | None = None,
    task: Literal["image", "layout"] | str = "image",
    protocol: Protocol | str = "default",
) -> Judge:
    """Return the judge of this name for a suite; without a name, the one that works offline.

    A chat model is used as the suite needs it: Knolling asks it for boxes and leaves the verdict to logic, Natural asks
    it for a verdict on each clause, ConceptMix asks it one question for each concept, and CF-World asks it for a score
    on each of an item's weighted questions.

    Args:
        suite: the benchmark.
        name: `builtin/icons`, `builtin/drawn`, `detector/…`, or a chat model such as `openai/gpt-4o`.
        options: `requests` and `boxes` (Knolling), `decide` and `answers` (Natural), `requests` (ConceptMix), `persona`
            and `answers` (CF-World and its probes), `prompts` (a folder), and those of the model that is named.
        task: what is to be judged. Layouts are judged by logic alone.
        protocol: `default`, or as published: `published`, `paper`, `official-code`.

    Raises:
        FormalimgError: if there is no such judge, it cannot judge the suite, or an option is wrong.
    """
    check_protocol(protocol)
    if task == "layout":
        if name not in (None, LayoutJudge.name) or options:
            raise FormalimgError(f"layouts are judged by logic alone, not by {name or 'options'}: leave the judge out")
        if protocol == "default":
            return LayoutJudge()
        from formalimg.judges.published.verification import PublishedLayoutJudge

        return PublishedLayoutJudge()
    kind = suite_of(suite).judge
    if protocol != "default" and kind == "prompts":
        raise FormalimgError(f"{suite} has no published protocol: leave the protocol out")
    if protocol != "default" and kind in ("objects", "compositions"):
        profiles = "official, strict or logic" if kind == "objects" else "official, official-code or logic"
        raise FormalimgError(f"{suite} has profiles in place of protocols: give -J profile={profiles}")
    if protocol != "default":
        return _published_judge(suite, kind, name, options, protocol)
    if name == DRAWN:
        return _drawn_judge(suite, kind, options)
    return _FACTORIES[kind](suite, name, options)


def check_protocol(protocol: str) -> None:
    """Refuse a protocol that does not exist.

    Raises:
        FormalimgError: if it is unknown.
    """
    if protocol not in PROTOCOLS:
        raise FormalimgError(f"unknown protocol {protocol!r}: known are {', '.join(PROTOCOLS)}")


def open_grounder(name: str, options: Mapping[str, str] | None = None) -> Grounder:
    """Return the grounder of this name: `builtin/icons`, `detector/coco`, `detector/…`, or a chat model.

    Raises:
        FormalimgError: if there is none, or an option is wrong.
    """
    # Each is imported here, so that others start faster.
    if name == ICONS:
        if options:
            raise FormalimgError(f"{ICONS} has no options, but {', '.join(options)} was given")
        from formalimg.judges.grounders.icons import IconGrounder

        return IconGrounder()
    if name.startswith("builtin/"):
        found = f"{DRAWN} is a judge, and finds no objects" if name == DRAWN else f"there is no grounder {name}"
        raise FormalimgError(f"{found}: known is {ICONS}, for images that formalimg drew itself")
    if name == COCO:
        from formalimg.judges.grounders.coco import open_coco

        return open_coco(options or {})
    if name.startswith(DETECTORS):
        from formalimg.judges.grounders.detector import open_detector

        return open_detector(name.removeprefix(DETECTORS), options or {})
    from formalimg.judges.grounders.vlm import REQUESTS, VlmGrounder

    chat, own = _open_chat(name, options, _GROUNDER_OPTIONS, "a grounder", {"requests": REQUESTS})
    return VlmGrounder(chat, **own)


def _drawn_judge(suite: str, kind: JudgeKind, options: Mapping[str, str] | None) -> Judge:
    if options:
        raise FormalimgError(f"{DRAWN} has no options, but {', '.join(options)} was given")
    known = [name for name in suite_names() if suite_of(name).world and suite_of(name).judge not in _RULES_FOR_BOXES]
    if kind != "prompts" and suite not in known:
        worlds = ", ".join(known)
        raise FormalimgError(f"{DRAWN} knows what drawings show, and {suite} has none ({worlds} do): name a chat model")
    from formalimg.judges.drawn_judge import DrawnJudge
    from formalimg.judges.prompt_judge import PromptJudge

    return PromptJudge(DrawnJudge()) if kind == "prompts" else DrawnJudge()


def _scene_judge(suite: str, name: str | None, options: Mapping[str, str] | None) -> Judge:
    return SceneJudge(open_grounder(name or ICONS, options))


def _clause_judge(suite: str, name: str | None, options: Mapping[str, str] | None) -> Judge:
    name = _require_chat(suite, name, f"and {suite} asks for more")
    from formalimg.judges.clause_judge import ANSWERS, ClauseJudge

    chat, own = _open_chat(name, options, _CLAUSE_OPTIONS, suite, {"answers": ANSWERS})
    return ClauseJudge(chat, **own)


def _question_judge(suite: str, name: str | None, options: Mapping[str, str] | None) -> Judge:
    advice = (
        "; or make the images only, with `formalimg generate`, and let people answer: "
        "`formalimg agree` reads their votes from a CSV file"
    )
    name = _require_chat(suite, name, "and cannot answer questions", advice)
    from formalimg.judges.question_judge import REQUESTS, QuestionJudge

    chat, own = _open_chat(name, options, _QUESTION_OPTIONS, suite, {"requests": REQUESTS})
    return QuestionJudge(chat, **own)


def _score_judge(suite: str, name: str | None, options: Mapping[str, str] | None) -> Judge:
    name = _require_chat(suite, name, "and cannot give scores")
    from formalimg.judges.score_judge import ANSWERS, ScoreJudge

    chat, own = _open_chat(name, options, _SCORE_OPTIONS, suite, {"answers": ANSWERS})
    return ScoreJudge(chat, **own)


def open_prompt_judge(judge: Grounder | ChatModel, **options: Any) -> Judge:
    """Return the judge of free prompts that goes by a grounder, or asks a chat model.

    Args:
        judge: the grounder or the chat model.
        options: `requests`, `zeroing` and `prompts`, as for `QuestionGraphJudge`; for chat models.
    """
    from formalimg.judges.prompt_judge import PromptJudge

    if isinstance(judge, Grounder):
        return PromptJudge(SceneJudge(judge))
    from formalimg.judges.clause_judge import ClauseJudge
    from formalimg.judges.question_graph_judge import QuestionGraphJudge

    own = {key: options[key] for key in ("prompts",) if key in options}
    # An image passes if all its parts do, whichever way the prompt is judged.
    return PromptJudge(ClauseJudge(judge, decide="clauses", **own), QuestionGraphJudge(judge, **options))


def _prompt_judge(suite: str, name: str | None, options: Mapping[str, str] | None) -> Judge:
    if name is None:
        raise FormalimgError(
            "nothing here can look at these images: name a chat model that can see, as in "
            "--judge gemini/gemini-3-pro-preview, or set FORMALIMG_JUDGE"
        )
    if name == ICONS or name.startswith((DETECTORS, "builtin/")):
        return open_prompt_judge(open_grounder(name, options))
    from formalimg.judges.question_judge import REQUESTS
    from formalimg.suites import Zeroing

    choices = {"requests": REQUESTS, "zeroing": get_args(Zeroing)}
    chat, own = _open_chat(name, options, _PROMPT_OPTIONS, suite, choices)
    return open_prompt_judge(chat, **own)


def _word_judge(suite: str, name: str | None, options: Mapping[str, str] | None) -> Judge:
    name = _require_chat(suite, name, "and cannot answer questions")
    from formalimg.judges.published.word_judge import PublishedWordJudge

    return _open_word_judge(PublishedWordJudge, suite, name, options)


def _open_word_judge(
    judge: type[PublishedWordJudge], suite: str, name: str, options: Mapping[str, str] | None
) -> PublishedWordJudge:
    from formalimg.models import logprobs_options, sampling_options

    # The first token decides; a few more make the answer readable where there are no log-probabilities.
    asked = {**sampling_options(name, temperature=0, max_tokens=_WORD_TOKENS), **logprobs_options(name)}
    chat, own = _open_chat(name, {**asked, **(options or {})}, _WORD_OPTIONS, suite, {})
    finder = own.pop("grounder", None)
    if finder is not None:
        own |= {"grounder": open_grounder(finder), "pixels": finder.startswith(DETECTORS)}
    return judge(chat, **own)


def _object_judge(suite: str, name: str | None, options: Mapping[str, str] | None) -> Judge:
    from formalimg.judges.object_judge import RULE_PROFILES, ObjectJudge
    from formalimg.models import Options

    name = name or ICONS
    given = dict(options or {})
    reader = Options(suite, {key: given.pop(key) for key in _OBJECT_OPTIONS if key in given})
    own: dict[str, Any] = {
        "profile": reader.choice("profile", RULE_PROFILES, "official"),
        **_color_reading(reader, name),
        "threshold": reader.number("confidence", 0.3, minimum=0, maximum=1),
        "counting_threshold": reader.number("counting_confidence", 0.9, minimum=0, maximum=1),
    }
    return ObjectJudge(_rule_grounder(suite, name, given, own["threshold"]), **own)


def _composition_judge(suite: str, name: str | None, options: Mapping[str, str] | None) -> Judge:
    from formalimg.judges.composition_judge import COMPOSITION_PROFILES, CompositionJudge
    from formalimg.judges.published.word_judge import PublishedPhraseJudge
    from formalimg.models import Options

    name = name or ICONS
    given = dict(options or {})
    reader = Options(suite, {key: given.pop(key) for key in _COMPOSITION_OPTIONS if key in given})
    finder = reader.text("grounder", name)
    own: dict[str, Any] = {
        "profile": reader.choice("profile", COMPOSITION_PROFILES, "official"),
        **_color_reading(reader, finder),
        "threshold": reader.number("confidence", 0.5, minimum=0, maximum=1),
    }
    if name.startswith(("builtin/", DETECTORS)) and finder != name:
        raise FormalimgError(f"{name} finds objects itself: name a chat model as the judge, and it as -J grounder")
    phrases = None
    if not name.startswith(("builtin/", DETECTORS)):
        asked = {key: value for key, value in given.items() if key not in _GROUNDER_OPTIONS or key == "prompts"}
        phrases = _open_word_judge(PublishedPhraseJudge, suite, name, asked)
    grounder = _rule_grounder(suite, finder, given if finder == name else {}, own["threshold"])
    return CompositionJudge(phrases, grounder, **own)


def _color_reading(reader: Options, name: str) -> dict[str, Any]:
    """Read who says which colour an object has: of a detector the pixels, unless an option says otherwise."""
    from formalimg.judges.object_judge import COLOR_READINGS
    from formalimg.suites import OBJECT_COLORS

    colors = reader.choice("colors", COLOR_READINGS, "pixels" if name.startswith(DETECTORS) else "grounder")
    if colors == "clip":
        from formalimg.judges.grounders.clip_colors import DEFAULT_CLIP, open_clip_colors

        return {"colors": colors, "clip": open_clip_colors(reader.text("clip", DEFAULT_CLIP), OBJECT_COLORS)}
    if reader.text("clip", None) is not None:
        raise FormalimgError("clip names the model of colors=clip: give -J colors=clip, too")
    return {"colors": colors}


def _rule_grounder(suite: str, name: str, options: Mapping[str, str], threshold: float) -> Grounder:
    """Return the grounder whose boxes a rule judges: all from its threshold on."""
    if name.startswith(DETECTORS):
        # Boxes that the rule counts must not be dropped by the detector's own threshold, which is higher.
        return open_grounder(name, {"threshold": f"{max(threshold, 0.01):g}", **options})
    if name.startswith("builtin/"):
        return open_grounder(name, options)
    from formalimg.judges.grounders.vlm import REQUESTS, VlmGrounder
    from formalimg.suites import OBJECT_COLORS

    chat, asking = _open_chat(name, options, _GROUNDER_OPTIONS, suite, {"requests": REQUESTS})
    return VlmGrounder(chat, colors=OBJECT_COLORS, **asking)


_FACTORIES: Mapping[JudgeKind, _Factory] = {
    "scene": _scene_judge,
    "clauses": _clause_judge,
    "questions": _question_judge,
    "scores": _score_judge,
    "prompts": _prompt_judge,
    "words": _word_judge,
    "objects": _object_judge,
    "compositions": _composition_judge,
}
"""How suites are judged, by `Suite.judge`."""


def _published_judge(
    suite: str, kind: JudgeKind, name: str | None, options: Mapping[str, str] | None, protocol: str
) -> Judge:
    """Return the judge of a suite that asks and scores as published, with the published temperature and length."""
    if kind == "words":  # which are asked as published anyway
        return _word_judge(suite, name, options)
    name = _require_chat(suite, name, f"and the protocol {protocol} asks a chat model")
    from formalimg.judges.published import judges, score_judge
    from formalimg.judges.score_judge import select_persona
    from formalimg.models import sampling_options

    own_keys = _PUBLISHED_SCORE_OPTIONS if kind == "scores" else _PUBLISHED_OPTIONS
    if kind == "scene":
        sampling = sampling_options(name, temperature=0.1, max_tokens=2048)
    elif kind == "clauses":
        sampling = sampling_options(name, temperature=0.1)
    elif kind == "questions":
        sampling = sampling_options(name, temperature=0, max_tokens=1)
    elif select_persona(name, (options or {}).get("persona", "auto")) == "strict":
        sampling = sampling_options(name, temperature=0.1, max_tokens=2048, top_p=0.9)
    else:
        sampling = sampling_options(name, temperature=0, max_tokens=5500)
    user = f"{suite} with the protocol {protocol}"
    chat, own = _open_chat(name, {**sampling, **(options or {})}, own_keys, user, {})
    followed: Followed = "paper" if protocol == "paper" else "official-code"
    match kind:
        case "scene":  # here paper and code do not differ
            return judges.PublishedSceneJudge(chat, "published", **own)
        case "clauses":
            return judges.PublishedClauseJudge(chat, followed, **own)
        case "questions":
            return judges.PublishedQuestionJudge(chat, followed, **own)
        case "scores":
            return score_judge.PublishedScoreJudge(chat, followed, **own)
        case "prompts" | "objects" | "words" | "compositions":
            raise AssertionError("refused before")


def _require_chat(
    suite: str, name: str | None, why_not: str, advice: str = ", or make the images only, with `formalimg generate`"
) -> str:
    """Return the name of the chat model; refuse a missing name, and grounders that find boxes and colours only."""
    if name is None:
        raise FormalimgError(
            f"there is no judge for {suite} that works offline: name a chat model that can see, as in "
            f"--judge gemini/gemini-3-pro-preview{advice}"
        )
    if name == DRAWN:
        raise FormalimgError(f"{DRAWN} asks nobody, {why_not}: name a chat model")
    if name == ICONS or name.startswith(DETECTORS):
        raise FormalimgError(f"{name} sees boxes and colours only, {why_not}: name a chat model")
    return name


def _open_chat(
    name: str,
    options: Mapping[str, str] | None,
    own_keys: tuple[str, ...],
    user: str,
    choices: Mapping[str, tuple[str, ...]],
) -> tuple[ChatModel, dict[str, Any]]:
    """Return the chat model with its own options, and the options that say how it is used.

    Values of several words have hyphens on a command line, so that they need no quotes: per-class for per class.
    """
    from formalimg.models import open_chat_model

    model_options = dict(options or {})
    for key in _JUDGE_OPTIONS:
        if key in model_options and key not in own_keys:
            known = ", ".join(own_keys)
            raise FormalimgError(f"{user} has no option {key!r}: it knows {known}, and those of the model")
    own: dict[str, Any] = {key: model_options.pop(key) for key in own_keys if key in model_options}
    for key, values in choices.items():
        if key in own:
            by_slug = {value.replace(" ", "-"): value for value in values}
            slug = own[key].replace(" ", "-")
            if slug not in by_slug:
                raise FormalimgError(f"unknown {key} {own[key]!r}: known are {', '.join(by_slug)}")
            own[key] = by_slug[slug]
    if "prompts" in own:
        own["prompts"] = Path(own["prompts"])
    return open_chat_model(name, model_options), own
