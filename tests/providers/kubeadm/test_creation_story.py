"""Making the Machines of a control plane: whatever its spec leaves out, and when it is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kapy.api.dev_machine import DevMachine
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, Forbidden, ServerError
from kapy.kube.http import Request
from kapy.kube.names import SECRETS, Resource
from tests.providers.kubeadm.awaiting import at, change, until
from tests.providers.kubeadm.peer_controllers import PeerControllers
from tests.providers.kubeadm.plane import Plane


def message_of(kcp: KubeadmControlPlane, type_: str) -> str:
    return next(
        (condition.message for condition in kcp.status.conditions if condition.type == type_), ""
    )


@pytest.mark.parametrize(
    ("version", "configuration"),
    [
        ("v1.30.1", None),  # kubeadm's feature gates are set from v1.31 to v1.35 only
        ("v1.34.0", None),
        ("v1.36.0", None),
        ("v1.36.0", {"initConfiguration": {"skipPhases": ["addon/kube-proxy"]}}),
        ("v1.36.0", {"format": "ignition"}),
    ],
)
async def test_optional_fields_may_be_omitted(
    peers: PeerControllers, version: str, configuration: Document | None
) -> None:
    """The objects made from the remaining fields are valid against the schemas of their kinds."""
    spec: dict[str, Any] = {"version": version, "rollout": None}
    await peers.start(kubeadmConfigSpec=configuration, **spec)
    await until(peers, at(1, version))
    await change(peers, {"replicas": 3})
    await until(peers, at(3, version))


async def test_the_first_machine_inits_and_the_others_join(peers: PeerControllers) -> None:
    """Each gets only what is for it of the configuration."""
    configuration = {
        "initConfiguration": {"skipPhases": ["init-phase"]},
        "joinConfiguration": {"skipPhases": ["join-phase"]},
    }
    await peers.start(kubeadmConfigSpec=configuration)
    await until(peers, at(1))
    await change(peers, {"replicas": 3})
    await until(peers, at(3))
    configs = (await peers.plane.client.list(KubeadmConfig, "default")).items
    phases = [
        (config.spec.init_configuration.skip_phases, config.spec.join_configuration.skip_phases)
        for config in configs
    ]
    assert sorted(phases) == [([], ["join-phase"])] * 2 + [(["init-phase"], [])]


class Refusal:
    """A server that refuses to create objects of one kind. names: of which, in order."""

    def __init__(self, plane: Plane, kind: Resource, error: type[ApiError]) -> None:
        self._part, self._error = f"/{kind.plural}/", error
        self.on, self.names = True, list[str]()
        plane.counted.fault = self.fault

    def fault(self, request: Request) -> Exception | None:
        if not self.on or self._part not in request.path or "force" not in request.query:
            return None
        name = request.path.rpartition("/")[2]
        self.names.append(name)
        return self._error(f'admission webhook "x" denied {name}: too big')


@pytest.mark.parametrize("kind", [DevMachine, KubeadmConfig, Machine])
async def test_a_refused_machine_is_reported_and_leaves_nothing_behind(
    peers: PeerControllers, kind: type[DevMachine] | type[KubeadmConfig] | type[Machine]
) -> None:
    refusal = Refusal(peers.plane, kind.RESOURCE, Forbidden)
    await peers.start()
    await asyncio.sleep(30)
    message = (
        "Scaling up from 0 to 1 replicas is blocked because:\n"
        f"* {kind.RESOURCE.kind} cannot be created: "
        'admission webhook "x" denied c1-control-plane-…: too big'
    )
    assert message_of(await peers.control_plane(), "ScalingUp") == message
    for item in (DevMachine, KubeadmConfig, Machine):
        assert (await peers.plane.client.list(item.RESOURCE, "default")).items == []

    refusal.on = False
    kcp = await until(peers, at(1))
    assert message_of(kcp, "ScalingUp") == ""


async def test_a_refused_machine_of_a_rollout_is_reported(peers: PeerControllers) -> None:
    await peers.start()
    await until(peers, at(1))
    refusal = Refusal(peers.plane, KubeadmConfig.RESOURCE, Forbidden)
    await change(peers, {"version": "v1.35.0"})
    message = "* KubeadmConfig cannot be created: admission webhook"
    await until(peers, lambda kcp: message in message_of(kcp, "RollingOut"))
    refusal.on = False
    await until(peers, at(1, "v1.35.0"))


async def test_a_retry_uses_the_name_of_the_attempt_before(peers: PeerControllers) -> None:
    """An answer may have been lost: under another name a second Machine would be made."""
    failure = Refusal(peers.plane, DevMachine.RESOURCE, ServerError)
    await peers.start()
    await asyncio.sleep(60)
    assert len(failure.names) > 4
    assert len(set(failure.names)) == 1
    failure.on = False
    await until(peers, at(1))
    (machine,) = await peers.machines()
    assert machine.metadata.name == failure.names[0]


async def next_name(peers: PeerControllers) -> str:
    """The name of the first Machine, which is not made yet."""
    failure = Refusal(peers.plane, DevMachine.RESOURCE, ServerError)
    await peers.start()
    await asyncio.sleep(5)
    failure.on = False
    return failure.names[-1]


async def test_a_foreign_kubeadm_config_is_left_alone(peers: PeerControllers) -> None:
    name = await next_name(peers)
    config = {
        "apiVersion": KubeadmConfig.RESOURCE.api_version,
        "kind": KubeadmConfig.RESOURCE.kind,
        "metadata": {"name": name, "namespace": "default", "labels": {"whose": "theirs"}},
        "spec": {"verbosity": 3},
    }
    theirs = await peers.plane.client.create(KubeadmConfig.RESOURCE, config)
    await until(peers, at(1))
    (machine,) = await peers.machines()
    assert machine.metadata.name != name
    document = await peers.plane.client.get(KubeadmConfig.RESOURCE, Key("default", name))
    assert (document["spec"], document["metadata"]["labels"]) == (
        theirs["spec"],
        theirs["metadata"]["labels"],
    )


async def test_boot_data_of_an_earlier_machine_is_not_used_again(peers: PeerControllers) -> None:
    name = await next_name(peers)
    labels = {"cluster.x-k8s.io/cluster-name": "c1"}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "data": {"value": "b2xk"},
    }
    await peers.plane.client.create(SECRETS, secret)
    await until(peers, at(1))
    (machine,) = await peers.machines()
    assert machine.metadata.name != name
