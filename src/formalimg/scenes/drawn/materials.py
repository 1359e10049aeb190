"""What a drawing is made of: the materials of Natural and the textures of ConceptMix, applied to any icon."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from formalimg.errors import FormalimgError
from formalimg.scenes.drawn import surfaces, textures
from formalimg.scenes.drawn.icon_drawing import IconDrawing
from formalimg.scenes.drawn.textures import TextureCanvas
from formalimg.scenes.icon import Tones, palette

_PAINTERS: Mapping[str, Callable[[TextureCanvas], IconDrawing]] = {
    "wooden": textures.wood,
    "metal": surfaces.metal,
    "glass": surfaces.glass,
    "plastic": surfaces.plastic,
    "fluffy": surfaces.fur,
    "fabric": textures.fabric,
    "ceramic": surfaces.ceramic,
    "leather": textures.leather,
    "paper": textures.paper,
    "stone": textures.stone,
    "brick": textures.brick,
}

MATERIALS = tuple(_PAINTERS)
"""The materials that can be drawn."""

ALIASES = {"metallic": "metal"}
"""Other words for them: ConceptMix calls metal metallic."""

_NATURAL_TONES = {
    "wooden": Tones(body="#b9834a", dark="#93612c", light="#d9ab74", line="#3a2108", ink="#6b421a"),
    "metal": Tones(body="#9aa3ad", dark="#6e7883", light="#c9d0d7", line="#23282e", ink="#444c55"),
    "glass": Tones(body="#8fc4d6", dark="#5f9db3", light="#c3e2ec", line="#1d4452", ink="#376b7c"),
    "brick": Tones(body="#b4492f", dark="#8f3420", light="#cf7458", line="#3d150b", ink="#6b2514"),
}


def natural_tones(material: str) -> Tones | None:
    """Return the tones of a thing of this material that has no colour; None if the material has none of its own."""
    tones = _NATURAL_TONES.get(_known(material))
    if tones is not None:
        return tones
    color = {"stone": "gray", "ceramic": "white", "paper": "white", "leather": "brown"}.get(_known(material))
    return palette().colors[color] if color else None


def apply(drawing: IconDrawing, material: str, tones: Tones, key: str) -> IconDrawing:
    """Return the drawing of a thing that is made of this material.

    Args:
        drawing: the thing.
        material: a word of Natural or ConceptMix.
        tones: those of the thing's colour, in which the drawing is painted: the texture is made of them, so that a red
            wooden chair is red and wooden.
        key: what the ids of gradients and clips begin with; it must be unique in the image.

    Raises:
        FormalimgError: if there is no drawing of the material.
    """
    known = _known(material)
    return _PAINTERS[known](TextureCanvas(drawing, tones, key, known))


def _known(material: str) -> str:
    known = ALIASES.get(material, material)
    if known not in _PAINTERS:
        raise FormalimgError(f"there is no drawing of the material {material!r}: use one of {', '.join(MATERIALS)}")
    return known
