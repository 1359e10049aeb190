"""Materials of drawings: the materials of Natural and the textures of concepts, applied to any icon."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from formalimg.drawing import surfaces, textures
from formalimg.drawing.icon import Tones, palette
from formalimg.drawing.svg import IconDrawing
from formalimg.drawing.texture_canvas import TextureCanvas
from formalimg.drawing.textures import fur
from formalimg.errors import FormalimgError

_PAINTERS: Mapping[str, Callable[[TextureCanvas], IconDrawing]] = {
    "wooden": textures.wood,
    "metal": surfaces.metal,
    "glass": surfaces.glass,
    "plastic": surfaces.plastic,
    "fluffy": fur,
    "fabric": textures.fabric,
    "ceramic": surfaces.ceramic,
    "leather": textures.leather,
    "paper": textures.paper,
    "stone": textures.stone,
    "brick": textures.brick,
}

MATERIALS = tuple(_PAINTERS)  # The materials that can be drawn
LINED = ("glass", "stone", "brick")
"""The materials over which the lines of an icon are seen, also of one that is bent into a shape."""

ALIASES = {"metallic": "metal"}  # Other words for them: as a concept, metal is called metallic
_NATURAL_TONES = {
    "wooden": Tones(body="#b9834a", dark="#93612c", light="#d9ab74", line="#3a2108", ink="#6b421a"),
    "metal": Tones(body="#9aa3ad", dark="#6e7883", light="#c9d0d7", line="#23282e", ink="#444c55"),
    "glass": Tones(body="#8fc4d6", dark="#5f9db3", light="#c3e2ec", line="#1d4452", ink="#376b7c"),
    "brick": Tones(body="#b4492f", dark="#8f3420", light="#cf7458", line="#3d150b", ink="#6b2514"),
}


def natural_tones(material: str) -> Tones | None:
    """Return the tones of an uncoloured object of a material; None if the material has no tones of its own."""
    tones = _NATURAL_TONES.get(_material(material))
    if tones is not None:
        return tones
    color = {"stone": "gray", "ceramic": "white", "paper": "white", "leather": "brown"}.get(_material(material))
    return palette().colors[color] if color else None


def apply(drawing: IconDrawing, material: str, tones: Tones, key: str) -> IconDrawing:
    """Render a drawing as made of the given material."""
    word = _material(material)
    return _PAINTERS[word](TextureCanvas(drawing, tones, key, word))


def _material(material: str) -> str:
    word = ALIASES.get(material, material)
    if word not in _PAINTERS:
        raise FormalimgError(f"there is no drawing of the material {material!r}: use one of {', '.join(MATERIALS)}")
    return word
