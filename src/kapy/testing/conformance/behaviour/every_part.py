"""Checks of the rules that all roles share, with those about pauses and owner references."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Final

from kapy.api.names import Annotation
from kapy.clusterctl.move.kinds import resource_of
from kapy.kube import Document
from kapy.kube.names import CRDS, Resource, split_api_version
from kapy.testing.conformance.behaviour import deletion, lifecycle, limits, setup, template_changes
from kapy.testing.conformance.behaviour.check import Check, Look
from kapy.testing.conformance.errors import NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import Fixture, quote_writes
from kapy.testing.conformance.rules import RULES

_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)

_PAUSED: Final = {Annotation.PAUSED: ""}


async def _pausing(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that nothing is done for an object that is paused itself or through its Cluster."""
    await setup.create_complete(fixture, annotations=_PAUSED)
    await fixture.settle()
    for finding in _violations(fixture, f"the annotation {Annotation.PAUSED} is set"):
        yield finding
    await fixture.patch({"metadata": {"annotations": {Annotation.PAUSED: None}}})
    held = setup.finalizers(await setup.wait_until_done(fixture))
    await setup.pause(fixture, paused=True)
    await fixture.settle()
    await fixture.delete()
    await fixture.settle()
    if held and await fixture.read() is None:
        yield fixture.finding(
            "",
            "the Cluster's spec.paused is true; it was deleted, and is gone",
            "leave what is paused alone, also when it is to be deleted",
        )
    await setup.pause(fixture, paused=False)


def _violations(fixture: Fixture, how: str) -> list[Finding]:
    wrong = setup.evidence_of_work(fixture, fixture.writes())
    if not wrong:
        return []
    remedy = "look for the annotation and for spec.paused of the Cluster before anything is made"
    return [fixture.finding("", f"{how}, and yet: {quote_writes(wrong)}", remedy)]


async def _paused_condition(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the condition Paused reports the pause."""
    await setup.create_complete(fixture)
    await setup.wait_until_done(fixture)
    for paused in (True, False):
        await setup.pause(fixture, paused=paused)
        if await fixture.wait_for(_says(str(paused))) is None:
            result = _pause_error((await fixture.read()) or {}) or "not there"
            yield fixture.finding(
                "status.conditions[Paused]",
                f"spec.paused of the Cluster is {str(paused).lower()}, the condition is {result}",
                "set the condition Paused each time that the object is looked at",
            )
            return


def _says(wanted: str) -> Callable[[Document], bool]:
    return lambda value: _pause_error(value) == wanted


def _pause_error(document: Document) -> str:
    conditions = (document.get("status") or {}).get("conditions") or ()
    return next(
        (str(item.get("status")) for item in conditions if item.get("type") == "Paused"), ""
    )


async def _owner_finalizers(fixture: Fixture) -> AsyncIterator[Finding]:
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


_LOOKS: Final[dict[str, tuple[Look, int]]] = {
    "watch": (lifecycle.watch, 0),
    "owner": (lifecycle.owner, 0),
    "finalizer": (lifecycle.finalizer, 0),
    "restored": (lifecycle.restored, 0),
    "idle": (lifecycle.idle, 0),
    "initialized": (lifecycle.initialized, 0),
    "deletion": (deletion.deletion, 0),
    "stopped": (deletion.stopped, 0),
    "pausing": (_pausing, 0),
    "paused-condition": (_paused_condition, 0),
    "owner-finalizers": (_owner_finalizers, 0),
    "ssa-dry-run": (template_changes.ssa_dry_run, 0),
    "immutable": (template_changes.immutable, 0),
    "instances": (limits.instances, 1),
}
_MAKES: Final = {"stopped": 2, "instances": 3}


def checks(part: str) -> list[Check]:
    """Return the shared checks for which a role has rules."""
    return [
        Check(f"{part}/{name}", run, stage, objects_created=_MAKES.get(name, 1))
        for name, (run, stage) in _LOOKS.items()
        if f"{part}/{name}" in RULES
    ]
