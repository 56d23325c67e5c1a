"""Set up fixtures: a Cluster, a Machine or a MachinePool, and the provider's objects below them.

`ROLE_SETUPS` describes each role of the contract; checks that all roles share use nothing else.
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
from kapy.kube.names import split_api_version
from kapy.testing.conformance.core_controllers import DOMAINS, INFRASTRUCTURE, WithCoreControllers
from kapy.testing.conformance.errors import CannotRun
from kapy.testing.conformance.fixture import NAME, Fixture
from kapy.testing.conformance.write_log import Write
from kapy.testing.fake_core import reference

DATA: Final = b"#cloud-config\n"
ENDPOINT: Final = {"host": "cluster.example", "port": 6443}


@dataclass(frozen=True)
class RoleSetup:
    """The means to create and recognize objects of one contract role.

    view: the contract's fields. done_field: name of the field that reports completion; flag: its
    field. evidence_fields: fields which show that something was made. make: creates the owner, the
    object and, with `data`, its inputs. needs_cluster: a Cluster is created first.
    """

    view: type[View]
    done_field: str
    flag: Field[Any]
    evidence_fields: tuple[str, ...]
    make: Callable[[Fixture, str, Document, bool], Awaitable[None]]
    needs_cluster: bool = True


async def _cluster(fixture: Fixture, name: str, example: Document, data: bool) -> None:  # noqa: FBT001
    spec: dict[str, Any] = {"controlPlaneEndpoint": ENDPOINT} if data else {}
    await fixture.core.cluster(name, example, **spec)


async def _machine(fixture: Fixture, name: str, example: Document, data: bool) -> None:  # noqa: FBT001
    text = DATA if data else None
    await fixture.core.machine(fixture.cluster, name, example, bootstrap_data=text)


async def _pool(fixture: Fixture, name: str, example: Document, data: bool) -> None:  # noqa: FBT001
    await fixture.core.machine_pool(fixture.cluster, name, example)
    if data:
        await fixture.core.pool_bootstrap(fixture.cluster, name, DATA)


async def _config(fixture: Fixture, name: str, example: Document, _: bool) -> None:  # noqa: FBT001
    await fixture.core.booting_machine(fixture.cluster, name, example)


async def _control_plane(fixture: Fixture, name: str, example: Document, data: bool) -> None:  # noqa: FBT001
    if isinstance(fixture.session.provider.launcher, WithCoreControllers):
        await _with_core_controllers(fixture, name, example, data=data)
        return
    spec: dict[str, Any] = {"controlPlaneRef": reference(example)}
    if data:
        spec["controlPlaneEndpoint"] = ENDPOINT
    cluster = await fixture.core.cluster(name, provisioned=True, **spec)
    domains = {"status": {"failureDomains": list(map(encode, DOMAINS))}}
    await fixture.patch(domains, name, Cluster.RESOURCE, "status")
    await fixture.core.create_owned(example, cluster, {Label.CLUSTER_NAME: name}, controller=True)


async def _with_core_controllers(
    fixture: Fixture, name: str, example: Document, *, data: bool
) -> None:
    """Create the Cluster and its references; the core controllers do the rest. data: whether an
    endpoint is provided.
    """
    where = {"name": name, "namespace": fixture.namespace}
    example = {**example, "metadata": {**example["metadata"], **where}}
    spec: dict[str, Any] = {"controlPlaneRef": reference(example)}
    if data:
        infra = await fixture.create({**INFRASTRUCTURE, "metadata": where})
        spec["infrastructureRef"] = reference(infra)
    await fixture.create(example)
    await fixture.core.cluster(name, **spec)


ROLE_SETUPS: Final = {
    "infra-cluster": RoleSetup(
        InfraCluster,
        "provisioned",
        InfraCluster.provisioned,
        ("provisioned",),
        _cluster,
        needs_cluster=False,
    ),
    "infra-machine": RoleSetup(
        InfraMachine,
        "provisioned",
        InfraMachine.provisioned,
        ("provider_id", "provisioned", "addresses"),
        _machine,
    ),
    "infra-machinepool": RoleSetup(
        InfraMachinePool,
        "provisioned",
        InfraMachinePool.initialized,
        ("provider_id_list", "provisioned"),
        _pool,
    ),
    "bootstrap-config": RoleSetup(
        BootstrapConfig,
        "data_secret_created",
        BootstrapConfig.data_secret_created,
        ("data_secret_name", "data_secret_created"),
        _config,
    ),
    "control-plane": RoleSetup(
        ControlPlane,
        "initialized",
        ControlPlane.initialized,
        ("initialized",),
        _control_plane,
        needs_cluster=False,
    ),
}


def role_setup(fixture: Fixture) -> RoleSetup:
    """Return the role setup of the fixture's kind."""
    return ROLE_SETUPS[fixture.kind.role]


def value(fixture: Fixture, document: Document, name: str) -> Any:
    """Read a contract field of an object of the fixture's kind; None if it is unreadable."""
    try:
        return getattr(role_setup(fixture).view(document, fixture.kind.contract), name)
    except ContractError:
        return None


def flag(fixture: Fixture) -> str:
    """Return the path of the field that reports completion."""
    return role_setup(fixture).flag.path(fixture.kind.contract)


def is_done(fixture: Fixture, document: Document) -> bool:
    """Return whether the object's flag is set."""
    return bool(value(fixture, document, role_setup(fixture).done_field))


async def create_cluster(fixture: Fixture, *, ready: bool = True, **spec: Any) -> Document:
    """Create a Cluster with everything that objects below it need.

    ready: whether its infrastructure is provisioned. Raises CannotRun if the provider's own
    infrastructure never is.
    """
    spec = {"controlPlaneEndpoint": ENDPOINT, **spec}
    kinds = fixture.session.provider.kinds_of_role("infra-cluster")
    if not kinds:
        cluster = await fixture.core.cluster(fixture.cluster, **spec)
    else:
        kind = kinds[0]
        cluster = await fixture.core.cluster(
            fixture.cluster, fixture.example(fixture.cluster, kind), **spec
        )
        if ready:
            await fixture.require(
                lambda item: InfraCluster(item, kind.contract).provisioned,
                "provisioned",
                fixture.cluster,
                kind.resource,
            )
    if ready:
        await fixture.core.cluster_provisioned(fixture.cluster)
    return cluster


async def create_owned(
    fixture: Fixture, name: str = NAME, *, data: bool = True, **metadata: Any
) -> Document:
    """Create an object of the fixture's kind below its owner, in the existing Cluster.

    data: whether its inputs are provided, too. Returns the object as it was created.
    """
    await role_setup(fixture).make(fixture, name, fixture.example(name, **metadata), data)
    result = await fixture.read(name)
    if result is None:
        raise CannotRun(f"{fixture.kind.resource.kind} {name} vanished")
    return result


async def create_complete(fixture: Fixture, **metadata: Any) -> Document:
    """Create an object of the fixture's kind with everything that it needs."""
    await create_surrounding_cluster(fixture)
    return await create_owned(fixture, **metadata)


async def create_surrounding_cluster(fixture: Fixture, *, ready: bool = True) -> None:
    """Create the Cluster that an object of the fixture's kind needs, unless its setup
    creates one.
    """
    if role_setup(fixture).needs_cluster:
        await create_cluster(fixture, ready=ready)


async def wait_until_done(fixture: Fixture, name: str = NAME) -> Document:
    """Wait until an object's flag is set. Raises CannotRun."""
    return await fixture.require(lambda item: is_done(fixture, item), flag(fixture), name)


async def set_bootstrap_secret_name(fixture: Fixture, name: str) -> None:
    """Set the Machine's bootstrap Secret name, as core does once the bootstrap provider
    reports it.
    """
    if role_setup(fixture).view is BootstrapConfig:
        secret = value(fixture, await fixture.read(name) or {}, "data_secret_name")
        spec = {"spec": {"bootstrap": {"dataSecretName": secret}}}
        await fixture.patch(spec, name, Machine.RESOURCE)


async def pause(fixture: Fixture, *, paused: bool) -> None:
    """Pause or resume the Cluster of the fixture's object."""
    patch = {"spec": {"paused": paused or None}}
    await fixture.patch(patch, cluster_name(fixture), Cluster.RESOURCE)


def cluster_name(fixture: Fixture, name: str = NAME) -> str:
    """Return the name of the Cluster that owns an object of that name."""
    return fixture.cluster if role_setup(fixture).needs_cluster else name


def finalizers(document: Document | None) -> list[str]:
    """Return the finalizers of an object."""
    return list(((document or {}).get("metadata") or {}).get("finalizers") or ())


def writes_to_object(writes: Iterable[Write], fixture: Fixture, name: str = NAME) -> list[Write]:
    """Return the writes to one object of the fixture's kind."""
    resource = fixture.kind.resource
    wanted = (resource.plural, resource.group, name)
    return [write for write in writes if (write.plural, write.group, write.key.name) == wanted]


def without_inventory(fixture: Fixture, writes: Iterable[Write]) -> list[Write]:
    """Return the writes but those to objects that only the provider's examples need, such as an
    inventory: these belong to no Cluster.
    """
    extras = {
        (split_api_version(extra["apiVersion"])[0], extra["metadata"]["name"])
        for extra in fixture.session.provider.extras
    }
    return [write for write in writes if (write.group, write.key.name) not in extras]


def evidence_of_work(fixture: Fixture, writes: Iterable[Write], name: str = NAME) -> list[Write]:
    """Return the writes which show that work for an object has begun: another object, or a reported
    field.
    """
    return [write for write in writes if _shows(fixture, write, name)]


def _shows(fixture: Fixture, write: Write, name: str) -> bool:
    if not writes_to_object([write], fixture, name):
        return write.created and is_created_for(write, name)
    return write.after is not None and bool(reported_fields(fixture, write.after))


def is_created_for(write: Write, name: str) -> bool:
    """Return whether a created object is for the object of that name, by owners or by its
    own name.
    """
    owners = ((write.after or {}).get("metadata") or {}).get("ownerReferences") or ()
    if owners:
        return any(owner.get("name") == name for owner in owners)
    return name in write.key.name


def reported_fields(fixture: Fixture, document: Document) -> list[str]:
    """Return the set fields which show that something was made for the object."""
    names, example = role_setup(fixture).evidence_fields, fixture.kind.example
    return [
        name
        for name in names
        if value(fixture, document, name) and not value(fixture, example, name)
    ]
