"""flow_grpo's GenEval reward without its pickles; or with them, through a gateway on the trainer's own machine.

Where you can change the registry of rewards, put our function in place of its own, and nothing is pickled:

    from formalimg.rewards.trainers.flow_grpo import formalimg_score, geneval_score

Where you cannot, run the gateway where flow_grpo looks for its server, beside the trainer and not on the server:

    python -m formalimg.rewards.trainers.pickle_gateway --url http://127.0.0.1:8424

The data of `formalimg export knolling --trainer flow_grpo --out dataset/knolling` are read with prompt_fn "geneval".
`python examples/trainers/flow_grpo_geneval.py` scores two images in both ways, with FORMALIMG_URL by a server.
"""

from __future__ import annotations

import io
import os
import pickle
import threading
import urllib.request
from typing import Any

import numpy as np
from PIL import Image

import formalimg
from formalimg.drawing import draw
from formalimg.rewards.trainers import PickleGateway
from formalimg.rewards.trainers.flow_grpo import geneval_score


def posted(url: str, images: np.ndarray, metadatas: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what flow_grpo's own function gets: a pickle is posted, and the answer, which is ours, is loaded."""
    files = []
    for image in images:
        buffer = io.BytesIO()
        Image.fromarray(image).save(buffer, "JPEG")
        files.append(buffer.getvalue())
    data = pickle.dumps({"images": files, "meta_datas": metadatas, "only_strict": False})
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=120) as answer:
        found: dict[str, Any] = pickle.loads(answer.read())
    return found


def main() -> tuple[list[float], dict[str, Any] | None]:
    """Score the right image of an item and that of another one."""
    item, other = formalimg.load("knolling")[20:22]
    images = np.stack([np.asarray(draw(each.spec.witness, 256)) for each in (item, other)])
    metadatas = [{"prompt": item.prompt, "tag": f"K={item.level}", "suite": item.suite, "id": item.id}] * 2
    scores, rewards, *_ = geneval_score("cuda")(images, [item.prompt] * 2, metadatas, False)
    print("scores:", [round(score, 2) for score in scores], "passed:", rewards)
    server = os.environ.get("FORMALIMG_URL")
    if not server:
        return scores, None
    with PickleGateway(server).serve(port=0) as gateway:
        thread = threading.Thread(target=gateway.serve_forever)
        thread.start()
        try:
            found = posted(f"http://127.0.0.1:{gateway.server_port}", images, metadatas)
        finally:
            gateway.shutdown()
            thread.join()
    print("by the gateway:", found)
    return scores, found


if __name__ == "__main__":
    main()
