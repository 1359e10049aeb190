"""The oracle for items that ask for objects: as many as are asked for, in their colours, at places that fit."""

from __future__ import annotations

from random import Random

from formalimg.models import Failed, ImageRequest, Refused
from formalimg.scenes import Scene
from formalimg.suites import ObjectSpec, arrange_objects, unarrangeable_because


def compose_objects(spec: ObjectSpec, request: ImageRequest) -> Scene | Refused | Failed:
    """Return a scene that passes by every profile; refuse what cannot be drawn, with the reason."""
    reason = unarrangeable_because(spec)
    if reason is not None:
        return Refused(f"cannot be drawn: {reason}")
    scene = arrange_objects(spec, Random(f"{request.seed} {request.sample} {request.prompt}"))
    return Failed("builtin/oracle found no arrangement of these objects") if scene is None else scene
