"""Upstream's webhooks as built-in admission: the rules of `kapy.api`, called in process.

Clusters and ClusterClasses are also validated by rules that read other objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from kapy.api.absent import read_with_zeros
from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.defaults import CannotDefault, default
from kapy.api.extension_config import ExtensionConfig
from kapy.api.features import DEFAULT_GATES, FeatureGates
from kapy.api.ip_address import IPAddress
from kapy.api.kinds import KINDS
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.names import CLUSTER_GROUP, CONTROL_PLANE_GROUP, IPAM_GROUP
from kapy.api.validation import validate
from kapy.api.validation.features import is_closed
from kapy.api.validation.kubeadm_control_plane import scale_problem
from kapy.apiserver.admission.plugin import Review, denial_message
from kapy.client.client import Client
from kapy.core.cluster.admission import topology_defaults, topology_findings
from kapy.core.clusterclass.admission import change_errors, deletion_problem
from kapy.core.ipaddress.admission import claim_errors
from kapy.kube import Document
from kapy.kube.errors import ApiError, BadRequest, Forbidden, Invalid
from kapy.kube.field_errors import FieldError, aggregate
from kapy.kube.meta import read
from kapy.kube.model import decode_problem
from kapy.kube.names import Resource

if TYPE_CHECKING:
    from kapy.hooks.transport import HookTransport


async def apply_class_defaults(
    client: Client, review: Review, document: Document
) -> tuple[Document, Sequence[FieldError]]:
    """Return a Cluster with the defaults of its class; other kinds are unchanged."""
    if review.resource != Cluster.RESOURCE:
        return document, ()
    return await topology_defaults(client, document, review.old)


async def validate_class_usage(
    client: Client, review: Review
) -> tuple[Sequence[FieldError], Sequence[str]]:
    """Errors and warnings for a Cluster by its class, or for a ClusterClass by its Clusters. There
    are none for other kinds."""
    if review.resource == Cluster.RESOURCE and review.new is not None:
        old = read(review.old, Cluster) if review.old is not None else None
        return await topology_findings(client, read(review.new, Cluster), old)
    changed = review.new is not None and review.old is not None
    if review.resource == ClusterClass.RESOURCE and changed:
        before, after = (read(item or {}, ClusterClass) for item in (review.old, review.new))
        return await change_errors(client, before, after), ()
    return (), ()


async def deletion_refusal(client: Client, review: Review) -> str:
    """Return the reason for which an object cannot be deleted; "" if it can."""
    if review.resource != ClusterClass.RESOURCE or review.old is None:
        return ""
    return await deletion_problem(client, read(review.old, ClusterClass))


_RESOURCES: Final = frozenset(kind.type_of().RESOURCE for kind in KINDS)


class AdmissionRules:
    """Defaulting and validation of our kinds.

    post: connects to extensions; None if extensions are not asked which hooks they serve.
    """

    def __init__(
        self, gates: FeatureGates = DEFAULT_GATES, post: Callable[[], HookTransport] | None = None
    ) -> None:
        self._gates, self._post = gates, post
        self._client: Client | None = None

    def enable_reads(self, client: Client) -> None:
        """Also run the checks that read other objects, from now on."""
        self._client = client

    def handles(self, resource: Resource, subresource: str) -> bool:
        """Our kinds except their status, which only controllers write, and the scale of control
        planes, where some replica counts are invalid."""
        if subresource == "scale":
            return resource == KubeadmControlPlane.RESOURCE
        return not subresource and resource in _RESOURCES

    async def default(self, review: Review) -> Document:
        with _decoding("default", review.resource):
            return await self._default(review)

    async def _default(self, review: Review) -> Document:
        assert review.new is not None
        if review.subresource:
            return review.new
        try:
            work = partial(default, review.new, review.old, dry_run=review.dry_run)
            document = await review.compute(work) if review.large else work()
        except CannotDefault as error:
            if error.errors:
                raise _validation_error(
                    review.resource, review.name, error.errors, "default"
                ) from None
            raise Forbidden(_denial_message("default", review.resource, str(error))) from None
        if self._client is not None and self._gates.cluster_topology:
            document, errors = await apply_class_defaults(self._client, review, document)
            if errors:
                raise _validation_error(review.resource, review.name, errors, "default")
        return document

    async def validate(self, review: Review) -> Sequence[str]:
        with _decoding("validation", review.resource):
            return await self._validate(review)

    async def _validate(self, review: Review) -> Sequence[str]:
        resource = review.resource
        if review.new is None or review.operation == "DELETE":
            await self._validate_deletion(review)
            return ()
        if review.subresource:
            if problem := scale_problem(read(review.new, KubeadmControlPlane)):
                raise Forbidden(_denial_message("validation-scale", resource, problem))
            return ()
        work = partial(validate, review.new, review.old, gates=self._gates, dry_run=review.dry_run)
        errors = await review.compute(work) if review.large else work()
        if self._client is not None and resource == IPAddress.RESOURCE and review.old is None:
            errors += await claim_errors(self._client, read_with_zeros(review.new, IPAddress))
        warnings: Sequence[str] = ()
        if self._client is not None and self._gates.cluster_topology:
            more, warnings = await validate_class_usage(self._client, review)
            errors += more
        if errors:
            review.warnings.extend(warnings)
            raise _validation_error(resource, review.name, errors)
        if resource == ExtensionConfig.RESOURCE:
            return await self._deprecated_hooks(review)
        return warnings

    async def _deprecated_hooks(self, review: Review) -> Sequence[str]:
        if self._client is None or not self._gates.runtime_sdk:
            return ()
        from kapy.apps.extensions.deprecations import deprecation_warnings  # all hooks

        assert review.new is not None
        old = None if review.old is None else read_with_zeros(review.old, ExtensionConfig)
        new = read_with_zeros(review.new, ExtensionConfig)
        return await deprecation_warnings(new, old, self._client, self._post)

    async def _validate_deletion(self, review: Review) -> None:
        if self._client is None or not self._gates.cluster_topology:
            return
        if problem := await deletion_refusal(self._client, review):
            resource = review.resource
            named = f'{resource.kind}.{resource.group} "{review.name}" is forbidden: {problem}'
            raise Forbidden(_denial_message("validation", resource, named))


@contextmanager
def _decoding(webhook: str, resource: Resource) -> Iterator[None]:
    """Refuse an object that passed its CRD's schema and has a value of a wrong type nevertheless.

    A CRD does not describe everything: the schema of a variable may nest without end.
    """
    try:
        yield
    except msgspec.ValidationError as error:
        path, reason = decode_problem(error)
        problem = f"{path}: {reason}" if path else reason
        raise BadRequest(_denial_message(webhook, resource, problem)) from None


def _validation_error(
    resource: Resource, name: str, errors: Sequence[FieldError], action: str = "validation"
) -> ApiError:
    """Upstream's webhooks answer 422 with field errors, and 403 for plain errors."""
    if resource.group == IPAM_GROUP or is_closed(errors):
        return Forbidden(_denial_message(action, resource, aggregate(errors)))
    # Webhooks of control planes report errors with the core group, which clients may check.
    group = CLUSTER_GROUP if resource.group == CONTROL_PLANE_GROUP else resource.group
    refusal = Invalid.of(resource.kind, group, name, errors)
    return Invalid(_denial_message(action, resource, str(refusal)), details=refusal.details)


def _denial_message(webhook: str, resource: Resource, reason: str) -> str:
    """Return a server's message about a denied request, with the name of upstream's webhook."""
    return denial_message(f"{webhook}.{resource.kind.lower()}.{resource.group}", reason)
