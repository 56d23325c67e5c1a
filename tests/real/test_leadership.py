"""Core managers as processes, of whom one works: by the server's own log of who wrote what."""

from __future__ import annotations

import signal
from contextlib import AsyncExitStack

import pytest

from kapy.client.client import Client
from kapy.kube import Key
from kapy.kube.names import NAMESPACES
from tests.real.core_managers import CORE, Managers, audit_of
from tests.real.processes import Stable
from tests.real.servers import Place
from tests.real.writes import one_after_the_other, writes


@pytest.mark.sockets
@pytest.mark.usefixtures("installed")
async def test_a_leader_writes_nothing_after_it_stopped_slept_or_was_cut_off(
    there: Place, client: Client, namespace: str, forks: Stable
) -> None:
    log = audit_of(there)
    async with AsyncExitStack() as stack:
        here = Managers(there, client, namespace, forks, stack)
        manager = await here.begin("one", "--leader-elect")
        await here.work()
        two = await here.begin("two", "--leader-elect")
        before = await here.holder()
        await manager.stop()
        assert await here.holder() != before  # it was given up: nobody waited for its time
        await here.work()

        three = await here.begin("three", "--leader-elect")
        two.signal(signal.SIGSTOP)
        await here.work()
        two.signal(signal.SIGCONT)
        assert "has it" in await two.gone()

        four = await here.begin("four", "--leader-elect")
        three.line.cut()
        await here.work()
        three.line.mend()
        assert "has it" in await three.gone()

        await here.begin("five", "--leader-elect")
        four.signal(signal.SIGKILL)
        await here.work()

        written = [write for write in await writes(client, log) if write.namespace == namespace]
        assert one_after_the_other(written) == ["one", "two", "three", "four", "five"]
        assert {write.manager for write in written} == {CORE.name}
    await client.delete(NAMESPACES, Key("", namespace))
