"""The server in a process of its own, for measurements: prints its address and serves until its input ends."""

from __future__ import annotations

import argparse
import sys

from tests.support.loopback.server import Loopback


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds from a request to its answer")
    with Loopback(latency=parser.parse_args().latency) as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
