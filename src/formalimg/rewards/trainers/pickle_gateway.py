"""A local gateway between flow_grpo's pickle protocol and the JSON API of a reward server.

flow_grpo's remote rewards post a pickle and load the one that comes back. The reward server never loads one. Where the
trainer's code cannot be changed (see `flow_grpo`), this gateway runs on the trainer's own machine, listens to that
machine only, and reads plain data from the pickle with a reader that refuses every class and function.
"""

from __future__ import annotations

import argparse
import io
import pickle
import socket
from collections.abc import Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from formalimg.errors import FormalimgError
from formalimg.rewards.trainers.flow_grpo import compute_grouped_rewards
from formalimg.rewards.trainers.settings import TrainerSettings

DEFAULT_PORT = 18085  # The port at which flow_grpo looks for its own reward server
_MAX_BYTES = 256 * 1024 * 1024


class PickleRefusedError(FormalimgError):
    """Raised for a pickle that contains more than plain data, or is not a request of flow_grpo."""


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler restricted to containers, strings, bytes and numbers, since other objects could run code."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        raise PickleRefusedError(f"the pickle holds {module_name[:60]}.{global_name[:60]}, and only plain data is read")

    def persistent_load(self, pid: Any) -> Any:
        raise PickleRefusedError("the pickle refers to objects outside of it, and only plain data is read")


def read_plain_pickle(data: bytes) -> object:
    """Read plain data from a pickle without executing any code in it."""
    try:
        return _PlainUnpickler(io.BytesIO(data)).load()
    except FormalimgError:
        raise
    except Exception as error:  # any, as Python's documentation of pickles says
        raise PickleRefusedError(f"this is not a pickle that can be read: {type(error).__name__}") from error


class PickleGateway:
    """A gateway that answers flow_grpo's pickled requests using a reward server.

    It runs in the trainer's process or beside it, and never on the server.
    """

    def __init__(self, url: str, *, token: str | None = None, missing: str = "nan") -> None:
        """Create a gateway to the reward server at `url`; an image without a reward is worth nan, or is an error."""
        self._settings = TrainerSettings.choose("nan", url=url, token=token, missing=missing)

    def answer(self, data: bytes) -> bytes:
        """Return the pickled answer to a pickled request."""
        match read_plain_pickle(data):
            case {"images": list(images), "meta_datas": list(metadatas), **others}:
                if all(isinstance(image, bytes) for image in images):
                    only_strict = bool(others.get("only_strict", True))
                    rewards = compute_grouped_rewards(images, metadatas, only_strict, self._settings)
                    return pickle.dumps(rewards._asdict())
        raise PickleRefusedError("this is not a request of flow_grpo: it needs images, as bytes, and meta_datas")

    def serve(self, port: int = DEFAULT_PORT) -> ThreadingHTTPServer:
        """Create an HTTP server that is accessible only from this machine; port 0 stands for any that is free."""
        return ThreadingHTTPServer(("127.0.0.1", port), partial(_GatewayHandler, self))


class _GatewayHandler(BaseHTTPRequestHandler):
    timeout = 120

    def __init__(
        self, gateway: PickleGateway, request: socket.socket, address: tuple[str, int], server: ThreadingHTTPServer
    ) -> None:
        self._gateway = gateway
        super().__init__(request, address, server)

    def do_POST(self) -> None:
        """Answer a request, reporting errors with a status that the trainer does not retry."""
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Origin") is not None:
            self._send(403, b"this was sent by a web page\n")
        elif not length.isdecimal() or int(length) > _MAX_BYTES:
            self._send(413, b"send a Content-Length, and less at once\n")
        else:
            try:
                self._send(200, self._gateway.answer(self.rfile.read(int(length))))
            except FormalimgError as error:
                self._send(422, f"{error}\n".encode("utf-8", "replace"))

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing for completed requests."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a gateway until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m formalimg.rewards.trainers.pickle_gateway", description=__doc__)
    parser.add_argument("--url", required=True, help="address of the reward server, as http://127.0.0.1:8424")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="port for the trainer (%(default)s)")
    options = parser.parse_args(arguments)
    with PickleGateway(options.url).serve(options.port) as server:
        print(f"flow_grpo's requests to http://127.0.0.1:{server.server_port} go to {options.url}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
