"""From a name such as `builtin/icons` to a judge: each suite decides how it judges with what is named."""

from __future__ import annotations

from collections.abc import Mapping

from formalimg.errors import FormalimgError
from formalimg.judges.judge import Grounder, Judge
from formalimg.judges.scene_judge import SceneJudge

ICONS = "builtin/icons"
_JUDGED_BY_SCENE = ("knolling",)


def open_judge(suite: str, name: str | None = None, options: Mapping[str, str] | None = None) -> Judge:
    """The judge of this name for a suite; without a name, the one that works offline.

    Raises:
        FormalimgError: if there is no such judge, it cannot judge the suite, or an option is wrong.
    """
    if suite not in _JUDGED_BY_SCENE:
        raise FormalimgError(
            f"there is no judge for {suite} that works offline: pictures can be made with `formalimg generate`"
        )
    return SceneJudge(open_grounder(name or ICONS, options))


def open_grounder(name: str, options: Mapping[str, str] | None = None) -> Grounder:
    """The grounder of this name.

    Raises:
        FormalimgError: if there is none, or an option is wrong.
    """
    if name != ICONS:
        raise FormalimgError(f"unknown grounder {name!r}: known is {ICONS}, for pictures that formalimg drew itself")
    if options:
        raise FormalimgError(f"{ICONS} has no options, but {', '.join(options)} was given")
    from formalimg.judges.icons import IconGrounder  # heavy, and needed only here

    return IconGrounder()
