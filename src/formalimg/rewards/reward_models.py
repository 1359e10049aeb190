"""Selection of the grounder and judge for rewards, from arguments, the environment or formalimg.toml."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.judges.factory import DETECTORS, DRAWN, ICONS, JUDGE_OPTIONS, OCR
from formalimg.rewards.scorer import Scorer
from formalimg.runs.defaults.settings import ConfiguredJudge, Defaults, load_defaults

_log = logging.getLogger(__name__)

_FOR_GROUNDERS_ONLY = ("boxes",)  # Options of a chat model that say how it is asked for boxes and nothing else


@dataclass(frozen=True)
class RewardModels:
    """The grounder and judges used for rewards."""

    # finds the objects, for formulas over boxes and colours
    grounder: ConfiguredJudge = field(default_factory=lambda: ConfiguredJudge(ICONS))
    judge: ConfiguredJudge | None = None  # the chat model that judges all else; None for none
    judges: Mapping[str, ConfiguredJudge] = field(default_factory=dict)  # those of single suites, in its place

    @property
    def lines(self) -> list[str]:
        """A line for each model configured by the environment or a file."""
        roles = {"grounder": self.grounder, "judge": self.judge}
        roles |= {f"judge of {name}": judge for name, judge in self.judges.items()}
        return [f"{role} {model.name} from {model.source}" for role, model in roles.items() if model and model.source]

    def open(self, **options: Any) -> Scorer:
        """Open a scorer with these models."""
        return Scorer(
            **{"grounder": self.grounder.name, "grounder_options": self.grounder.options, **options},
            judge=None if self.judge is None else self.judge.name,
            judge_options=None if self.judge is None else self.judge.options,
            judges=self.judges,
        )

    @property
    def scorer(self) -> Scorer:
        """A scorer with these models, shared so that formulas are prepared only once."""
        judges = tuple((name, _freeze_model(model)) for name, model in self.judges.items())
        return _open_scorer(
            _freeze_model(self.grounder), None if self.judge is None else _freeze_model(self.judge), judges
        )


def choose_models(
    grounder: str | None = None,
    judge: str | None = None,
    *,
    grounder_options: Mapping[str, Any] | None = None,
    judge_options: Mapping[str, Any] | None = None,
) -> RewardModels:
    """Choose the grounder and judge from the arguments, the environment, formalimg.toml or the defaults.

    A judge that can find objects is the grounder too, unless one is named or configured: as in runs, whoever looks at
    the images of a diffusion model looks for boxes as well.
    """
    defaults = load_defaults()
    chosen_judge = _choose_model(judge, judge_options, defaults.judge())
    if chosen_judge is None and judge_options:
        raise FormalimgError("there are options for a judge, and no judge: name it, or leave them out")
    chosen_grounder = _choose_model(grounder, grounder_options, defaults.grounder)
    judges = {} if judge is not None else _suite_judges(defaults, chosen_judge)
    if grounder is not None:
        judges = {name: suite_judge for name, suite_judge in judges.items() if not suite(name).is_grounded}
    if chosen_grounder is None:
        chosen_grounder, chosen_judge = _split_judge(chosen_judge, _option_texts(grounder_options))
    elif chosen_judge is not None and _finds_objects_only(chosen_judge.name):
        if judge is not None:
            raise FormalimgError(f"{judge} finds objects and judges nothing else: name it as the grounder")
        chosen_judge = None
    return RewardModels(chosen_grounder, chosen_judge, judges)


def _choose_model(
    name: str | None, options: Mapping[str, Any] | None, configured: ConfiguredJudge | None
) -> ConfiguredJudge | None:
    texts = _option_texts(options)
    if name is not None:
        return ConfiguredJudge(name, texts)
    if configured is None:
        return None
    return ConfiguredJudge(configured.name, {**configured.options, **texts}, configured.source)


def _suite_judges(defaults: Defaults, judge: ConfiguredJudge | None) -> dict[str, ConfiguredJudge]:
    configured = {name: defaults.judge(name) for file in defaults.files for name in file.suites}
    return {
        name: suite_judge
        for name, suite_judge in configured.items()
        if suite_judge and (judge is None or (suite_judge.name, suite_judge.source) != (judge.name, judge.source))
    }


def _split_judge(
    judge: ConfiguredJudge | None, options: Mapping[str, str]
) -> tuple[ConfiguredJudge, ConfiguredJudge | None]:
    """Split a configured judge into a default grounder, if it can find objects, and a judge."""
    if judge is None or judge.name == DRAWN or judge.name.startswith(OCR):
        return ConfiguredJudge(ICONS, options), judge
    if _finds_objects_only(judge.name):
        return ConfiguredJudge(judge.name, {**judge.options, **options}, judge.source), None
    grounder_options = {
        key: value for key, value in judge.options.items() if key not in JUDGE_OPTIONS or key in _FOR_GROUNDERS_ONLY
    }
    judge_options = {key: value for key, value in judge.options.items() if key not in _FOR_GROUNDERS_ONLY}
    return (
        ConfiguredJudge(judge.name, {**grounder_options, **options}, judge.source),
        ConfiguredJudge(judge.name, judge_options, judge.source),
    )


def _finds_objects_only(name: str) -> bool:
    return name == ICONS or name.startswith(DETECTORS)


def _option_texts(options: Mapping[str, Any] | None) -> dict[str, str]:
    """Convert options to text, as on a command line."""
    return {
        key: ("on" if value else "off") if isinstance(value, bool) else str(value)
        for key, value in (options or {}).items()
    }


_ModelKey = tuple[str, tuple[tuple[str, str], ...], str]


def _freeze_model(model: ConfiguredJudge) -> _ModelKey:
    return model.name, tuple(sorted(model.options.items())), model.source


def _thaw_model(key: _ModelKey) -> ConfiguredJudge:
    return ConfiguredJudge(key[0], dict(key[1]), key[2])


@cache
def _open_scorer(grounder: _ModelKey, judge: _ModelKey | None, judges: tuple[tuple[str, _ModelKey], ...]) -> Scorer:
    judge_models = {name: _thaw_model(key) for name, key in judges}
    models = RewardModels(_thaw_model(grounder), None if judge is None else _thaw_model(judge), judge_models)
    for line in models.lines:
        _log.info("%s", line)
    return models.open()
