"""Requests are authorized as by Kubernetes, for generated roles, bindings and requests.

Some hundred pairs are judged by a model of Kubernetes' rules in every run. Where
`KUBEBUILDER_ASSETS` names a folder with kube-apiserver and etcd, that server gets the same
requests, is judged by the same model, and all answers must be the same:

    KUBEBUILDER_ASSETS=/opt/kubebuilder KAPY_PAIRS=10000 pytest tests/differential

`KAPY_PAIRS`: the number of pairs of rules and requests. `KAPY_SEED`: the seed of the generator.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from tests.differential.authorization_peers import peers
from tests.differential.authorization_run import compare

PAIRS: Final = int(os.environ.get("KAPY_PAIRS", "750"))
SEED: Final = int(os.environ.get("KAPY_SEED", "1"))


@pytest.mark.sockets
async def test_requests_are_authorized_as_by_kubernetes(tmp_path: Path) -> None:
    async with peers(tmp_path) as request:
        outcome = await compare(request, PAIRS, SEED)
    text = "\n".join(outcome.wrong[:20])
    assert not outcome.wrong, f"{len(outcome.wrong)} wrong of {outcome.pairs}:\n{text}"
    assert sum(outcome.pairs.values()) == PAIRS
    assert set(outcome.pairs) == {"request", "review", "grant", "rules"}
    assert PAIRS // 10 < outcome.allowed < PAIRS  # both answers are given
