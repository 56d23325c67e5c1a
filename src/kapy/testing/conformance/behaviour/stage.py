"""Setting a scene: a Cluster, a Machine or a MachinePool, and the provider's objects below them.

`PARTS` says of each part that a contract has for a kind what belongs to it; the checks that all
parts have in common know nothing else of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.errors import ContractError
from kapy.contract.fields import Field, View
from kapy.contract.infra_cluster import InfraCluster
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.infra_machine_pool import InfraMachinePool
from kapy.kube import Document
from kapy.testing.conformance.behaviour.check import CannotRun
from kapy.testing.conformance.heard import Write
from kapy.testing.conformance.scene import CLUSTER, NAME, Scene

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
    await scene.core.machine(CLUSTER, name, example, bootstrap_data=told)


async def _pool(scene: Scene, name: str, example: Document, data: bool) -> None:  # noqa: FBT001
    await scene.core.machine_pool(CLUSTER, name, example)
    if data:
        await scene.core.pool_bootstrap(CLUSTER, name, DATA)


async def _config(scene: Scene, name: str, example: Document, _: bool) -> None:  # noqa: FBT001
    await scene.core.booting_machine(CLUSTER, name, example)


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
        found = await scene.core.cluster(CLUSTER, **spec)
    else:
        kind = kinds[0]
        found = await scene.core.cluster(CLUSTER, scene.example(CLUSTER, kind), **spec)
        if ready:
            await scene.until(
                lambda one: InfraCluster(one, kind.contract).provisioned,
                "provisioned",
                CLUSTER,
                kind.resource,
            )
    if ready:
        await scene.core.cluster_provisioned(CLUSTER)
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


async def around(scene: Scene) -> None:
    """The Cluster that an object of the scene's kind needs, if it does not bring its own."""
    if part(scene).around:
        await cluster(scene)


async def done(scene: Scene, name: str = NAME) -> Document:
    """Wait until an object's flag is set. Raises CannotRun."""
    return await scene.until(lambda one: is_done(scene, one), flag(scene), name)


async def pause(scene: Scene, *, paused: bool) -> None:
    """Pause or resume the Cluster that `whole` puts the object below."""
    name = CLUSTER if part(scene).around else NAME
    await scene.patch({"spec": {"paused": paused or None}}, name, Cluster.RESOURCE)


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
        return write.created
    return write.after is not None and bool(made(scene, write.after))


def made(scene: Scene, document: Document) -> list[str]:
    """The fields of an object that tell that something is there."""
    names, example = part(scene).shows, scene.kind.example
    return [
        name for name in names if value(scene, document, name) and not value(scene, example, name)
    ]
