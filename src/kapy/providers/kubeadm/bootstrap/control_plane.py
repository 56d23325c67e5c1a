"""What the templates of a KubeadmConfig may know of the cluster's control plane."""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.sdk import Absent, ControlPlane, External, Found, NotYet, Runtime, Unreadable


class ControlPlanes:
    """The control plane objects of all clusters, whichever provider they are of."""

    def __init__(self, external: External) -> None:
        self._external = external

    @classmethod
    def of(cls, runtime: Runtime) -> ControlPlanes:
        """Control planes as the runtime's server has them."""
        return cls(External(runtime.client, runtime.cache))

    async def version(self, cluster: Cluster) -> str:
        """The version that the control plane should have, "" when there is none to be known.

        Raises NotYet when the object is not there, and whatever made it unreadable.
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
