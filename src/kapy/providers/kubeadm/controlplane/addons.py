"""kube-proxy and CoreDNS in the workload cluster, brought to the control plane's version.

Once for each generation of the control plane, when all its Machines are as wanted. References of
container images are taken apart and put together again.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.names import Annotation
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.model import encode
from kapy.kube.names import CONFIG_MAPS, DAEMON_SETS, DEPLOYMENTS, Resource
from kapy.kube.version import compare, parse_image_tag, parse_tolerant
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.providers.kubeadm.controlplane.upgrade import update_kubeadm_config
from kapy.sdk import Client, Result

_REFERENCE: Final = re.compile(
    r"(?:(?P<repository>.+)/)?(?P<name>[^/:@]+)(?::(?P<tag>[\w][\w.-]*))?(?P<digest>@\w+:\w+)?\Z"
)
_NOT_IN_TAGS: Final = re.compile(r"[^-a-zA-Z0-9_.]")


class BadImage(KapyError):
    """The text is not the name of an image."""


class Image(NamedTuple):
    """An image name with its parts: `repository/name:tag@digest`."""

    repository: str
    name: str
    tag: str
    digest: str = ""

    def __str__(self) -> str:
        path = f"{self.repository}/{self.name}" if self.repository else self.name
        return path + (f":{self.tag}" if self.tag else "") + self.digest


def parse_image(text: str) -> Image:
    """Return the parts of an image's reference. Raises BadImage."""
    match = _REFERENCE.match(text)
    if match is None:
        raise BadImage(f'"{text}" is no image')
    return Image(
        match["repository"] or "", match["name"], match["tag"] or "", match["digest"] or ""
    )


def with_tag(image: Image, version: str) -> Image:
    """Return the image of a version; build metadata (`+`) becomes `_`, which tags allow. Raises
    BadImage for an image with a digest.
    """
    if image.digest:
        raise BadImage("image uses digest as version, cannot update tag")
    return image._replace(tag=_NOT_IN_TAGS.sub("_", version))


def with_repository(image: Image, repository: str) -> Image:
    """Return the image in another repository."""
    return image._replace(repository=repository.removesuffix("/"))


_NAMESPACE: Final = "kube-system"
_PROXY: Final = "kube-proxy"
_DNS: Final = "coredns"
_COREFILE: Final = "Corefile"
_OLD_REPOSITORIES: Final = ("k8s.gcr.io", "registry.k8s.io")
_RENAMED_SINCE: Final = parse_tolerant("1.8.0")
_COREFILE_STABLE_SINCE: Final = parse_tolerant("1.8.0")
"""From here on no release took something out of the Corefile that kubeadm writes."""


class BadCoreDns(KapyError):
    """CoreDNS cannot be upgraded to the requested version."""


async def update_addons(dependencies: Dependencies, plane: ControlPlane) -> Result | None:
    """Update kube-proxy and CoreDNS; a missing add-on is ignored."""
    kcp = plane.kcp
    mark = (kcp.metadata.uid, kcp.metadata.generation)
    if dependencies.cache.addons.get(kcp.key) == mark or not plane.is_initialized:
        return None
    client = dependencies.remote.client(plane.cluster.key)
    if Annotation.SKIP_KUBE_PROXY not in kcp.metadata.annotations:
        await _update_proxy(client, kcp)
    if Annotation.SKIP_COREDNS not in kcp.metadata.annotations:
        await _update_dns(client, kcp)
    dependencies.cache.addons[kcp.key] = mark
    return None


async def _update_proxy(client: Client, kcp: KubeadmControlPlane) -> None:
    key = Key(_NAMESPACE, _PROXY)
    try:
        daemon_set = await client.get(DAEMON_SETS, key)
    except NotFound:
        return
    current = _image_of(daemon_set, _PROXY)
    if current is None:
        return
    image = with_tag(parse_image(current), kcp.spec.version)
    repository = kcp.spec.kubeadm_config_spec.cluster_configuration.image_repository
    if repository:
        image = with_repository(image, repository)
    await _set_image(client, DAEMON_SETS, daemon_set, _PROXY, str(image))


async def _update_dns(client: Client, kcp: KubeadmControlPlane) -> None:
    configuration = kcp.spec.kubeadm_config_spec.cluster_configuration
    if not encode(configuration):
        return
    key = Key(_NAMESPACE, _DNS)
    try:
        config_map = await client.get(CONFIG_MAPS, key)
        deployment = await client.get(DEPLOYMENTS, key)
    except NotFound:
        return
    corefile = (config_map.get("data") or {}).get(_COREFILE)
    if corefile is None:
        raise BadCoreDns(
            f"unable to find the CoreDNS {_COREFILE} data: ConfigMap {key} must hold it under"
            f" {_COREFILE}, or the annotation {Annotation.SKIP_COREDNS} be set"
        )
    current = _image_of(deployment, _DNS)
    if current is None:
        raise BadCoreDns(
            f'failed to update coredns deployment: deployment spec has no "{_DNS}" container'
        )
    image = dns_image(current, kcp)
    if str(image) == current:
        return
    _check_dns_tags(parse_image(current).tag, image.tag)
    wanted = {"dns": encode(configuration.dns) or None}
    await update_kubeadm_config(client, kcp.spec.version, wanted)
    # Upstream keeps it, so that users can go back.
    await client.patch(CONFIG_MAPS, key, {"data": {f"{_COREFILE}-backup": corefile}})
    await _set_image(client, DEPLOYMENTS, deployment, _DNS, str(image))


def dns_image(current: str, kcp: KubeadmControlPlane) -> Image:
    """Return the image that CoreDNS should have. Raises BadImage, BadCoreDns."""
    configuration = kcp.spec.kubeadm_config_spec.cluster_configuration
    image = parse_image(current)
    if not image.tag:
        raise BadCoreDns(
            f'failed to update coredns deployment: does not have a valid image tag: "{current}"'
        )
    repository = configuration.dns.image_repository or configuration.image_repository
    if repository:
        image = with_repository(image, repository)
    if configuration.dns.image_tag:
        image = image._replace(tag=configuration.dns.image_tag)
    is_new = compare(parse_image_tag(image.tag), _RENAMED_SINCE, pre_releases=False) >= 0
    if image.repository in _OLD_REPOSITORIES and image.name == _DNS and is_new:
        image = image._replace(name=f"{_DNS}/{_DNS}")
    return image


def _check_dns_tags(current: str, wanted: str) -> None:
    old, new = parse_image_tag(current), parse_image_tag(wanted)
    if compare(old, new, pre_releases=False) > 0:
        raise BadCoreDns(
            f'failed to validate CoreDNS: toVersion "{wanted}" must be greater than or equal to'
            f' fromVersion "{current}"'
        )
    if compare(old, _COREFILE_STABLE_SINCE, pre_releases=False) < 0 and old.core != new.core:
        raise BadCoreDns(
            f"the Corefile of CoreDNS {current} cannot be migrated: upgrade it by hand to at"
            f" least v{_COREFILE_STABLE_SINCE} first, or set the annotation"
            f" {Annotation.SKIP_COREDNS}"
        )


def _containers(workload: Document) -> list[dict[str, Any]]:
    containers: list[dict[str, Any]] = workload["spec"]["template"]["spec"].get("containers") or []
    return containers


def _image_of(workload: Document, container: str) -> str | None:
    return next(
        (item.get("image", "") for item in _containers(workload) if item["name"] == container), None
    )


async def _set_image(
    client: Client, resource: Resource, workload: Document, container: str, image: str
) -> None:
    if _image_of(workload, container) == image:
        return
    containers = [
        {**item, "image": image} if item["name"] == container else item
        for item in _containers(workload)
    ]
    patch = {
        "metadata": {"resourceVersion": workload["metadata"]["resourceVersion"]},
        "spec": {"template": {"spec": {"containers": containers}}},
    }
    await client.patch(resource, Key.of(workload), patch)
