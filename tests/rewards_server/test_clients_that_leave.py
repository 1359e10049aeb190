"""Clients that leave before they have their answer: nobody works for them any longer."""

from __future__ import annotations

import json
import threading
from typing import Any

from formalimg.rewards.result import RewardScore
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.tasks import RewardTask, TaskLike
from tests.rewards_server.servers import (
    CUP,
    SlowGrounder,
    asked,
    connected,
    head,
    image_request,
    on_a_port,
    until_closed,
)
from tests.support.run_contents import until

LONG = {"formula": "(exists ?x (Is ?x 'cup'))"}


def numbers(port: int) -> str:
    with connected(port) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        return until_closed(connection).decode()


def test_clients_that_leave_are_not_worked_for() -> None:
    very_slow = SlowGrounder(60)
    with on_a_port(Scorer(very_slow)) as here:
        with connected(here) as connection:
            body = image_request()
            connection.sendall(head(f"Content-Length: {len(body)}") + body)
            until(lambda: very_slow.begun == 1)
            assert "\nformalimg_in_flight 1\n" in numbers(here)
        until(lambda: 'path="/v1/score",status="499"' in numbers(here))
        assert very_slow.finished == 0
        assert "\nformalimg_in_flight 0\n" in numbers(here)
        assert "\nformalimg_held_bytes 0\n" in numbers(here)


def test_scenes_are_not_judged_for_clients_that_have_left() -> None:
    class Pondering(Scorer):
        def prepare(self, task: TaskLike) -> RewardTask:
            if task == LONG:
                begun.set()
                let_go.wait(20)
            return super().prepare(task)

        def score_all(self, *given: Any, **named: Any) -> list[RewardScore]:
            scored.append(1)
            return super().score_all(*given, **named)

    begun, let_go, scored = threading.Event(), threading.Event(), list[int]()
    body = json.dumps(asked(*[{"scene": CUP}] * 5, item=LONG)).encode() + b" " * 300_000
    with on_a_port(Pondering()) as here:
        try:
            with connected(here) as connection:
                connection.sendall(head(f"Content-Length: {len(body)}") + body)
                assert begun.wait(20)
            until(lambda: 'path="/v1/score",status="499"' in numbers(here))
        finally:
            let_go.set()
    assert scored == []  # once the server has ended, and its threads with it
