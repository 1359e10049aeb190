"""UniRL's remote reward backend, in small: named rewards by metadata or by prompt, and errors in place of numbers.

Start `formalimg serve --suite knolling` beside the trainer, and set its address as `base_url` of the remote reward,
with `required_rewards: [formalimg]` (the dense score) or `[formalimg_strict]` (1 if the image passes).

`FORMALIMG_URL=http://127.0.0.1:8424 python examples/trainers/unirl.py` sends three images.
"""

from __future__ import annotations

import base64
import io
import json
import os
import urllib.request
from typing import Any

from PIL import Image

import formalimg
from formalimg.drawing import draw


def encoded(image: Image.Image) -> str:
    """Return an image as the trainer sends it."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=95)
    return base64.b64encode(buffer.getvalue()).decode()


def score(url: str, requests: list[dict[str, Any]]) -> list[float | str]:
    """Return the reward of each image, or why it has none: the trainer marks such an image as failed."""
    body = json.dumps({"protocol_version": "1", "requests": requests}).encode()
    request = urllib.request.Request(f"{url}/score", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        data = json.load(answer)
    return [
        result["formalimg"]["score"] if "formalimg" in result else errors["formalimg"]
        for result, errors in zip(data["results"], data["errors"], strict=True)
    ]


def main() -> list[float | str]:
    """Score an image by its prompt, one by metadata, and one that nobody can read."""
    url = os.environ.get("FORMALIMG_URL", "http://127.0.0.1:8424")
    item, other = formalimg.load("knolling")[20:22]
    right, wrong = (draw(each.spec.witness, 256) for each in (item, other))
    noise = Image.effect_noise((256, 256), 90).convert("RGB")
    asked: list[tuple[Image.Image, str, dict[str, str] | None]] = [
        (right, item.prompt, None),
        (wrong, "any words", {"suite": item.suite, "id": item.id}),
        (noise, item.prompt, None),
    ]
    requests = [
        {
            "history": [{"text": prompt, "image_b64": encoded(image)}],
            "required_rewards": ["formalimg"],
            "metadata": metadata,
            "request_id": f"sample-{number}",
        }
        for number, (image, prompt, metadata) in enumerate(asked)
    ]
    found = score(url, requests)
    for one in found:
        print(one if isinstance(one, str) else f"reward {one:.2f}")
    return found


if __name__ == "__main__":
    main()
