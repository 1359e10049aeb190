"""Factories for judges, grounders and text readers by name, such as `builtin/icons`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from formalimg.benchmarks.registry import suite as get_suite
from formalimg.benchmarks.registry import suite_names
from formalimg.errors import FormalimgError
from formalimg.judges.base import TextReader
from formalimg.judges.scene_judge import LayoutJudge, PublishedLayoutJudge, SceneJudge
from formalimg.types import Grounder, Judge

if TYPE_CHECKING:
    from formalimg.judges.chat_judge import Followed
    from formalimg.judges.text_judge import Comparison, TextJudge
    from formalimg.models.registry import Provider
    from formalimg.types import ChatModel

Protocol: TypeAlias = Literal["default", "published", "paper", "official-code"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
"""How models are asked and answers are scored: our way, or as published. `published` is what the published code does;
`paper` and `official-code` say it where the two differ."""

ICONS = "builtin/icons"
DRAWN = "builtin/drawn"  # Goes by the scene that drawings of the built-in models carry
DETECTORS = "detector/"
"""Names that begin with this are detectors: `detector/coco` for photographs, else open-vocabulary ones."""
COCO = f"{DETECTORS}coco"
OCR = "ocr/"  # Names that begin with this are text readers
TEXT_READER = f"{OCR}rapidocr"

GROUNDER_OPTIONS = ("requests", "boxes", "prompts")  # Options that say how a chat model is asked for boxes
TEXT_OPTIONS = ("reader", "compare", "tolerance")
"""Options that say which reader answers questions for text, and how strings are compared."""
JUDGE_OPTIONS = (*GROUNDER_OPTIONS, *TEXT_OPTIONS, "decide", "answers", "persona", "zeroing", "grounder")
"""Options that say how judges use a chat model; all others belong to the model."""


def open_judge(
    suite: str,
    name: str | None = None,
    options: Mapping[str, str] | None = None,
    task: Literal["image", "layout"] | str = "image",
    protocol: Protocol | str = "default",
) -> Judge:
    """Open a judge for a suite by name, by default the one that works offline.

    The suite determines how a chat model is used: it is asked for boxes that logic evaluates, a verdict on each clause,
    an answer to each question, or a score for each of an item's weighted questions.

    Args:
        suite: the benchmark.
        name: `builtin/icons`, `builtin/drawn`, `detector/…`, a chat model such as `openai/gpt-4o`, or a preset of one
            such as `preset/qwen3-vl-8b`.
        options: those that say how the suite uses a chat model, such as `requests`, `boxes` and `prompts` (a folder),
            and those of the model that is named.
        task: what is to be judged. Layouts are judged by logic alone.
        protocol: `default`, or as published: `published`, `paper`, `official-code`.

    Raises:
        FormalimgError: if there is no such judge, it cannot judge the suite, or an option is wrong.
    """
    check_protocol(protocol)
    if task == "layout":
        if name not in (None, LayoutJudge.name) or options:
            raise FormalimgError(f"layouts are judged by logic alone, not by {name or 'options'}: leave the judge out")
        return LayoutJudge() if protocol == "default" else PublishedLayoutJudge()
    if name is not None:
        from formalimg.models.registry import expand_preset  # here, because most runs of built-in models name no judge

        name, options = expand_preset(name, options)
    benchmark = get_suite(suite)
    if benchmark.judge_profiles and protocol != "default":
        *profiles, last = benchmark.judge_profiles
        choices = f"{', '.join(profiles)} or {last}"
        raise FormalimgError(f"{suite} has profiles in place of protocols: give -J profile={choices}")
    if name == DRAWN and protocol == "default":
        if options:
            raise FormalimgError(f"{DRAWN} has no options, but {', '.join(options)} was given")
        from formalimg.judges.drawn_judge import DrawnJudge

        judge = benchmark.adapt_drawn_judge(DrawnJudge())
        if judge is None:
            suites = [benchmark for benchmark in map(get_suite, suite_names()) if benchmark.world]
            worlds = ", ".join(benchmark.name for benchmark in suites if benchmark.adapt_drawn_judge(DrawnJudge()))
            raise FormalimgError(
                f"{DRAWN} reads the scenes embedded in drawings, and {suite} has none ({worlds} do): name a chat model"
            )
        return judge
    return benchmark.open_judge(name, options or {}, protocol)


def check_protocol(protocol: str) -> None:
    """Raise an error if the protocol is unknown."""
    if protocol not in PROTOCOLS:
        raise FormalimgError(f"unknown protocol {protocol!r}: choose from {', '.join(PROTOCOLS)}")


def open_grounder(name: str, options: Mapping[str, str] | None = None) -> Grounder:
    """Open a grounder by name: `builtin/icons`, `detector/coco`, `detector/…`, or a chat model.

    Raises:
        FormalimgError: if there is none, or an option is wrong.
    """
    # Each is imported here, so that others start faster.
    _refuse_text_reader(name)
    if name == ICONS:
        if options:
            raise FormalimgError(f"{ICONS} has no options, but {', '.join(options)} was given")
        from formalimg.judges.grounders.icons import IconGrounder

        return IconGrounder()
    if name.startswith("builtin/"):
        problem = f"{DRAWN} is a judge, and finds no objects" if name == DRAWN else f"there is no grounder {name}"
        raise FormalimgError(f"{problem}: use {ICONS}, for images that formalimg drew itself")
    if name == COCO:
        from formalimg.judges.grounders.coco import open_coco

        return open_coco(options or {})
    if name.startswith(DETECTORS):
        from formalimg.judges.grounders.detector import open_detector

        return open_detector(name.removeprefix(DETECTORS), options or {})
    from formalimg.judges.grounders.vlm import REQUESTS, VlmGrounder

    chat, judge_options = open_chat(name, options, GROUNDER_OPTIONS, "a grounder", {"requests": REQUESTS})
    return VlmGrounder(chat, **judge_options)


def list_grounders() -> list[Provider]:
    """Return the grounders and text readers other than chat models, with their missing requirements."""
    # Only what says whether they can be used is loaded.
    from formalimg.judges.grounders.detector import open_detector
    from formalimg.judges.grounders.detector_files import find_installed_networks, missing_parts
    from formalimg.judges.rapidocr import open_rapidocr
    from formalimg.models.registry import Provider, requirements_of

    networks = "+".join(files.network for files in find_installed_networks())
    by = f" by {networks}" if networks else ""
    icons = "The icons that built-in models draw; what draws anything else needs another judge."
    coco = f"The 80 classes of COCO in photographs{by}, on a CPU; -J network=NAME or weights=FILE takes others."
    detectors = "An object detector in a folder or on the Hugging Face hub, run here: detector/FOLDER or …/OWNER/NAME."
    text = "Text in images: Latin letters, digits and Chinese, on a CPU. Judges quoted text in prompts."
    detector_parts = tuple(requirements_of(open_detector).missing())
    reader_parts = tuple(requirements_of(open_rapidocr).missing())
    return [
        Provider(ICONS, False, False, "formalimg", (icons,), (), finds=True),
        Provider(COCO, False, False, "formalimg", (coco,), missing_parts(), finds=True),
        Provider("detector", False, False, "formalimg", (detectors,), detector_parts, finds=True),
        Provider(TEXT_READER, False, False, "formalimg", (text,), reader_parts, reads=True),
    ]


def open_text_judge(name: str, options: Mapping[str, str] | None = None) -> TextJudge:
    """Open a text judge that uses the text reader with this name; the only one is `ocr/rapidocr`."""
    from formalimg.judges.rapidocr import open_rapidocr
    from formalimg.judges.text_judge import TextJudge
    from formalimg.models.options import Options

    reader_options = dict(options or {})
    values = Options(name, {key: reader_options.pop(key) for key in TEXT_OPTIONS[1:] if key in reader_options})
    compare, tolerance = values.text("compare", "loose"), values.number("tolerance", 0.0, minimum=0, maximum=1)
    if name != TEXT_READER:
        raise FormalimgError(f"there is no text reader {name}: use {TEXT_READER}")
    return TextJudge(open_rapidocr(reader_options), compare=cast("Comparison", compare), tolerance=tolerance)


def take_text_judge(options: dict[str, Any]) -> TextJudge | None:
    """Pop the text options and open the text judge they select, or return None if there is no `reader` option."""
    text_options = {key: options.pop(key) for key in TEXT_OPTIONS if key in options}
    name = text_options.pop("reader", None)
    if name is None and text_options:
        option = next(iter(text_options))
        raise FormalimgError(f"{option} says how text is compared: name the reader, -J reader={TEXT_READER}")
    return None if name is None else open_text_judge(name, text_options)


def _refuse_text_reader(name: str) -> None:
    if name.startswith(OCR):
        raise FormalimgError(
            f"{name} reads text only, and cannot judge this by itself: name a chat model, or a detector, and give "
            f"-J reader={name} with `score` or with question graphs"
        )


def open_prompt_judge(
    judge: Grounder | ChatModel | TextReader, *, by_text: TextJudge | None = None, **options: Any
) -> Judge:
    """Open a judge for free prompts that uses the given grounder, text reader or chat model."""
    from formalimg.judges.prompt_judge import PromptJudge

    if isinstance(judge, Grounder):
        return PromptJudge(SceneJudge(judge, "boxes"), by_text)
    if isinstance(judge, TextReader):
        from formalimg.judges.text_judge import TextJudge

        text_judge = TextJudge(judge)
        return PromptJudge(text_judge, text_judge)
    from formalimg.judges.clause_judge import ClauseJudge
    from formalimg.judges.question_judge import QuestionGraphJudge

    # An image passes if all its parts do, whichever way the prompt is judged.
    graph = QuestionGraphJudge(judge, by_text=by_text, **options)
    return PromptJudge(ClauseJudge(judge, decide="clauses", prompts=options.get("prompts")), graph)


def require_chat(
    suite: str,
    name: str | None,
    why_not: str,
    advice: str = ", or make the images only, with `formalimg run --no-judge`",
) -> str:
    """Return the name of the chat model, or raise an error if it is missing or not a chat model."""
    if name is None:
        raise FormalimgError(
            f"there is no judge for {suite} that works offline: name a chat model that can see, as in "
            f"--judge gemini/gemini-3-pro-preview{advice}"
        )
    _refuse_text_reader(name)
    if name == DRAWN:
        raise FormalimgError(f"{DRAWN} calls no model, {why_not}: name a chat model")
    if name == ICONS or name.startswith(DETECTORS):
        raise FormalimgError(f"{name} sees boxes and colours only, {why_not}: name a chat model")
    return name


def open_chat(
    name: str,
    options: Mapping[str, str] | None,
    own_keys: tuple[str, ...],
    user: str,
    choices: Mapping[str, tuple[str, ...]],
) -> tuple[ChatModel, dict[str, Any]]:
    """Open a chat model, and return it with the options that belong to the judge."""
    from formalimg.models.registry import open_chat_model

    _refuse_text_reader(name)
    model_options = dict(options or {})
    for key in JUDGE_OPTIONS:
        if key in model_options and key not in own_keys:
            keys = ", ".join(own_keys)
            raise FormalimgError(f"{user} has no option {key!r}: it knows {keys}, and those of the model")
    judge_options: dict[str, Any] = {key: model_options.pop(key) for key in own_keys if key in model_options}
    for key in choices.keys() & judge_options.keys():
        by_slug = {value.replace(" ", "-"): value for value in choices[key]}
        slug = judge_options[key].replace(" ", "-")
        if slug not in by_slug:
            raise FormalimgError(f"unknown {key} {judge_options[key]!r}: choose from {', '.join(by_slug)}")
        judge_options[key] = by_slug[slug]
    if "prompts" in judge_options:
        judge_options["prompts"] = Path(judge_options["prompts"])
    return open_chat_model(name, model_options), judge_options


def open_published_chat(
    suite: str,
    name: str | None,
    options: Mapping[str, str],
    protocol: str,
    own_keys: tuple[str, ...] = ("prompts",),
    *,
    temperature: float,
    max_tokens: int | None = None,
    top_p: float | None = None,
) -> tuple[ChatModel, Followed, dict[str, Any]]:
    """Open a chat model for a published protocol, with its sampling options and the authors' prompts."""
    from formalimg.benchmarks.download.texts import find_pulled_texts
    from formalimg.models.options import sampling_options

    name = require_chat(suite, name, f"and the protocol {protocol} asks a chat model")
    sampling = sampling_options(name, temperature=temperature, max_tokens=max_tokens, top_p=top_p)
    user = f"{suite} with the protocol {protocol}"
    chat, judge_options = open_chat(name, {**sampling, **options}, own_keys, user, {})
    texts = find_pulled_texts(get_suite(suite).source)
    if texts is not None:
        judge_options.setdefault("prompts", texts)
    return chat, "paper" if protocol == "paper" else "official-code", judge_options
