"""Checks of owner references that block the deletion of their owner."""

from __future__ import annotations

from collections.abc import AsyncIterator

from kapy.clusterctl.move.kinds import resource_of
from kapy.kube import Document
from kapy.kube.names import CRDS, Resource, split_api_version
from kapy.testing.conformance.behaviour import setup
from kapy.testing.conformance.errors import NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import Fixture

_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)


async def owner_finalizers(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that a provider which sets blockOwnerDeletion may update the owner's finalizers.

    Otherwise an API server with the admission plugin OwnerReferencesPermissionEnforcement refuses
    them.
    """
    rights = fixture.session.provider.user
    await setup.create_complete(fixture)
    await setup.wait_until_done(fixture)
    blocking = {
        (reference["apiVersion"], reference["kind"])
        for write in fixture.writes()
        for reference in ((write.after or {}).get("metadata") or {}).get("ownerReferences") or ()
        if reference.get("blockOwnerDeletion") and write.created
    }
    if not blocking:
        raise NotApplicable("no owner reference of the provider blocks a deletion")
    if not rights:
        raise NotApplicable("the provider's rights are not known: its release has none")
    for api_version, kind in sorted(blocking):
        if not await _may(fixture, rights, api_version, kind):
            yield fixture.finding(
                "metadata.ownerReferences",
                f"an owner reference to a {kind} has blockOwnerDeletion, and {rights} may not "
                f"update the finalizers of {kind}s",
                f"grant the verb update for the subresource finalizers of {kind}s",
            )


async def _may(fixture: Fixture, user: str, api_version: str, kind: str) -> bool:
    group, _ = split_api_version(api_version)
    crds = (await fixture.client.list(CRDS)).items
    served = (resource_of(crd) for crd in crds if crd["spec"]["group"] == group)
    plural = next((resource.plural for resource in served if resource.kind == kind), "")
    request = {
        "namespace": fixture.namespace,
        "verb": "update",
        "group": group,
        "resource": plural,
        "subresource": "finalizers",
    }
    review: Document = {
        "apiVersion": _REVIEWS.api_version,
        "kind": _REVIEWS.kind,
        "metadata": {},
        "spec": {"user": user, "resourceAttributes": request},
    }
    answer = await fixture.client.create(_REVIEWS, review)
    return bool(answer["status"].get("allowed"))
