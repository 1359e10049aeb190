"""Configuration: the defaults of `formalimg.toml` and the environment, and the judge of a run that names none."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.config.defaults import (
    DRAWN,
    ICONS,
    JUDGE_VARIABLE,
    ConfigFile,
    ConfigTable,
    ConfiguredJudge,
    Defaults,
    Sourced,
    default_judge,
    has_default_judge,
    is_built_in,
    load_defaults,
    project_file,
    unreadable_drawings_warning,
    user_file,
)

if TYPE_CHECKING:
    from formalimg.config.available_judges import AvailableJudge, find_available_judges
    from formalimg.config.config_file import read_wishes
    from formalimg.config.local_servers import LocalServer, find_local_servers
    from formalimg.config.no_judge import NoJudgeError, judge_to_suggest
    from formalimg.config.trust import allow_file, revoke_file

# Lazy, because only refusals look around.
__getattr__ = lazy_exports(
    "formalimg.config",
    {
        "available_judges": ["AvailableJudge", "find_available_judges"],
        "config_file": ["read_wishes"],
        "local_servers": ["LocalServer", "find_local_servers"],
        "no_judge": ["NoJudgeError", "judge_to_suggest"],
        "trust": ["allow_file", "revoke_file"],
    },
)

__all__ = [
    "DRAWN",
    "ICONS",
    "JUDGE_VARIABLE",
    "AvailableJudge",
    "ConfigFile",
    "ConfigTable",
    "ConfiguredJudge",
    "Defaults",
    "LocalServer",
    "NoJudgeError",
    "Sourced",
    "allow_file",
    "default_judge",
    "find_available_judges",
    "find_local_servers",
    "has_default_judge",
    "is_built_in",
    "judge_to_suggest",
    "load_defaults",
    "project_file",
    "read_wishes",
    "revoke_file",
    "unreadable_drawings_warning",
    "user_file",
]
