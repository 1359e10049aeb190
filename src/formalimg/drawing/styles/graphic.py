"""Graphic styles: pixel art, pop art, graffiti, cubism, cyberpunk."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from formalimg.drawing.styles.flat import FlatDrawing, Plane, blur, gray, mix, picture, plane, saturate, step

_CELLS = 128  # The pixels of pixel art: the width of the image in them
_TONES = 40  # The tones of pixel art, at most
_DRIPS = 26  # The runs of paint in graffiti
_BAYER = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]], np.float32) / 16
"""The order in which the pixels of a square change from one tone to the next."""


def pixel_art(flat: FlatDrawing) -> Image.Image:
    """Render in large square pixels of few colours: sprites with a dark outline on a dithered sky and ground."""
    small = flat.image.resize((_CELLS, _CELLS), Image.Resampling.BOX)
    things = plane(picture(flat.things).resize((_CELLS, _CELLS), Image.Resampling.BOX)) > 0.5
    tones = _few_tones(flat, plane(small))
    around = np.zeros_like(things)
    for axis in (0, 1):
        for shift in (1, -1):
            around |= np.roll(things, shift, axis)
    rows, columns = np.indices((_CELLS, _CELLS))
    threshold = _BAYER[rows % 4, columns % 4]
    sky = np.array([[0.16, 0.22, 0.56], [0.24, 0.40, 0.76], [0.36, 0.62, 0.90], [0.62, 0.84, 0.96]], np.float32)
    floor = np.array([[0.40, 0.66, 0.34], [0.28, 0.54, 0.30], [0.18, 0.40, 0.28]], np.float32)
    horizon = int(_CELLS * 0.62)
    up, below = rows / horizon * 3.2 - 0.1, (rows - horizon) / (_CELLS - horizon) * 2.4
    back = np.where(
        (rows < horizon)[..., None],
        sky[np.clip(np.floor(up + threshold), 0, 3).astype(int)],
        floor[np.clip(np.floor(below + threshold), 0, 2).astype(int)],
    )
    result = np.where(things[..., None], tones, np.where(around[..., None], np.float32(0.06), back))
    return picture(result.astype(np.float32)).resize((flat.size, flat.size), Image.Resampling.NEAREST)


def _few_tones(flat: FlatDrawing, tones: Plane) -> Plane:
    """Replace each tone by the nearest of the few predominant tones of the objects."""
    pixels = np.asarray(flat.image)[flat.things > 0.5]
    if not len(pixels):
        return tones
    few = Image.fromarray(pixels[:, None]).quantize(_TONES).getpalette()
    table = np.asarray(few, np.float32).reshape(-1, 3) / 255
    distance = ((tones[:, :, None] - table) ** 2).sum(axis=-1)
    return np.asarray(table[distance.argmin(axis=-1)])


def pop_art(flat: FlatDrawing) -> Image.Image:
    """Render as four panels of bright colour with Ben-Day dots, thick black contours, a white rim and hard shadows."""
    u = flat.unit
    down, across = flat.position
    loud = np.array([[0.99, 0.85, 0.10], [0.98, 0.30, 0.58], [0.10, 0.75, 0.88], [0.98, 0.55, 0.15]], np.float32)
    loud = loud[flat.random.permutation(4)]
    panel = (down > 0.5).astype(int) * 2 + (across > 0.5).astype(int)
    fade = np.clip(0.85 - 1.1 * np.abs((down * 2) % 1 - 0.5) - 0.5 * np.abs((across * 2) % 1 - 0.5), 0.12, 1)
    back = mix(loud[panel], (1.0, 1.0, 1.0), _dots(flat, 20, fade * 0.62))
    seam = np.minimum(np.abs(down - 0.5), np.abs(across - 0.5)) < 0.004
    back = np.where(seam[..., None], np.float32(0.05), back)
    tones = saturate(np.clip((flat.rgb - 0.5) * 1.15 + 0.53, 0, 1), 1.45)
    # Shading is printed too: dots of a darker tone towards the lower right of each thing.
    offset = round(22 * u)
    solid = blur(flat.things, 8 * u)
    wide = step(blur(flat.things, 14 * u), 0.75, 0.1)  # thin things would be all shade
    depth = wide * np.clip(flat.things - np.roll(solid, (-offset, -offset), (0, 1)), 0, 1)
    tones = tones * (1 - 0.55 * (_dots(flat, 9, depth * 0.5) * flat.things)[..., None])
    gleam = wide * np.clip(flat.things - np.roll(solid, (offset, offset), (0, 1)), 0, 1)
    tones = mix(tones, (1.0, 1.0, 1.0), 0.75 * _dots(flat, 9, gleam * 0.33) * flat.things)
    lines = np.maximum(step(blur(flat.contours, u), 0.30, 0.08), 0.6 * flat.texture_lines)
    result = mix(back, (1.0, 1.0, 1.0), flat.grown(flat.things, 17))
    result = mix(result, (0.03, 0.03, 0.04), flat.grown(flat.things, 8))
    result = mix(result, tones, flat.things)
    return picture(mix(result, (0.03, 0.03, 0.04), lines * flat.things * step(gray(tones), 0.25, 0.05)))


def _dots(flat: FlatDrawing, pitch: float, share: Plane) -> Plane:
    """Return a diagonal grid of round dots, with `share` as the covered part of each grid cell."""
    rows, columns = np.indices((flat.size, flat.size), np.float32)
    grid = pitch * flat.unit * 1.4142
    across, down = (columns + rows) / grid, (columns - rows) / grid
    distance = np.hypot(across - np.rint(across), down - np.rint(down))
    return step(np.sqrt(share / np.pi) - distance, 0.0, 0.035) * (share > 0.01)


def graffiti(flat: FlatDrawing) -> Image.Image:
    """Render as spray paint on a brick wall: clouds of colour, overspray, tags, drips and bold double contours."""
    u, random = flat.unit, flat.random
    wall = plane(_bricks(flat))
    grain = random.standard_normal((flat.size, flat.size)).astype(np.float32)
    wall = wall * ((1 + 0.05 * grain) * (0.85 + 0.3 * flat.noise(4)))[..., None]
    speck = random.random_sample((flat.size, flat.size)).astype(np.float32)
    loud = np.array([[0.10, 0.85, 0.85], [0.98, 0.25, 0.65], [0.70, 0.92, 0.15], [0.98, 0.55, 0.10]], np.float32)
    loud = loud[random.permutation(4)]
    result = wall
    for tone in loud[1:3]:
        tag = plane(_tag(flat))
        result = mix(result, tone, step(blur(tag, 2.5 * u) + 0.3 * (speck - 0.5), 0.5, 0.25) * 0.85)
    mist = np.clip(blur(flat.grown(flat.things, 44), 16 * u) * 1.1, 0, 1)
    result = mix(result, loud[0], mist * np.where(speck < mist, 0.95, 0.35))
    rough = 0.25 * (speck - 0.5)  # paint thins out to single drops at its edge
    result = mix(result, (0.97, 0.97, 0.97), step(flat.grown(flat.things, 17) + rough, 0.5, 0.2))
    result = mix(result, (0.03, 0.03, 0.05), step(flat.grown(flat.things, 10) + rough, 0.5, 0.2))
    drips, drip_tones = _drips(flat)
    result = mix(result, drip_tones, drips)
    through = 0.97 - 0.15 * step(gray(wall), 0.62, 0.04)  # joints of the wall are seen through the paint
    tones = saturate(np.clip(flat.rgb * 1.05, 0, 1), 1.35) * (1 + 0.05 * grain[..., None])
    return picture(mix(result, tones, flat.things * through))


def _tag(flat: FlatDrawing) -> Image.Image:
    """Draw an illegible signature in one stroke, with runs of paint below it."""
    image = Image.new("L", (flat.size, flat.size), 0)
    pen = ImageDraw.Draw(image)
    random, u = flat.random, flat.unit
    start, top, high = random.uniform(60, 350), random.uniform(120, 700), random.uniform(90, 150)
    turns = np.linspace(0, random.uniform(4, 6) * np.pi, 160)
    x = (start + turns * 28 + 26 * np.sin(turns * 1.9)) * u
    y = (top + high * np.sin(turns) * (0.6 + 0.4 * np.sin(turns * 0.37)) - turns * 3) * u
    points = list(zip(x.tolist(), y.tolist(), strict=True))
    pen.line(points, fill=255, width=round(15 * u), joint="curve")
    for at in random.randint(0, len(points), 5):
        x_at, y_at = points[at]
        pen.line((x_at, y_at, x_at, y_at + random.uniform(30, 90) * u), fill=255, width=max(2, round(5 * u)))
    return image


def _bricks(flat: FlatDrawing) -> Image.Image:
    size, u, random = flat.size, flat.unit, flat.random
    image = Image.new("RGB", (size, size), "#b9aea4")
    pen = ImageDraw.Draw(image)
    high, wide, joint = 44 * u, 112 * u, 5 * u
    for row in range(int(size / high) + 1):
        for column in range(-1, int(size / wide) + 1):
            x, y = column * wide + (wide / 2 if row % 2 else 0), row * high
            shade = 0.85 + 0.3 * random.random_sample()
            tone = tuple(int(part * shade) for part in (136, 92, 80))
            pen.rectangle((x + joint, y + joint, x + wide, y + high), fill=tone)
    return image


def _drips(flat: FlatDrawing) -> tuple[Plane, Plane]:
    image = Image.new("RGB", (flat.size, flat.size))
    mask = Image.new("L", (flat.size, flat.size), 0)
    things = flat.things > 0.5
    places = np.argwhere(things[:-1] & ~things[1:])
    pixels = np.asarray(flat.image)
    for row, column in places[flat.random.permutation(len(places))[:_DRIPS]].tolist():
        length, radius = (25 + 60 * flat.random.random_sample()) * flat.unit, 3.6 * flat.unit
        # The tone of the thing, from behind its outline.
        red, green, blue = pixels[max(0, row - round(9 * flat.unit)), column].tolist()
        foot = row + length
        for pen, fill in ((ImageDraw.Draw(image), (red, green, blue)), (ImageDraw.Draw(mask), (255,))):
            pen.rectangle((column - radius * 0.7, row - radius, column + radius * 0.7, foot), fill=fill)
            pen.ellipse((column - radius, foot - radius, column + radius, foot + radius * 1.5), fill=fill)
    return plane(mask), plane(image)


def cubism(flat: FlatDrawing) -> Image.Image:
    """Render in straight-edged facets, each showing the scene shifted and rotated, with its own light and shade."""
    random = flat.random
    down, across = flat.position
    cuts = 14
    code = np.zeros(down.shape, np.int32)
    shade = np.ones(down.shape, np.float32)
    edge = np.zeros(down.shape, np.float32)
    for number in range(cuts):
        turn = [0.35, 1.25, 2.05, 2.75][number % 4] + random.normal(0, 0.16)
        position = (np.array([number * 5 % cuts, number]) + random.random_sample(2)) / cuts
        away = ((across - position[1]) * np.cos(turn) + (down - position[0]) * np.sin(turn)).astype(np.float32)
        code |= (away > 0).astype(np.int32) << number
        # A plane that begins dark at its cut and fades: the passages between facets.
        side = away if number % 2 else -away
        shade *= 1 - 0.20 * np.exp(-np.clip(side, 0, 1) / 0.07) * (side > 0)
        edge = np.maximum(edge, np.clip(1.9 - np.abs(away) * 1000, 0, 1))
    _, owner = np.unique(code, return_inverse=True)
    owner = owner.reshape(code.shape)
    count = int(owner.max()) + 1
    area = np.bincount(owner.ravel(), minlength=count)
    middle_y = np.bincount(owner.ravel(), down.ravel(), count) / area
    middle_x = np.bincount(owner.ravel(), across.ravel(), count) / area
    # Splinters are moved less than large facets: what lies in them would be lost.
    moved = np.clip(np.sqrt(area / code.size) / 0.1, 0, 1)
    turn_of = random.uniform(-0.12, 0.12, count) * moved
    sine, cosine = np.sin(turn_of).astype(np.float32)[owner], np.cos(turn_of).astype(np.float32)[owner]
    y = (down - middle_y.astype(np.float32)[owner]) * 1000
    x = (across - middle_x.astype(np.float32)[owner]) * 1000
    shift = (random.uniform(-13, 13, (2, count)) * moved).astype(np.float32)
    from_y, from_x = x * sine + y * (cosine - 1) + shift[0][owner], x * (cosine - 1) - y * sine + shift[1][owner]
    earth = np.array(
        [[0.83, 0.73, 0.53], [0.66, 0.58, 0.44], [0.57, 0.60, 0.60], [0.75, 0.65, 0.54], [0.48, 0.45, 0.42]], np.float32
    )
    back = earth[random.randint(0, 5, count)][owner]
    things = flat.warped(flat.things, from_y, from_x)
    light = random.uniform(0.92, 1.2, count).astype(np.float32)[owner] * shade
    tones = mix(back, flat.warped(flat.rgb, from_y, from_x), things) * light[..., None]
    contour = np.clip(flat.grown(things, 3.5) - things, 0, 1)
    tones = mix(tones, (0.10, 0.08, 0.07), np.maximum(edge * 0.75, contour))
    streaks = flat.noise(0, 300, 60) - 0.5
    return picture(tones * (1 + 0.10 * streaks[..., None]))


def cyberpunk(flat: FlatDrawing) -> Image.Image:
    """Render at night in neon light: a dark city with lit windows, rain, a glowing grid floor and rim-lit objects."""
    u = flat.unit
    back = plane(_night(flat))
    back = np.clip(back + 0.8 * blur(back, 12 * u), 0, 1)
    rim = np.clip(flat.grown(flat.things, 6) - flat.things, 0, 1)
    _, across = flat.position
    share = step(across + 0.25 * (flat.noise(3) - 0.5), 0.5, 0.12)[..., None]
    neon = np.array([1.0, 0.10, 0.75], np.float32) * (1 - share) + np.array([0.05, 0.95, 1.0], np.float32) * share
    glow = np.clip(blur(rim, 5 * u) * 1.4 + blur(rim, 18 * u) * 1.6, 0, 1)
    result = back * (1 - 0.75 * flat.grown(flat.things, 10)[..., None])
    result = 1 - (1 - result) * (1 - neon * glow[..., None])
    # Things keep their colour; their edges take that of the neon.
    tones = saturate(flat.rgb * 0.92, 1.2)
    near = np.clip(1 - blur(flat.things, 7 * u), 0, 1) * 1.3
    tones = 1 - (1 - tones) * (1 - neon * near[..., None] * 0.8)
    result = mix(result, tones, flat.things)
    result = mix(result, neon * 0.5 + 0.5, step(rim, 0.5, 0.2) * 0.95)
    rain = step(flat.noise(0, 26, 520), 0.965, 0.02) * (1 - 0.75 * flat.things)
    result = result + rain[..., None] * np.array([0.25, 0.35, 0.45], np.float32)
    return picture(result)


def _night(flat: FlatDrawing) -> Image.Image:
    size, u, random = flat.size, flat.unit, flat.random
    down, _ = flat.position
    top, low = np.array([0.03, 0.01, 0.10], np.float32), np.array([0.30, 0.04, 0.36], np.float32)
    sky = top + (low - top) * np.clip(down / 0.62, 0, 1)[..., None] ** 2
    image = picture(sky)
    pen = ImageDraw.Draw(image)
    floor, left = 620 * u, -20.0 * u
    while left < size:
        width, high = (50 + 60 * random.random_sample()) * u, (150 + 330 * random.random_sample()) * u
        pen.rectangle((left, floor - high, left + width, floor), fill=(14, 9, 34))
        light = [(30, 150, 170), (170, 40, 130), (160, 130, 50)][random.randint(3)]
        y = floor - high + 12 * u
        while y < floor - 10 * u:
            x = left + 8 * u
            while x < left + width - 10 * u:
                if random.random_sample() < 0.38:
                    pen.rectangle((x, y, x + 6 * u, y + 8 * u), fill=light)
                x += 14 * u
            y += 18 * u
        left += width + 4 * u
    pen.rectangle((0, floor, size, size), fill=(10, 4, 28))
    line = max(1, round(2.4 * u))
    for step_ in range(-16, 17):
        pen.line((size / 2 + step_ * 34 * u, floor, size / 2 + step_ * 190 * u, size), fill=(190, 20, 170), width=line)
    for number in range(9):
        y = floor + (size - floor) * (number / 8) ** 1.9
        pen.line((0, y, size, y), fill=(190, 20, 170), width=line)
    return image.filter(ImageFilter.GaussianBlur(0.6 * u))
