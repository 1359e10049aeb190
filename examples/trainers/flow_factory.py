"""Flow-Factory's remote reward model, in small: what its client sends to a reward server, and what comes back.

Write the data, start a server beside the trainer, and name it in the trainer's configuration:

    formalimg export knolling --trainer flow-factory --out data/knolling
    formalimg serve --suite knolling --judge openai/Qwen/Qwen3-VL-8B-Instruct -J base_url=http://127.0.0.1:8001/v1

    rewards:
      - name: formalimg
        reward_model: flow_factory.rewards.my_reward_remote.RemotePointwiseRewardModel
        server_url: http://127.0.0.1:8424

`FORMALIMG_URL=http://127.0.0.1:8424 python examples/trainers/flow_factory.py` sends a group of two images.
"""

from __future__ import annotations

import base64
import io
import json
import os
import urllib.request

from PIL import Image

import formalimg
from formalimg.drawing import draw


def compute(url: str, prompts: list[str], images: list[Image.Image]) -> list[float]:
    """Return the rewards of images; an image without one is an error, as in the trainer."""
    files = []
    for image in images:
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        files.append(base64.b64encode(buffer.getvalue()).decode())
    body = json.dumps({"prompt": prompts, "image": files}).encode()
    request = urllib.request.Request(f"{url}/compute", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        data = json.load(answer)
    if data.get("error"):
        raise RuntimeError(f"the server has no reward: {data['error']}")
    return [float(reward) for reward in data["rewards"]]


def main() -> list[float]:
    """Score the right image of an item, and that of another one."""
    url = os.environ.get("FORMALIMG_URL", "http://127.0.0.1:8424")
    with urllib.request.urlopen(f"{url}/health", timeout=60) as answer:
        print("the server is", json.load(answer)["status"])
    item, other = formalimg.load("knolling")[20:22]
    images = [draw(each.spec.witness, 256) for each in (item, other)]
    rewards = compute(url, [item.prompt] * 2, images)
    print("rewards:", ", ".join(f"{reward:.2f}" for reward in rewards))
    return rewards


if __name__ == "__main__":
    main()
