from __future__ import annotations
from formalimg.scenes.drawn import surfaces, textures
from formalimg.scenes.drawn.icon_drawing import IconDrawing
from formalimg.scenes.icon import Tones
_PAINTERS = {
    "wooden": textures.wood, "metal": surfaces.metal, "glass": surfaces.glass, "plastic": surfaces.plastic, "fluffy": surfaces.fur,
    "fabric": textures.fabric, "ceramic": surfaces.ceramic, "leather": textures.leather, "paper": textures.paper, "stone": textures.stone, "brick": textures.brick,
}
MATERIALS = tuple(_PAINTERS)
def apply(drawing: IconDrawing, material: str, tones: Tones, key: str) -> IconDrawing:
    return _PAINTERS[material](textures.TextureCanvas(drawing, tones, key, material))
