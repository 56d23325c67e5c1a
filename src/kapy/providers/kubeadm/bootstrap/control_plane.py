"""The control plane's version, for templates in a KubeadmConfig."""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.sdk import (
    NotYet,
    Runtime,
)
from kapy.sdk.contracts import Absent, ControlPlane, External, Found, Unreadable


class ControlPlanes:
    """The control plane objects of all clusters, of any provider."""

    def __init__(self, external: External) -> None:
        self._external = external

    @classmethod
    def of(cls, runtime: Runtime) -> ControlPlanes:
        """Return the control plane objects on a runtime's server."""
        return cls(External(runtime.client, runtime.cache))

    async def version(self, cluster: Cluster) -> str:
        """Return the desired version of the control plane, "" if it is unknown.

        Raises NotYet if the object does not exist, and errors that made it unreadable.
        """
        reference = cluster.spec.control_plane_ref
        if reference is None:
            return ""
        namespace = cluster.metadata.namespace
        match await self._external.get(reference, namespace, ControlPlane):
            case Found(view):
                return view.version or ""
            case Absent():
                raise NotYet(f"failed to read control plane version: {reference.name} is not there")
            case Unreadable(error):
                raise error
