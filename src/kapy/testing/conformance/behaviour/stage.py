"""Setting a scene: a Cluster, a Machine or a MachinePool, and the provider's objects below them.

`PARTS` says of each part that a contract has for a kind what belongs to it; the checks that all
parts have in common know nothing else of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.names import Label
from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.control_plane import ControlPlane
from kapy.contract.errors import ContractError
from kapy.contract.fields import Field, View
from kapy.contract.infra_cluster import InfraCluster
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.infra_machine_pool import InfraMachinePool
from kapy.kube import Document
from kapy.kube.model import encode
from kapy.testing.conformance.company import DOMAINS, INFRASTRUCTURE, Accompanied
from kapy.testing.conformance.errors import CannotRun
from kapy.testing.conformance.heard import Write
from kapy.testing.conformance.scene import NAME, Scene
from kapy.testing.played_core import reference

DATA: Final = b"#cloud-config\n"
ENDPOINT: Final = {"host": "cluster.example", "port": 6443}


@dataclass(frozen=True)
class Part:
    """What a contract says of a kind.

    view: its fields. done: the name of the one that says that everything is there, flag: of the
    field where it stands. shows: fields that tell that something was made. make: creates what owns
    an object, the object, and with `data` what it waits for. around: a Cluster is made before.
    """

    view: type[View]
    done: str
    flag: Field[Any]
    shows: tuple[str, ...]
    make: Callable[[Scene, str, Document, bool], Awaitable[None]]
    around: bool = True


async def _cluster(scene: Scene, name: str, example: Document, data: bool) -> None:  # noqa: FBT001
    spec: dict[str, Any] = {"controlPlaneEndpoint": ENDPOINT} if data else {}
    await scene.core.cluster(name, example, **spec)


async def _machine(scene: Scene, name: str, example: Document, data: bool) -> None:  # noqa: FBT001
    told = DATA if data else None
    await scene.core.machine(scene.cluster, name, example, bootstrap_data=told)


async def _pool(scene: Scene, name: str, example: Document, data: bool) -> None:  # noqa: FBT001
    await scene.core.machine_pool(scene.cluster, name, example)
    if data:
        await scene.core.pool_bootstrap(scene.cluster, name, DATA)


async def _config(scene: Scene, name: str, example: Document, _: bool) -> None:  # noqa: FBT001
    await scene.core.booting_machine(scene.cluster, name, example)


async def _control_plane(scene: Scene, name: str, example: Document, data: bool) -> None:  # noqa: FBT001
    if isinstance(scene.world.subject.way, Accompanied):
        await _accompanied(scene, name, example, data=data)
        return
    spec: dict[str, Any] = {"controlPlaneRef": reference(example)}
    if data:
        spec["controlPlaneEndpoint"] = ENDPOINT
    cluster = await scene.core.cluster(name, provisioned=True, **spec)
    domains = {"status": {"failureDomains": list(map(encode, DOMAINS))}}
    await scene.patch(domains, name, Cluster.RESOURCE, "status")
    await scene.core.create_owned(example, cluster, {Label.CLUSTER_NAME: name}, controller=True)


async def _accompanied(scene: Scene, name: str, example: Document, *, data: bool) -> None:
    """Core does the rest. data: somebody makes an endpoint."""
    where = {"name": name, "namespace": scene.namespace}
    example = {**example, "metadata": {**example["metadata"], **where}}
    spec: dict[str, Any] = {"controlPlaneRef": reference(example)}
    if data:
        infra = await scene.create({**INFRASTRUCTURE, "metadata": where})
        spec["infrastructureRef"] = reference(infra)
    await scene.create(example)
    await scene.core.cluster(name, **spec)


PARTS: Final = {
    "infra-cluster": Part(
        InfraCluster,
        "provisioned",
        InfraCluster.provisioned,
        ("provisioned",),
        _cluster,
        around=False,
    ),
    "infra-machine": Part(
        InfraMachine,
        "provisioned",
        InfraMachine.provisioned,
        ("provider_id", "provisioned", "addresses"),
        _machine,
    ),
    "infra-machinepool": Part(
        InfraMachinePool,
        "provisioned",
        InfraMachinePool.initialized,
        ("provider_id_list", "provisioned"),
        _pool,
    ),
    "bootstrap-config": Part(
        BootstrapConfig,
        "data_secret_created",
        BootstrapConfig.data_secret_created,
        ("data_secret_name", "data_secret_created"),
        _config,
    ),
    "control-plane": Part(
        ControlPlane,
        "initialized",
        ControlPlane.initialized,
        ("initialized",),
        _control_plane,
        around=False,
    ),
}


def part(scene: Scene) -> Part:
    """The part of the scene's kind."""
    return PARTS[scene.kind.role]


def value(scene: Scene, document: Document, name: str) -> Any:
    """A field of the contract, of an object of the scene's kind; None where it is unreadable."""
    try:
        return getattr(part(scene).view(document, scene.kind.contract), name)
    except ContractError:
        return None


def flag(scene: Scene) -> str:
    """The path of the field that says that everything is there."""
    return part(scene).flag.path(scene.kind.contract)


def is_done(scene: Scene, document: Document) -> bool:
    """Whether its flag is set."""
    return bool(value(scene, document, part(scene).done))


async def cluster(scene: Scene, *, ready: bool = True, **spec: Any) -> Document:
    """A Cluster with everything that objects below it need of it.

    ready: its infrastructure is there. Raises CannotRun where the provider's own never is.
    """
    spec = {"controlPlaneEndpoint": ENDPOINT, **spec}
    kinds = scene.world.subject.of("infra-cluster")
    if not kinds:
        found = await scene.core.cluster(scene.cluster, **spec)
    else:
        kind = kinds[0]
        found = await scene.core.cluster(scene.cluster, scene.example(scene.cluster, kind), **spec)
        if ready:
            await scene.until(
                lambda one: InfraCluster(one, kind.contract).provisioned,
                "provisioned",
                scene.cluster,
                kind.resource,
            )
    if ready:
        await scene.core.cluster_provisioned(scene.cluster)
    return found


async def owned(scene: Scene, name: str = NAME, *, data: bool = True, **metadata: Any) -> Document:
    """An object of the scene's kind below its owner, in the Cluster that there is.

    data: what it waits for is there, too. Returns the object as it was created.
    """
    await part(scene).make(scene, name, scene.example(name, **metadata), data)
    found = await scene.read(name)
    if found is None:
        raise CannotRun(f"{scene.kind.resource.kind} {name} vanished")
    return found


async def whole(scene: Scene, **metadata: Any) -> Document:
    """An object of the scene's kind, with all that it needs around it."""
    await around(scene)
    return await owned(scene, **metadata)


async def around(scene: Scene, *, ready: bool = True) -> None:
    """The Cluster that an object of the scene's kind needs, if it does not bring its own."""
    if part(scene).around:
        await cluster(scene, ready=ready)


async def done(scene: Scene, name: str = NAME) -> Document:
    """Wait until an object's flag is set. Raises CannotRun."""
    return await scene.until(lambda one: is_done(scene, one), flag(scene), name)


async def take_over(scene: Scene, name: str) -> None:
    """A Machine gets the name of its boot data, as core sees to when it is there."""
    if part(scene).view is BootstrapConfig:
        secret = value(scene, await scene.read(name) or {}, "data_secret_name")
        spec = {"spec": {"bootstrap": {"dataSecretName": secret}}}
        await scene.patch(spec, name, Machine.RESOURCE)


async def pause(scene: Scene, *, paused: bool) -> None:
    """Pause or resume the Cluster that `whole` puts the object below."""
    patch = {"spec": {"paused": paused or None}}
    await scene.patch(patch, cluster_name(scene), Cluster.RESOURCE)


def cluster_name(scene: Scene, name: str = NAME) -> str:
    """The Cluster that an object of that name is below."""
    return scene.cluster if part(scene).around else name


def finalizers(document: Document | None) -> list[str]:
    """Of an object."""
    return list(((document or {}).get("metadata") or {}).get("finalizers") or ())


def to_object(writes: Iterable[Write], scene: Scene, name: str = NAME) -> list[Write]:
    """The writes to one object of the scene's kind."""
    resource = scene.kind.resource
    wanted = (resource.plural, resource.group, name)
    return [one for one in writes if (one.plural, one.group, one.key.name) == wanted]


def begun(scene: Scene, writes: Iterable[Write], name: str = NAME) -> list[Write]:
    """The writes that show that something was made for an object: another object, or a field that
    the contract has for what is there."""
    return [one for one in writes if _shows(scene, one, name)]


def _shows(scene: Scene, write: Write, name: str) -> bool:
    if not to_object([write], scene, name):
        return write.created and is_for(write, name)
    return write.after is not None and bool(made(scene, write.after))


def is_for(write: Write, name: str) -> bool:
    """Whether what is created is for the object of that name, as owners or its own name tell."""
    owners = ((write.after or {}).get("metadata") or {}).get("ownerReferences") or ()
    if owners:
        return any(one.get("name") == name for one in owners)
    return name in write.key.name


def made(scene: Scene, document: Document) -> list[str]:
    """The fields of an object that tell that something is there."""
    names, example = part(scene).shows, scene.kind.example
    return [
        name for name in names if value(scene, document, name) and not value(scene, example, name)
    ]
