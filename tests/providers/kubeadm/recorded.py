"""Recorded bootstrap data of upstream, replayed: kubeadm's files, user data, whole reconciles."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kapy.api.kubeadm_config import KubeadmConfig
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import SECRETS
from kapy.providers.kubeadm.bootstrap import ignition
from kapy.providers.kubeadm.bootstrap.cloudinit import (
    MachineSetup,
    init_control_plane,
    join_control_plane,
    join_worker,
)
from kapy.providers.kubeadm.bootstrap.controller import add_to
from kapy.providers.kubeadm.configuration import (
    ClusterFacts,
    UnsupportedVersion,
    cluster_configuration_file,
    init_configuration_file,
    join_configuration_file,
    kubeadm_api_version,
    read_cluster_configuration,
    read_init_configuration,
    read_join_configuration,
)
from kapy.testing.virtual_time import VirtualTimeLoop
from tests.oracle.topic import Check, Record, compared
from tests.providers.kubeadm.plane import running, settled

CONFIG: Final = Key("default", "cfg")


def _api_version(record: Record) -> Iterator[str]:
    try:
        result = {"out": kubeadm_api_version(record["version"]), "error": None}
    except UnsupportedVersion as error:
        result = {"out": "", "error": str(error)}
    return compared(record, {**record, **result})


def _marshalled(record: Record) -> Iterator[str]:
    source, version, kind = record["in"] or {}, record["version"], record["kind"]
    around = _surroundings(record.get("additionalData"))
    writers: Mapping[str, Callable[[], str]] = {
        "ClusterConfiguration": lambda: cluster_configuration_file(source, version, around),
        "InitConfiguration": lambda: init_configuration_file(source, version),
        "JoinConfiguration": lambda: join_configuration_file(source, version),
    }
    try:
        text = writers[kind]()
    except UnsupportedVersion:
        if "error" not in record:
            yield "refused, recorded is a file"
        return
    yield from compared(record.get("out"), text)
    if kind == "ClusterConfiguration":
        configuration, read = read_cluster_configuration(text)
        yield from compared(record["unmarshalled"], configuration, "unmarshalled")
        if read != _surroundings(record["unmarshalledAdditionalData"]):
            yield f"unmarshalledAdditionalData: given {read}"
    elif kind == "InitConfiguration":
        yield from compared(record["unmarshalled"], read_init_configuration(text), "unmarshalled")
    else:
        yield from compared(record["unmarshalled"], read_join_configuration(text), "unmarshalled")


def _surroundings(data: Record | None) -> ClusterFacts:
    data = data or {}
    return ClusterFacts(
        kubernetes_version=data.get("KubernetesVersion"),
        cluster_name=data.get("ClusterName"),
        dns_domain=data.get("DNSDomain"),
        service_subnet=data.get("ServiceSubnet"),
        pod_subnet=data.get("PodSubnet"),
        health_check_seconds=data.get("ControlPlaneComponentHealthCheckSeconds"),
    )


def _user_data(record: Record) -> Iterator[str]:
    base = record["base"]
    setup = MachineSetup(
        files=[*(record.get("certificateFiles") or ()), *(base["AdditionalFiles"] or ())],
        boot_commands=base["BootCommands"] or (),
        pre_kubeadm_commands=base["PreKubeadmCommands"] or (),
        post_kubeadm_commands=base["PostKubeadmCommands"] or (),
        users=base["Users"] or (),
        ntp=base["NTP"],
        disk_setup=base["DiskSetup"],
        mounts=base["Mounts"] or (),
        verbosity=base["KubeadmVerbosity"],
    )
    if record["kind"] == "init":
        files = record["clusterConfiguration"], record["initConfiguration"]
        text = init_control_plane(setup, *files)
    elif record["kind"] == "join-control-plane":
        text = join_control_plane(setup, record["joinConfiguration"])
    else:
        text = join_worker(setup, record["joinConfiguration"])
    yield from compared(record["cloud_config"]["out"], text)
    yield from _ignition(record, setup)


def _ignition(record: Record, setup: MachineSetup) -> Iterator[str]:
    init = record["kind"] == "init"
    names = ("clusterConfiguration", "initConfiguration") if init else ("joinConfiguration",)
    files = [record[name] for name in names]
    additions = (record["ignitionSpec"] or {}).get("containerLinuxConfig") or {}
    recorded = record["ignition"]
    try:
        result = ignition.render_user_data(setup, additions, *files)
    except (ignition.CannotRender, ignition.CannotTranslate) as error:
        if "error" not in recorded:
            yield f"ignition: refused, recorded is a config: {error}"
        return
    if "error" in recorded:
        yield f"ignition: made, recorded is {recorded['error']}"
    else:
        yield from compared(recorded["out"], result, "ignition")


def _reconciled(record: Record) -> Iterator[str]:
    loop = VirtualTimeLoop()
    try:
        config, secret = loop.run_until_complete(_reconcile(record))
    finally:
        loop.close()
    reported = _conditions(config)
    yield from compared(_conditions({"status": record["after"]}), reported, "conditions")
    yield from compared(record["after"]["spec"], config["spec"], "spec")
    yield from compared(record.get("dataSecret"), _described(secret), "dataSecret")


async def _reconcile(record: Record) -> tuple[Document, Document | None]:
    async with running(lambda plane: add_to(plane.runtime, plane.remote), strict=False) as plane:
        await plane.create(record["cluster"], *record["secrets"])
        machine = json.loads(json.dumps(record["machine"]))
        machine["spec"].setdefault(
            "infrastructureRef", {"apiGroup": "example.com", "kind": "Any", "name": "any"}
        )
        (document,) = await plane.create(machine)
        config = json.loads(json.dumps(record["kubeadmConfig"]))
        for owner in config["metadata"]["ownerReferences"]:
            owner["uid"] = document["metadata"]["uid"]
        await plane.create(config)
        await settled(0.5)
        after = await plane.client.get(KubeadmConfig.RESOURCE, CONFIG)
        try:
            return after, await plane.client.get(SECRETS, CONFIG)
        except NotFound:
            return after, None


def _conditions(config: Document) -> dict[str, Any]:
    reported = config["status"].get("conditions") or []
    return {
        item["type"]: {name: item[name] for name in ("status", "reason", "message")}
        for item in reported
    }


def _described(secret: Document | None) -> Document | None:
    """The Secret as the recording has it; uids differ from run to run."""
    if secret is None:
        return None
    owners = [
        {**owner, "uid": "cfg-uid"} for owner in secret["metadata"].get("ownerReferences") or ()
    ]
    return {
        "name": secret["metadata"]["name"],
        "labels": secret["metadata"].get("labels"),
        "ownerReferences": owners,
        "type": secret["type"],
        "data": {name: base64.b64decode(value).decode() for name, value in secret["data"].items()},
    }


FILES: Final[Mapping[str, Check]] = {
    "kubeadm_api_version": _api_version,
    "kubeadm_marshal": _marshalled,
    "userdata": _user_data,
    "reconcile": _reconciled,
}
