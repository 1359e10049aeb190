"""Fur: the only material that changes the outline of a drawing."""

from __future__ import annotations

import math

from formalimg.drawing.icon_drawing import IconDrawing
from formalimg.drawing.texture_canvas import TextureCanvas, stroke, text


def fur(canvas: TextureCanvas) -> IconDrawing:
    """Draw tufts along the outline, shrinking the drawing to make room for them, and hair across its surface."""
    frame, unit, tones = canvas.drawing.frame, canvas.fine_unit, canvas.tones
    long = unit * 1.05
    wide, high = (frame.width - 2 * long) / frame.width, (frame.height - 2 * long) / frame.height
    bound = unit * 0.24
    gaps = [long * times for times in (1.0, 1.6, 2.3)]  # fur that could reach over to another part is short

    def shrunk(x: float, y: float) -> tuple[float, float]:
        return frame.left + long + (x - frame.left) * wide, frame.top + long + (y - frame.top) * high

    def within(x: float, y: float) -> tuple[float, float]:
        return (
            min(max(x, frame.left + bound), frame.left + frame.width - bound),
            min(max(y, frame.top + bound), frame.top + frame.height - bound),
        )

    tufts, locks = [], ""
    for loop in canvas.inset(0, unit * 0.72):
        roots = [shrunk(point.x, point.y) for point in loop]
        data = f"M{text(*roots[0])}"
        for point, (x, y), end in zip(loop, roots, [*roots[1:], roots[0]], strict=True):
            reach = long * canvas.random.uniform(0.8, 1.05)
            if any(canvas.mask.contains(point.x + point.out_x * far, point.y + point.out_y * far) for far in gaps):
                reach *= 0.3
            lean = canvas.random.uniform(0.25, 0.6) * reach * (1 if point.out_x > 0 else -1)
            tip = within(x + point.out_x * reach - point.out_y * lean, y + point.out_y * reach + point.out_x * lean)
            swell = within(x + point.out_x * reach * 0.75, y + point.out_y * reach * 0.75)
            data += f"Q{text(*swell, *tip)}Q{text((tip[0] + end[0]) / 2, (tip[1] + end[1]) / 2, *end)}"
            locks += f"M{text(x - point.out_x * reach * 0.8, y - point.out_y * reach * 0.8)}Q{text(x, y, *tip)}"
        tufts.append(data + "Z")
    pen = max(1.1, unit * 0.1)
    edge = "".join(tufts)  # one path, filled even-odd, so that holes stay open
    rim = f'<path d="{edge}" fill="{tones.body}" fill-rule="evenodd" stroke="{tones.line}" stroke-width="{text(pen)}"/>'
    shrink = (
        f"matrix({wide:.5f} 0 0 {high:.5f} {frame.left * (1 - wide) + long:.3f} {frame.top * (1 - high) + long:.3f})"
    )
    hair = stroke(locks, tones.body, unit * 0.44) + stroke(locks, tones.ink, max(0.7, unit * 0.06), 0.45)
    falling: dict[str, str] = {tones.ink: "", tones.light: "", tones.dark: ""}
    mask, step = canvas.mask.eroded(unit * 0.3), unit * 0.6
    for row in range(math.ceil(frame.height / step)):
        for column in range(math.ceil(frame.width / step)):
            x = frame.left + (column + canvas.random.random()) * step
            y = frame.top + (row + canvas.random.random()) * step
            if mask.contains(x, y):
                lean, length = canvas.random.uniform(-0.35, 0.35) * unit, canvas.random.uniform(0.6, 1.1) * unit
                color = canvas.random.choice(tuple(falling))
                falling[color] += f"M{text(*shrunk(x, y))}q{text(lean, length * 0.4, lean * 0.4, length)}"
    hair += "".join(stroke(data, color, max(1.0, unit * 0.11), 0.75) for color, data in falling.items() if data)
    body = f'{rim}<g transform="{shrink}">{canvas.drawing.body}</g>{hair}'
    return IconDrawing(frame, body, edge, canvas.drawing.defs)
