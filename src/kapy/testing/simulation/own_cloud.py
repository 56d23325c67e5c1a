"""The cloud of a custom provider, behind a network with latencies and faults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Final, TypeVar, cast

from kapy.kube.errors import ServerError, Unreachable
from kapy.testing.simulation.cloud_network import CloudNetwork, MakeError
from kapy.testing.simulation.event_loop import PROCESS
from kapy.testing.simulation.processes import ManagerProcess

CloudT = TypeVar("CloudT")

MOST: Final = 120
"""The maximum number of characters of a call's arguments in a report."""


def disturb_cloud(
    cloud: CloudT, *, lost: MakeError = Unreachable, failed: MakeError = ServerError
) -> CloudT:
    """Return a proxy of a cloud that adds latencies and faults for the processes of a simulation.

    Each call of an async method is a request at a point `c` of the manager: it takes time and may
    have a fault, and the cloud performs it even if the process ends. Arguments that are strings or
    integers name the request in reports. Outside of a simulation the proxy changes nothing.

    lost: makes the error of the provider's client for a request without a response. failed: makes
    its error for an error response of the cloud.
    """
    return cast(CloudT, _DisturbedCloud(cloud, lost, failed))


class _DisturbedCloud:
    """A proxy that carries a process's calls to a cloud through a simulated network."""

    def __init__(self, cloud: Any, lost: MakeError, failed: MakeError) -> None:
        self._cloud = cloud
        self._lost = lost
        self._failed = failed

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._cloud, name)
        return partial(self._request, name, value) if iscoroutinefunction(value) else value

    async def _request(
        self, name: str, method: Callable[..., Awaitable[Any]], *args: Any, **options: Any
    ) -> Any:
        process = PROCESS.get()
        if not isinstance(process, ManagerProcess):
            return await method(*args, **options)
        network = CloudNetwork(process, process.network, self._lost, self._failed, is_far=True)
        said = [str(value) for value in (*args, *options.values()) if isinstance(value, str | int)]
        act = partial(method, *args, **options)
        return await network.request(name, " ".join(said)[:MOST], act)
