"""Commands that change a management cluster: their steps, and Ctrl-C in the middle."""

from __future__ import annotations

import asyncio
import signal

import pytest

from kapy.cli.progress import Interrupted, MissingRights, ProgressSteps, run_with_steps
from kapy.kube.errors import Forbidden


def test_steps_are_lines_as_upstream_logs_them(capsys: pytest.CaptureFixture[str]) -> None:
    async def work(say: ProgressSteps) -> int:
        say("Installing", provider="cluster-api", version="v1.14.0")
        say("Deleting", Provider={"name": "a", "namespace": "b"})
        return 3

    assert run_with_steps(work, again="") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        'Installing provider="cluster-api" version="v1.14.0"\n'
        'Deleting Provider={"name":"a","namespace":"b"}\n'
    )


def test_ctrl_c_in_the_middle_says_how_to_continue() -> None:
    async def work(_: ProgressSteps) -> None:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(60)

    with pytest.raises(Interrupted, match="stopped in the middle; run the same command again"):
        run_with_steps(work, again="run the same command again")


def test_users_without_permissions_learn_the_needed_ones() -> None:
    async def work(_: ProgressSteps) -> None:
        raise Forbidden('secrets is forbidden: User "alice" cannot list')

    with pytest.raises(MissingRights, match=r"alice.*; .*its administrator, whom --kubeconfig"):
        run_with_steps(work, again="")
