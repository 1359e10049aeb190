"""The refusal of a run without a judge: why there is none, and what is available here, with the line to type."""

from __future__ import annotations

from formalimg._util.text import truncate
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.runs.defaults.available_judges import Words, find_available_judges, how_to_get_one, nothing_found
from formalimg.runs.defaults.settings import ICONS, JUDGE_VARIABLE


class NoJudgeError(FormalimgError):
    """There is no judge for the images of a model. The first line says why, the others what can be typed.

    Attributes:
        findings: the judges that are available here, or how to get one, and other remedies, a line each.
    """

    def __init__(self, why: str, findings: list[str]) -> None:
        """Create an error."""
        self.findings = findings
        super().__init__("\n".join([why, *findings]))


def judge_to_suggest(name: str) -> str:
    """Return the options that name a judge for a suite which is available here; a good guess if none is."""
    found = find_available_judges(boxes=suite(name).judged_by_boxes)
    return found[0].line("command") if found else "--judge gemini/gemini-3-pro-preview"


def no_judge_error(name: str, model: str, protocol: str, words: Words, *, making: bool) -> NoJudgeError:
    """Return the refusal for the images of a model; the arguments are those of `default_judge`."""
    about = suite(name)
    model = truncate(model, 200, 100)  # of a run folder it is somebody else's text
    published = protocol != "default"
    if published:
        why = f"there is no judge for {name} that works offline: the protocol {protocol} asks a chat model that can see"
    elif about.judged_by_boxes:
        why = (
            f"there is no judge for the images of {model}: {name} {about.judge_needs} ({ICONS} reads only the drawings "
            "of the built-in models)"
        )
    elif about.takes_detectors:
        kind = about.judge_needs.removeprefix("needs ")
        why = f"there is no judge for {model}: name {kind}, or a detector for prompts that name objects"
    else:
        why = f"there is no judge for {name} that works offline: it {about.judge_needs}"
    found = find_available_judges(boxes=(about.judged_by_boxes or about.takes_detectors) and not published)
    # Side by side, so that what is to be typed can be seen at once.
    lines = [judge.line(words) for judge in found]
    width = max(map(len, lines), default=0)
    findings = [f"{line:<{width}}  ({judge.reason})" for line, judge in zip(lines, found, strict=True)]
    adding = "add one of these" if words == "command" else "give one of these arguments"
    here = f"Available here, {adding}:" if found else f"Nothing is available here: {nothing_found()}. For example:"
    after = [
        f'To choose once for all runs: {JUDGE_VARIABLE}=NAME in the environment, or judge = "NAME" below [defaults] in '
        "formalimg.toml."
    ]
    if words == "command" and making:
        after.append(f"To make the images only: `formalimg run --no-judge`{about.without_judge}.")
    return NoJudgeError(
        f"{why}.",
        [here, *(f"  {line}" for line in findings or how_to_get_one(words, detector=about.takes_detectors)), *after],
    )
