"""Layouts for instructions: boxes for which all facts hold, found for thousands of instructions at a time.

Each layout starts at random and is moved downhill until nothing is violated. What is not found in some hundred steps
is given up; other starts of the same instruction will do.
"""

from __future__ import annotations

import torch
from data import PREDICATES
from torch import Tensor

GAP = 0.022
"""The least distance between two objects, where the canvas is 1 wide."""

MARGINS = (0.02, 0.07)
"""By how much facts hold: each layout has its own margin between these."""

AREA_MARGIN = 0.3
"""By how much the logarithm of a larger area is larger."""

_BORDER = 0.02
_MIN_SIDE, _MAX_SIDE = 0.048, 0.42
_USUAL_AREA = 0.015
_STEPS = 220
_SIZE_RULES = (PREDICATES.index("LargerThan"), PREDICATES.index("SmallerThan"))


def find_layouts(classes: Tensor, facts: Tensor, aspects: Tensor) -> tuple[Tensor, Tensor]:
    """Return boxes (left, top, right, bottom; the canvas is 1 wide) for each instruction, and whether all is well.

    Args:
        classes: of each object; -1 where there is none.
        facts: predicate and objects, as in `data.py`.
        aspects: natural width by height of each class.
    """
    count, slots = classes.shape
    device = classes.device
    there = classes >= 0
    shape = aspects[classes.clamp(min=0)] * torch.exp(0.15 * torch.randn(count, slots, device=device))
    margin = MARGINS[0] + (MARGINS[1] - MARGINS[0]) * torch.rand(count, 1, device=device)
    place = torch.rand(count, slots, 2, device=device) * 0.8 + 0.1
    area = torch.randn(count, slots, device=device) * 0.55
    place.requires_grad_()
    area.requires_grad_()
    optimizer = torch.optim.Adam([place, area], lr=0.02, betas=(0.8, 0.95))
    for step in range(_STEPS):
        optimizer.param_groups[0]["lr"] = 0.025 * (1 - 0.9 * step / _STEPS)
        boxes = to_boxes(place, area, shape)
        loss = _violation(boxes, facts, there, margin, spare=0.004).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        boxes = to_boxes(place, area, shape)
        found = _violation(boxes, facts, there, 0.8 * margin, spare=0.0) < 1e-9
    return boxes.detach(), found


def to_boxes(place: Tensor, area: Tensor, shape: Tensor) -> Tensor:
    """Return the boxes of objects from their centres, the logarithms of their areas, and their shapes."""
    size = _USUAL_AREA * torch.exp(area.clamp(-1.5, 1.5))
    across = (size * shape).sqrt().clamp(_MIN_SIDE, _MAX_SIDE)
    down = (size / shape).sqrt().clamp(_MIN_SIDE, _MAX_SIDE)
    half = torch.stack([across, down], dim=-1) / 2
    return torch.cat([place - half, place + half], dim=-1)


def facts_hold(boxes: Tensor, facts: Tensor) -> Tensor:
    """Return whether all facts of each instruction hold, without any margin."""
    surplus, given = _surpluses(boxes, facts)
    return ((surplus > 0) | ~given).all(1)


def _violation(boxes: Tensor, facts: Tensor, there: Tensor, margin: Tensor, spare: float) -> Tensor:
    """Return how far each layout is from being well: facts, gaps between objects, and the border."""
    surplus, given = _surpluses(boxes, facts)
    sizes = (facts[..., 0] == _SIZE_RULES[0]) | (facts[..., 0] == _SIZE_RULES[1])
    needed = torch.where(sizes, AREA_MARGIN * 0.8, margin) + spare
    missing = ((needed - surplus).clamp(min=0) * given).square().sum(1)
    low, high = boxes[..., :2], boxes[..., 2:]
    apart = (low[:, :, None] - high[:, None]).maximum(low[:, None] - high[:, :, None]).amax(-1)
    pairs = (there[:, :, None] & there[:, None]).triu(1)
    close = ((GAP + spare - apart).clamp(min=0) * pairs).square().sum((1, 2))
    out = (_BORDER + spare - low).clamp(min=0) + (high - 1 + _BORDER + spare).clamp(min=0)
    return missing + close + (out * there[..., None]).square().sum((1, 2))


def _surpluses(boxes: Tensor, facts: Tensor) -> tuple[Tensor, Tensor]:
    """Return by how much each fact holds (less than 0: it does not), and which facts there are."""
    given = facts[..., 0] >= 0
    index = facts.clamp(min=0)
    slots = boxes.shape[-1]
    one = boxes.gather(1, index[..., 1:2].expand(-1, -1, slots))
    other = boxes.gather(1, index[..., 2:3].expand(-1, -1, slots))
    x, y = (one[..., 0] + one[..., 2]) / 2, (one[..., 1] + one[..., 3]) / 2
    u, v = (other[..., 0] + other[..., 2]) / 2, (other[..., 1] + other[..., 3]) / 2
    larger = _log_area(one) - _log_area(other)
    holds = {
        "OnLeftSide": 0.5 - x,
        "OnRightSide": x - 0.5,
        "OnTopSide": 0.5 - y,
        "OnBottomSide": y - 0.5,
        "InCenter": 1 / 6 - (x - 0.5).abs().maximum((y - 0.5).abs()),
        "LeftOf": u - one[..., 2],
        "RightOf": one[..., 0] - u,
        "Above": v - one[..., 3],
        "Below": one[..., 1] - v,
        "AlignedHorizontally": 0.1 - (y - v).abs(),
        "AlignedVertically": 0.1 - (x - u).abs(),
        "LargerThan": larger,
        "SmallerThan": -larger,
    }
    stacked = torch.stack([holds[name] for name in PREDICATES], dim=-1)
    return stacked.gather(-1, index[..., :1]).squeeze(-1), given


def _log_area(boxes: Tensor) -> Tensor:
    return ((boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])).clamp(min=1e-5).log()


def make_layouts(classes: Tensor, facts: Tensor, aspects: Tensor, count: int, batch: int) -> tuple[Tensor, Tensor]:
    """Return up to `count` layouts of each instruction, found in as many attempts, and how many were found."""
    layouts = torch.zeros(len(classes), count, classes.shape[1], 4, dtype=torch.half, device=classes.device)
    found = torch.zeros(len(classes), dtype=torch.long, device=classes.device)
    for _ in range(count):
        for start in range(0, len(classes), batch):
            part = slice(start, start + batch)
            boxes, good = find_layouts(classes[part].long(), facts[part].long(), aspects)
            number = good.nonzero()[:, 0]
            layouts[number + start, found[number + start]] = boxes[number].half()
            found[number + start] += 1
    return layouts, found
