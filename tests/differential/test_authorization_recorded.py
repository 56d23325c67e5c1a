"""Chosen requests about rights and tokens are answered as a real server answered them.

The answers are in `tests/data/apiserver/authorization`, one file a topic. Where
`KUBEBUILDER_ASSETS` names a folder with kube-apiserver and etcd, that server must still answer so;
with `KAPY_RECORD=1` its answers are written down anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import pytest

from tests.differential.authorization_peers import peers
from tests.differential.authorization_talk import Answers
from tests.differential.authorization_topics import TOPICS, answers

RECORDED: Final = Path(__file__).resolve().parents[1] / "data" / "apiserver" / "authorization"
DIFFERENT: Final[dict[str, str]] = {}
"""Why we answer some requests differently, by label."""


def _read(topic: str) -> Answers:
    document: Answers = json.loads((RECORDED / f"{topic}.json").read_text())
    return document


def _write(topic: str, document: Answers) -> None:
    RECORDED.mkdir(exist_ok=True)
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in document.items())
    (RECORDED / f"{topic}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


@pytest.mark.sockets
@pytest.mark.parametrize("topic", TOPICS)
async def test_answers_are_those_that_were_recorded(topic: str, tmp_path: Path) -> None:
    async with peers(tmp_path) as request:
        documents = [await answers(peer, topic) for peer in request]
    if os.environ.get("KAPY_RECORD"):
        assert len(documents) == 2, "only a real server is recorded"
        _write(topic, documents[0])
    recorded = _read(topic)
    for document in documents:
        wrong = {
            label: (document.get(label), recorded.get(label))
            for label in {**recorded, **document}
            if document.get(label) != recorded.get(label) and label not in DIFFERENT
        }
        text = "\n".join(f"{key}\n  ours {a}\n  real {b}" for key, (a, b) in wrong.items())
        assert not wrong, f"{len(wrong)} of {len(recorded)} differ:\n{text}"
