"""Owner references that block the deletion of their owner."""

from __future__ import annotations

from collections.abc import AsyncIterator

from kapy.clusterctl.move.kinds import resource_of
from kapy.kube import Document
from kapy.kube.names import CRDS, Resource, split_api_version
from kapy.testing.conformance.behaviour import stage
from kapy.testing.conformance.errors import NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.scene import Scene

_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)


async def owner_finalizers(scene: Scene) -> AsyncIterator[Finding]:
    """Who makes such references may update the finalizers of the owner.

    An API server may have an admission plugin that refuses them otherwise.
    """
    rights = scene.world.subject.rights
    await stage.whole(scene)
    await stage.done(scene)
    blocking = {
        (one["apiVersion"], one["kind"])
        for write in scene.writes()
        for one in ((write.after or {}).get("metadata") or {}).get("ownerReferences") or ()
        if one.get("blockOwnerDeletion") and write.created
    }
    if not blocking:
        raise NotApplicable("no owner reference of the provider blocks a deletion")
    if not rights:
        raise NotApplicable("the provider's rights are not known: its release has none")
    for api_version, kind in sorted(blocking):
        if not await _may(scene, rights, api_version, kind):
            yield scene.fault(
                "metadata.ownerReferences",
                f"an owner reference to a {kind} has blockOwnerDeletion, and {rights} may not "
                f"update the finalizers of {kind}s",
                f"grant the verb update for the subresource finalizers of {kind}s",
            )


async def _may(scene: Scene, user: str, api_version: str, kind: str) -> bool:
    group, _ = split_api_version(api_version)
    crds = (await scene.client.list(CRDS)).items
    served = (resource_of(one) for one in crds if one["spec"]["group"] == group)
    plural = next((one.plural for one in served if one.kind == kind), "")
    asked = {
        "namespace": scene.namespace,
        "verb": "update",
        "group": group,
        "resource": plural,
        "subresource": "finalizers",
    }
    review: Document = {
        "apiVersion": _REVIEWS.api_version,
        "kind": _REVIEWS.kind,
        "metadata": {},
        "spec": {"user": user, "resourceAttributes": asked},
    }
    answer = await scene.client.create(_REVIEWS, review)
    return bool(answer["status"].get("allowed"))
