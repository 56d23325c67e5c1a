"""A process that asks a plane the same small questions on and on, and tells the longest wait."""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPSConnection
from multiprocessing.connection import Connection

from tests.apiserver.hostile.plane import OTHER, QUIET, Plane

PATH = f"/api/v1/namespaces/{QUIET}/configmaps/probed"
PAUSE = 0.02
QUESTIONS = {"/livez": "GET", PATH: "GET", f"{PATH}#patch": "PATCH"}


class Prober:
    """The longest waits of a plane's other users."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def longest(self) -> dict[str, float]:
        """Milliseconds, by question, since it was asked last."""
        self._pipe.send("tell")
        results: dict[str, float] = self._pipe.recv()
        return results


@contextmanager
def probing(plane: Plane) -> Iterator[Prober]:
    """One process for each question, as one that waits asks nothing else meanwhile."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=_probe, args=(plane, there), daemon=True)
    process.start()
    try:
        yield Prober(here)
    finally:
        process.terminate()
        process.join()


def _probe(plane: Plane, pipe: Connection) -> None:
    connection = plane.connect()
    longest = dict.fromkeys(QUESTIONS, 0.0)
    turn = 0
    while True:
        if pipe.poll():
            pipe.recv()
            pipe.send(longest)
            longest = dict.fromkeys(QUESTIONS, 0.0)
        for question, method in QUESTIONS.items():
            turn += 1
            began = time.perf_counter()
            try:
                _ask(connection, method, question, turn)
            except (OSError, HTTPException):
                connection.close()
            waited = (time.perf_counter() - began) * 1000
            longest[question] = max(longest[question], waited)
            time.sleep(PAUSE)


def _ask(connection: HTTPSConnection, method: str, question: str, turn: int) -> None:
    headers = {"authorization": f"Bearer {OTHER}"}
    body = None
    if method == "PATCH":
        headers["content-type"] = "application/merge-patch+json"
        body = json.dumps({"data": {"turn": str(turn)}})
    connection.request(method, question.partition("#")[0], body, headers)
    with connection.getresponse() as response:
        response.read()
        assert response.status == 200, response.status
