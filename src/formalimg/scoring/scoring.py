"""The `score` function, which scores images against prompts without a suite."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from formalimg._util.aio import run_sync
from formalimg._util.argument_types import checks_types
from formalimg._util.image_input import AnyImage, list_images
from formalimg._util.strict_json import is_utf8
from formalimg._util.text import truncate
from formalimg.benchmarks.prompt_formulas import read_formula
from formalimg.benchmarks.questions.spec import GraphQuestion
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.judges.base import TextReader
from formalimg.judges.factory import OCR, open_judge, open_prompt_judge
from formalimg.judges.prompt_judge import PromptJudge
from formalimg.judges.text_judge import find_text_questions
from formalimg.language.quoted_text import find_quoted_texts
from formalimg.models.registry import open_chat_model
from formalimg.runs.config import RunConfig
from formalimg.runs.defaults.settings import default_judge
from formalimg.runs.execution import execute
from formalimg.runs.manifest import Identity
from formalimg.runs.parties import (
    MAX_FAILURES,
    JudgeFunction,
    Safeguards,
    is_function,
    judge_of,
    preflight_by_default,
)
from formalimg.runs.progress import Progress
from formalimg.runs.reader import open_run
from formalimg.scoring.prompt_items import (
    FREE_PROMPTS,
    MAX_PROMPT,
    PromptForm,
    PromptItemBuilder,
    PromptItems,
    ScoredPair,
    prompt_item,
)
from formalimg.scoring.scores import Score, Scores, failure_reason
from formalimg.scoring.user_inputs import UserImages, open_user_image, read_questions
from formalimg.scoring.writer import QuestionWriter
from formalimg.types import ChatModel, Grounder, Judge, Unscored

_log = logging.getLogger(__name__)


@checks_types()
def score(
    images: AnyImage | Sequence[AnyImage],
    prompts: str | Sequence[str] | None = None,
    judge: str | Judge | Grounder | TextReader | ChatModel | JudgeFunction | None = None,
    *,
    judge_options: Mapping[str, Any] | None = None,
    form: PromptForm = "auto",
    writer: str | ChatModel | None = None,
    writer_options: Mapping[str, str] | None = None,
    questions: str | Path | Sequence[str | GraphQuestion] | None = None,
    budget: float | None = None,
    preflight: bool | None = None,
    folder: str | Path | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Scores:
    """Score images by prompts: no suite is needed.

    A prompt becomes a formula where our English reader can read it, else yes/no questions written by a chat model, else
    one question; where a text reader judges, its quoted text is checked and nothing else. Repeating the call resumes
    it, and asks nothing twice. If the judge is a function, each call starts a new run unless `folder` names the run to
    resume.

    Args:
        images: an image or a list of them: paths, the bytes of files, PIL images, arrays or tensors.
        prompts: one prompt for all images, or one for each; may be left out if there are questions.
        judge: a chat model that can see, a grounder or a text reader, by name or as an object; a judge as an object; or
            any function `(image, item) -> bool | float | dict`, as `CallableJudge` takes it: the prompt is
            `item.prompt`. None for the one that `FORMALIMG_JUDGE` or `formalimg.toml` names.
        judge_options: options of a judge that is named, or of a function, as for `run`.
        form: what prompts become: `formula`, `questions`, `whole` (one question), or `auto`.
        writer: the chat model that writes questions, by name or as an object; None for the judge, if it is one.
        writer_options: options of a writer that is named.
        questions: one's own questions, or a file of them, in place of those that follow from the prompts.
        budget: stop, resumably, when this many US dollars are spent.
        preflight: whether the judge is tried first, so that a call that cannot succeed costs nothing; None for yes,
            unless the environment variable FORMALIMG_PREFLIGHT is `no`.
        folder: the run folder; None for one in `runs` that belongs to these images and prompts.
        on_progress: called after each step with the progress of the run.

    Raises:
        FormalimgError: if an argument is not valid; the message says what to do.
    """
    several = list_images(images)
    if not several:
        raise FormalimgError("there are no images to score: give one or more")
    own_questions = _read_own_questions(questions)
    if prompts is None and own_questions is None:
        raise FormalimgError("say what the images should show: give prompts, or questions")
    text = question_text(own_questions or ()) if prompts is None else prompts
    words = [text] * len(several) if isinstance(text, str) else list(text)
    if len(words) != len(several):
        raise FormalimgError(
            f"there are {len(several)} images and {len(words)} prompts: give one prompt for all, or one for each"
        )
    scoring = open_scoring(
        [(image, prompt) for image, prompt in zip(several, words, strict=True)],
        judge,
        judge_options=judge_options,
        form=form,
        writer=writer,
        writer_options=writer_options,
        questions=own_questions,
    )
    run_folder = scoring.builder.folder(Path("runs")) if folder is None else Path(folder)
    if folder is None and is_function(judge):
        run_folder = run_folder.with_name(f"{run_folder.name}-{datetime.now():%Y%m%d-%H%M%S-%f}")
    return scoring.execute(run_folder, budget, on_progress, preflight=preflight)


@dataclass(frozen=True)
class Scoring:
    """Images, prompts and a judge, ready to be run."""

    builder: PromptItemBuilder  # makes the items
    judge: Judge  # judges the images

    def config(self, prompt_items: PromptItems, budget: float | None) -> RunConfig:
        """Return the run configuration for the items."""
        images = dict(zip(prompt_items.ids, (pair.image for pair in self.builder.pairs), strict=True))
        return RunConfig(
            list(prompt_items.items.values()),
            UserImages(images),
            made_with=f"formalimg {version('formalimg')}",
            budget=budget,
        )

    def execute(
        self,
        folder: Path,
        budget: float | None,
        on_progress: Callable[[Progress], None],
        *,
        preflight: bool | None = None,
        on_notice: Callable[[str], None] = _log.warning,
    ) -> Scores:
        """Run the judge on all images, and return their scores; `on_notice` gets each line that a user should see."""
        preflight = preflight_by_default() if preflight is None else preflight
        made = self._build_items(folder, budget, on_notice if preflight else None)
        remaining = None if budget is None else max(0.0, budget - made.cost)
        guards = Safeguards(preflight, MAX_FAILURES, on_notice=on_notice)
        config = self.config(made, remaining)
        progress = execute(config, folder, self.judge, on_progress=on_progress, safeguards=guards)
        with closing(open_run(folder, Identity(self.judge.name, self.judge.settings))) as run:
            judged = {result.outcome.item: result for result in run.judged([(name, 0) for name in made.items])}
        scores = []
        for name, pair in zip(made.ids, self.builder.pairs, strict=True):
            item, verdict = made.items[name], judged[name].verdict
            scores.append(
                Score(
                    None if isinstance(verdict, Unscored) else verdict.passed,
                    judged[name].outcome.score,
                    () if isinstance(verdict, Unscored) else verdict.parts,
                    failure_reason(verdict, item.spec, suite(item.suite)),
                    pair.image.name,
                    pair.prompt,
                    item.tags[0],
                    name,
                )
            )
        return Scores(tuple(scores), folder, progress, tuple(made.warnings))

    def _build_items(self, folder: Path, budget: float | None, on_notice: Callable[[str], None] | None) -> PromptItems:
        """Build the items, with a pre-flight check of the judge before any questions are paid for."""
        if on_notice is None or not self.builder.unwritten(folder):
            return self.builder.build(folder, budget)
        from formalimg.runs.preflight import PreflightLog, check_judges  # here, because most prompts are not written

        log, notice = PreflightLog(folder), on_notice
        spending = Progress(0, 0, cost=log.cost, budget=budget)
        run_sync(lambda: check_judges([self.judge], FREE_PROMPTS, log, spending, notice))
        made = self.builder.build(folder, None if budget is None else max(0.0, budget - log.cost))
        log.save()
        return made


def open_scoring(
    pairs: Sequence[tuple[AnyImage, str]],
    judge: str | Judge | Grounder | TextReader | ChatModel | JudgeFunction | None,
    *,
    judge_options: Mapping[str, Any] | None = None,
    form: PromptForm = "auto",
    writer: str | ChatModel | None = None,
    writer_options: Mapping[str, str] | None = None,
    questions: tuple[GraphQuestion, ...] | None = None,
) -> Scoring:
    """Open the images, judge and question writer, and raise an error if the prompts cannot be scored."""
    if writer is None and writer_options:
        raise FormalimgError("options of a writer need a writer: name one")
    opened = _open_judge(judge, judge_options)
    chat = open_chat_model(writer, writer_options) if isinstance(writer, str) else writer
    if not _answers_questions(opened):
        chat = None  # nobody could answer what it writes
    elif chat is None:
        chat = getattr(opened.by_questions if isinstance(opened, PromptJudge) else opened, "chat", None)
    asker = None if chat is None else QuestionWriter(chat)
    nouns = opened.nouns if isinstance(opened, PromptJudge) else None
    reads_text = isinstance(opened, PromptJudge) and opened.reads_text
    builder = PromptItemBuilder(_open_pairs(pairs), form, asker, questions, nouns, reads_text)
    _require_answerable(builder, opened)
    return Scoring(builder, opened)


def _open_pairs(pairs: Sequence[tuple[AnyImage, str]]) -> list[ScoredPair]:
    scored_pairs = []
    for number, (image, prompt) in enumerate(pairs, 1):
        if not isinstance(prompt, str) or not prompt.strip():
            raise FormalimgError(f"the prompt of image {number} is empty: give each image a prompt")
        words = " ".join(prompt.split())
        if len(words) > MAX_PROMPT or not is_utf8(words):
            raise FormalimgError(
                f"the prompt of image {number} has more than {MAX_PROMPT:,} characters, or is no text: give another"
            )
        scored_pairs.append(ScoredPair(open_user_image(image, number), words))
    return scored_pairs


def _open_judge(
    judge: str | Judge | Grounder | TextReader | ChatModel | JudgeFunction | None, options: Mapping[str, Any] | None
) -> Judge:
    if judge is None:
        default = default_judge(FREE_PROMPTS, "these images", words="python", making=False)
        if default is not None:
            _log.warning("%s", default)
            judge, options = default.name, {**default.options, **(options or {})}
    if judge is None or isinstance(judge, str):
        return open_judge(FREE_PROMPTS, judge, options)
    if options and not is_function(judge):
        raise FormalimgError("options are for a judge that is named, or a function: set them when it is opened")
    candidate: Any = judge
    if isinstance(candidate, PromptJudge):
        return candidate
    if any(callable(getattr(candidate, name, None)) for name in ("ask", "ground", "read")):
        return open_prompt_judge(candidate)
    if callable(getattr(candidate, "judge", None)):
        return PromptJudge(candidate, candidate)
    if is_function(candidate):
        return judge_of(FREE_PROMPTS, "", candidate, options, "default").instance
    raise FormalimgError(
        f"judge must be a name, a chat model, a grounder, a judge or a function, not {type(candidate).__name__}"
    )


def _answers_questions(judge: Judge) -> bool:
    return not isinstance(judge, PromptJudge) or not (judge.by_questions is None or judge.reads_text)


def _require_answerable(builder: PromptItemBuilder, judge: Judge) -> None:
    """Raise an error if the judge cannot answer any of the prompts."""
    if _answers_questions(judge):
        return
    reads_text = getattr(judge, "reads_text", False)
    if reads_text and any(isinstance(find_text_questions(spec), list) for spec in builder.known):
        return
    formulas = [] if judge.name.startswith(OCR) else [spec for spec in builder.known if spec.formula is not None]
    items = [prompt_item("0", "", spec) for spec in formulas]
    unknown = [getattr(judge, "unknown_classes", lambda item: ())(item) for item in items]
    if not all(unknown):
        return
    classes = ", ".join(dict.fromkeys(name for names in unknown for name in names))
    cannot = f"cannot look for {truncate(classes, 100, 20)}"
    if not items:
        prompt = builder.pairs[0].prompt
        reason = "" if builder.questions else f" ({read_formula(prompt, builder.nouns)})"
        cannot = f"finds objects and cannot answer questions, and {truncate(prompt, 60, 20)!r} is no formula{reason}"
        if judge.name.startswith(OCR):
            cannot = f"reads text only, and {truncate(prompt, 60, 20)!r} has none in quotes"
    reader = "" if reads_text or not find_quoted_texts(builder.pairs[0].prompt) else "give -J reader=ocr/rapidocr, or "
    raise FormalimgError(f"{judge.name} {cannot}: {reader}name a chat model that can see as the judge")


def question_text(questions: Sequence[GraphQuestion]) -> str:
    """Join questions as a text to be used in place of a prompt."""
    return truncate(" ".join(question.question for question in questions), 160, 40)


def _read_own_questions(
    questions: str | Path | Sequence[str | GraphQuestion] | None,
) -> tuple[GraphQuestion, ...] | None:
    if questions is None:
        return None
    if isinstance(questions, str | Path):
        return read_questions(questions)
    return tuple(
        question if isinstance(question, GraphQuestion) else GraphQuestion(str(number), question)
        for number, question in enumerate(questions, 1)
    )
