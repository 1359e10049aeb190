"""Effective defaults from the environment, the project file and the user file, with their sources.

`builtin/icons` and `builtin/drawn` know the drawings of the built-in models and nothing else, so each is the default
judge for these alone: the first for suites of icons, the second for suites with a drawn world. For other models, a run
without a judge is refused, because it could spend money on images that cannot be scored.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from formalimg._util.text import truncate
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.models.registry import Requirements

NAME = "formalimg.toml"
ICONS = "builtin/icons"
DRAWN = "builtin/drawn"
_BUILT_IN = "builtin/"

JUDGE_VARIABLE = "FORMALIMG_JUDGE"  # Environment variable that names the judge of models that are not built in
GROUNDER_VARIABLE = "FORMALIMG_GROUNDER"  # Environment variable that names what finds the objects in images for rewards
_OPTIONS = "_OPTIONS"
"""What the name of a variable with options ends with: `base_url=http://127.0.0.1:8000/v1 timeout=60`."""

RUNS = Path("runs")  # The folder of runs if no file names another, relative to the current folder
Value = TypeVar("Value")
Words = Literal["command", "python"]  # Whether a line is to be typed as options, or as arguments of a call


@dataclass(frozen=True)
class ConfigTable:
    """A table of the configuration file, with None for unset options."""

    judge: str | None = None  # the judge of models that are not built in
    judge_options: Mapping[str, str] = field(default_factory=dict)  # the options of this judge, as text
    budget: float | None = None  # the spending limit of each run folder in US dollars
    runs: Path | None = None  # the folder that holds the run folders
    grounder: str | None = None  # what finds the objects in images for rewards
    grounder_options: Mapping[str, str] = field(default_factory=dict)  # the options of this grounder, as text


@dataclass(frozen=True)
class ConfigFile:
    """A parsed configuration file."""

    path: str  # where it is, in a form to be shown
    defaults: ConfigTable  # what holds for all suites
    suites: Mapping[str, ConfigTable]  # the judges of single suites, by their names
    is_trusted: bool = False  # whether it is the user's own, or a project's that the user has allowed


@dataclass(frozen=True)
class Sourced(Generic[Value]):
    """A value and its source: a file, an environment variable, or empty for a built-in default."""

    value: Value
    source: str = ""


@dataclass(frozen=True)
class ConfiguredJudge:
    """The name, options and source of a configured judge or grounder."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    source: str = ""

    def __str__(self) -> str:
        """Describe the judge, its options and its source on one line."""
        if self.name == DRAWN and not self.source:
            return f"judge {DRAWN} goes by the scenes in the drawings: it measures pipeline and models, not an eye"
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"judge {self.name}{f' ({options})' if options else ''} from {self.source}"


@dataclass(frozen=True)
class Defaults:
    """Defaults for options not set on the command line or in a call. The first file takes precedence."""

    files: tuple[ConfigFile, ...] = ()  # the project's file and the user's file, as far as they exist
    environment: ConfiguredJudge | None = None  # the judge that the environment names, if any
    environment_grounder: ConfiguredJudge | None = None  # the grounder that it names, if any

    def judge(self, suite: str | None = None) -> ConfiguredJudge | None:
        """Return the judge configured for a suite, or for all suites if `suite` is None."""
        if self.environment is not None:
            return self.environment
        for file in self.files:
            for table in (file.suites.get(suite) if suite else None, file.defaults):
                if table is not None and table.judge is not None:
                    return ConfiguredJudge(table.judge, table.judge_options, file.path)
        return None

    @property
    def grounder(self) -> ConfiguredJudge | None:
        """The configured grounder for rewards, or None."""
        if self.environment_grounder is not None:
            return self.environment_grounder
        for file in self.files:
            if file.defaults.grounder:
                return ConfiguredJudge(file.defaults.grounder, file.defaults.grounder_options, file.path)
        return None

    @property
    def budget(self) -> Sourced[float | None]:
        """The spending limit of a run folder in US dollars, or None. A project file can only lower it."""
        budgets = [(file.defaults.budget, file) for file in self.files if file.defaults.budget is not None]
        trusted = next((index for index, (_, file) in enumerate(budgets) if file.is_trusted), len(budgets))
        if not budgets:
            return Sourced(None)
        value, file = min(budgets[: trusted + 1], key=lambda budget: budget[0])
        return Sourced(value, file.path)

    @property
    def runs(self) -> Sourced[Path]:
        """The folder that holds the run folders."""
        folders = (Sourced(file.defaults.runs, file.path) for file in self.files if file.defaults.runs is not None)
        return next(folders, Sourced(RUNS))


def load_defaults() -> Defaults:
    """Load the defaults from the configuration files and the environment, without caching."""
    project, user = project_file(), user_file()
    files = []
    if project is not None or (user is not None and user.exists()):
        # here, because most have no file
        from formalimg.runs.defaults.config_file import read_project_file, read_user_file

        files += [] if project is None else [read_project_file(project)]
        files += [read_user_file(user)] if user is not None and user.exists() and user != project else []
    judge, grounder = _read_environment(JUDGE_VARIABLE, "judge"), _read_environment(GROUNDER_VARIABLE, "grounder")
    return Defaults(tuple(files), judge, grounder)


def _read_environment(variable: str, role: str) -> ConfiguredJudge | None:
    name, options = os.environ.get(variable, "").strip(), os.environ.get(variable + _OPTIONS, "").strip()
    if not name:
        if options:
            raise FormalimgError(f"{variable + _OPTIONS} belongs to a {role}: name it with {variable}, or unset both")
        return None
    if "/" not in name.strip("/"):
        raise FormalimgError(f"{variable} names no {role}: write it as provider/model, as in openai/gpt-5")
    try:
        pairs = [word.partition("=") for word in shlex.split(options)]
    except ValueError as error:
        raise FormalimgError(f"cannot read {variable + _OPTIONS}: {error}") from error
    wrong = next(("".join(pair) for pair in pairs if not pair[0] or not pair[1]), None)
    if wrong is not None:
        raise FormalimgError(f"cannot read {truncate(repr(wrong), 60, 20)} in {variable + _OPTIONS}: write KEY=VALUE")
    return ConfiguredJudge(name, {key: value for key, _, value in pairs}, variable)


def project_file() -> Path | None:
    """Find the nearest project file, searching up to the repository root or the home folder."""
    try:
        current = Path.cwd()
    except FileNotFoundError:  # it was removed
        return None
    folders = [current, *current.parents]
    home = home_folder()
    last = next((index for index, folder in enumerate(folders) if folder == home or (folder / ".git").exists()), 0)
    return next((folder / NAME for folder in folders[: last + 1] if os.path.lexists(folder / NAME)), None)


def user_file() -> Path | None:
    """Return the path of the user's configuration file, or None if there is no home folder."""
    folder = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    if folder.is_absolute():  # the specification says to ignore all others
        return folder / "formalimg" / NAME
    home = home_folder()
    return None if home is None else home / ".config" / "formalimg" / NAME


def home_folder() -> Path | None:
    """Return the home folder, or None if it cannot be determined."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def default_judge(
    suite_name: str,
    model: str,
    *,
    task: str = "image",
    protocol: str = "default",
    words: Words = "command",
    making: bool = True,
) -> ConfiguredJudge | None:
    """Return the default judge for a model's images, or None to let `open_judge` choose."""
    if _is_judged_offline(suite_name, model, task, protocol):
        is_drawn = task != "layout" and suite(suite_name).world == "drawn"
        return ConfiguredJudge(DRAWN) if is_drawn else None
    configured = load_defaults().judge(suite_name)
    if configured is not None:
        return configured
    raise no_judge_error(suite_name, model, protocol, words, making=making)


def has_default_judge(suite_name: str, model: str, task: str = "image") -> bool:
    """Return whether a model's images have a default judge."""
    return _is_judged_offline(suite_name, model, task) or load_defaults().judge(suite_name) is not None


def _is_judged_offline(suite_name: str, model: str, task: str, protocol: str = "default") -> bool:
    if task == "layout" or protocol != "default":
        return task == "layout"
    benchmark = suite(suite_name)
    return benchmark.judged_offline or (is_built_in(model) and benchmark.world != "")


_SUGGESTED: Mapping[str, str] = {  # a model of each provider that can see
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-3-pro-preview",
    "hf": "Qwen/Qwen3-VL-8B-Instruct",
    "openai": "gpt-5",
    "transformers": "Qwen/Qwen3-VL-8B-Instruct",
}
_COMMON = "gemini/gemini-3-pro-preview"
_COCO_USE = 'for photographs and prompts such as "There is a cat."'
_COCO_INSTALL = "pip install 'opencv-python-headless<5' && pip install --no-deps c4dynamics==1.2.0"
_URL_VARIABLE = "OPENAI_BASE_URL"


class NoJudgeError(FormalimgError):
    """Raised when no judge is available. The first line gives the reason, the others in `findings` list remedies."""

    def __init__(self, reason: str, findings: list[str]) -> None:
        self.findings = findings
        super().__init__("\n".join([reason, *findings]))


def suggest_judge() -> str:
    """Return the option for a judge whose API key is set, falling back to a common one."""
    return _judge_line(next(iter(_judges_with_keys()), _COMMON), "command")


def _judges_with_keys() -> dict[str, str]:
    """Return the judges whose API key is set, each with the reason why it can be used; keys are named, never shown."""
    from formalimg.models.secrets import set_key_names

    is_elsewhere = bool(os.environ.get(_URL_VARIABLE, "").strip())
    judges = {"openai/MODEL": f"{_URL_VARIABLE} is set: name a model of that server"} if is_elsewhere else {}
    for name, requirements in _providers().items():
        if not (name == "openai" and is_elsewhere) and (keys := set_key_names(requirements.keys)):
            judges[f"{name}/{_SUGGESTED.get(name, 'MODEL')}"] = f"{keys[0]} is set{_install_advice(name)}"
    return judges


def _providers() -> Mapping[str, Requirements]:
    from formalimg.models.registry import chat_requirements  # here, because most runs have a judge

    return chat_requirements()


def _judge_line(name: str, words: Words, url: str = "") -> str:
    """Return the option or argument that selects a judge."""
    if words == "python":
        return f"judge={name!r}" + (f", judge_options={ ({'base_url': url})!r}" if url else "")
    return f"--judge {shlex.quote(name)}" + (f" -J base_url={url}" if url else "")


def _install_advice(provider: str) -> str:
    requirements = _providers().get(provider)
    if requirements is None or not requirements.missing_modules():
        return ""
    return f"; after: {requirements.install}"


def no_judge_error(suite_name: str, model: str, protocol: str, words: Words, *, making: bool) -> NoJudgeError:
    """Build the error raised when no judge is available for a model's images."""
    benchmark = suite(suite_name)
    model = truncate(model, 200, 100)  # of a run folder it is somebody else's text
    if protocol != "default":
        needs = f"the protocol {protocol} asks a chat model that can see"
        reason = f"there is no judge for {suite_name} that works offline: {needs}"
    elif benchmark.judged_by_boxes:
        reason = (
            f"there is no judge for the images of {model}: {suite_name} {benchmark.judge_needs} ({ICONS} reads only "
            "the drawings of the built-in models)"
        )
    elif benchmark.takes_detectors:
        kind = benchmark.judge_needs.removeprefix("needs ")
        reason = f"there is no judge for {model}: name {kind}, or a detector for prompts that name objects"
    else:
        reason = f"there is no judge for {suite_name} that works offline: it {benchmark.judge_needs}"
    judges = _judges_with_keys()
    if judges:
        heading = f"Available here, {'add one of these' if words == 'command' else 'give one of these arguments'}:"
        width = max(len(_judge_line(name, words)) for name in judges)
        lines = [f"{_judge_line(name, words):<{width}}  ({why_usable})" for name, why_usable in judges.items()]
    else:
        keys = [requirements.keys[0] for requirements in _providers().values() if requirements.keys]
        heading = f"Nothing is available here: no key is set ({', '.join(keys)}). For example:"
        lines = [
            f"{_judge_line(_COMMON, words)}  (with GEMINI_API_KEY in the environment or in "
            f".env{_install_advice('gemini')})",
            f"{_judge_line('openai/MODEL', words, 'http://127.0.0.1:8000/v1')}  (with a vision-language model that "
            f"vLLM, Ollama or another server serves there{_install_advice('openai')})",
        ]
        if benchmark.takes_detectors:
            lines.append(f"{_judge_line('detector/coco', words)}  ({_COCO_USE}; after: {_COCO_INSTALL})")
    remedies = [
        f'To choose once for all runs: {JUDGE_VARIABLE}=NAME in the environment, or judge = "NAME" below [defaults] in '
        "formalimg.toml."
    ]
    if words == "command" and making:
        remedies.append(f"To make the images only: `formalimg run --no-judge`{benchmark.without_judge}.")
    return NoJudgeError(f"{reason}.", [heading, *(f"  {line}" for line in lines), *remedies])


def is_built_in(model: str) -> bool:
    """Return whether a model is built in, so that the built-in judges can read its images."""
    return model.startswith(_BUILT_IN)


def unreadable_drawings_warning(judge: str, model: str) -> str:
    """Return a warning if the judge reads only drawings by built-in models and the model is another, else ''."""
    if judge not in (ICONS, DRAWN) or is_built_in(model):
        return ""
    return (
        f"warning: {judge} reads only drawings made by formalimg: images of {truncate(model, 200, 100)} that are "
        "anything else stay unscored; name another judge with --judge"
    )
