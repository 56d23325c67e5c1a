"""Pods of a plane as containers of a real engine: what they find, what ends them, what stays."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from kapy.client.client import Client
from kapy.clusterctl.waiting import has_condition, wait_until
from kapy.containers import Engine
from kapy.kube import Document, Key
from kapy.kube.names import CONFIG_MAPS, DEPLOYMENTS, PODS
from tests.real_clusters.engine import container_engine
from tests.real_clusters.image_archive import layer, write_image
from tests.real_clusters.parts import program
from tests.real_clusters.plane_command import Kapy

pytestmark = pytest.mark.sockets

SPACE: Final = "foo-system"
FOO: Final = Key(SPACE, "foo")
IMAGE: Final = "kapy.test/pod:v1"
LONG: Final = 180.0
OTHER: Final = "somebody-elses"
_UID: Final = "io.kubernetes.pod.uid"


def _object(api_version: str, kind: str, name: str, **more: object) -> Document:
    metadata = {"name": name, "namespace": SPACE}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


def _container(name: str, port: int, neighbour: int) -> Document:
    probe = {"httpGet": {"path": "/readyz", "port": port}, "periodSeconds": 1}
    env: list[Document] = [
        {"name": "NEIGHBOUR", "value": f"127.0.0.1:{neighbour}"},
        {"name": "OWN", "value": f"127.0.0.1:{port}"},
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "hidden", "key": "word"}}},
    ]
    return {
        "name": name,
        "image": IMAGE,
        "args": [f":{port}"],
        "env": env,
        "readinessProbe": probe,
        "livenessProbe": {"exec": {"command": ["/usr/local/bin/pod", "check"]}},
        "resources": {"limits": {"cpu": "1"}},
        "securityContext": {
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "settings", "mountPath": "/etc/settings"},
            {"name": "shared", "mountPath": "/shared"},
        ],
    }


def _deployment() -> Document:
    labels = {"app": "foo"}
    initial = _container("before", 1, 1)
    initial = {key: value for key, value in initial.items() if not key.endswith("Probe")}
    spec = {
        "serviceAccountName": "manager",
        "hostAliases": [{"ip": "192.0.2.1", "hostnames": ["alias.example"]}],
        "securityContext": {"runAsUser": 65532, "runAsNonRoot": True},
        "terminationGracePeriodSeconds": 10,
        "volumes": [
            {"name": "settings", "configMap": {"name": "settings"}},
            {"name": "shared", "emptyDir": {}},
        ],
        "initContainers": [{**initial, "args": ["note", "/shared/note"]}],
        "containers": [_container("one", 8081, 8082), _container("two", 8082, 8081)],
    }
    template = {"metadata": {"labels": labels}, "spec": spec}
    wanted = {
        "selector": {"matchLabels": labels},
        "strategy": {"type": "Recreate"},
        "template": template,
    }
    return _object("apps/v1", "Deployment", "foo", spec=wanted)


async def _install(client: Client) -> None:
    core, rbac = f"/api/v1/namespaces/{SPACE}", "/apis/rbac.authorization.k8s.io/v1"
    group = "rbac.authorization.k8s.io"
    word = base64.b64encode(b"sesame").decode()
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}
    reference = {"apiGroup": group, "kind": "Role", "name": "manager"}
    subject = {"kind": "ServiceAccount", "name": "manager", "namespace": SPACE}
    for path, document in (
        ("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace",
                                "metadata": {"name": SPACE}}),
        (f"{core}/serviceaccounts", _object("v1", "ServiceAccount", "manager")),
        (f"{core}/secrets", _object("v1", "Secret", "hidden", data={"word": word})),
        (f"{core}/configmaps", _object("v1", "ConfigMap", "settings", data={"setting": "first"})),
        (f"{rbac}/namespaces/{SPACE}/roles",
         _object(f"{group}/v1", "Role", "manager", rules=[rule])),
        (f"{rbac}/namespaces/{SPACE}/rolebindings",
         _object(f"{group}/v1", "RoleBinding", "manager", roleRef=reference, subjects=[subject])),
        (f"/apis/apps/v1/namespaces/{SPACE}/deployments", _deployment()),
    ):  # fmt: skip
        await client.raw("POST", path, body=document)


async def _available(client: Client) -> Document:
    """The Pod, once its Deployment is available."""
    await wait_until(client, DEPLOYMENTS, FOO, _is_available, within=LONG)
    (pod,) = (await client.list(PODS, SPACE)).items
    return pod


def _is_available(deployment: Document | None) -> bool:
    return deployment is not None and has_condition(deployment, "Available")


async def _when(client: Client, pod: Key, done: Callable[[list[Document]], bool]) -> Document:
    """The Pod, once its containers are so."""

    def is_so(document: Document | None) -> bool:
        return done(((document or {}).get("status") or {}).get("containerStatuses") or [])

    wait = await wait_until(client, PODS, pod, is_so, within=LONG)
    assert wait is not None
    return wait


async def _facts(pod: Document, port: int) -> dict[str, str]:
    """Return the facts that the program in a container found."""
    reader, writer = await asyncio.open_connection(pod["status"]["podIP"], port)
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    answer = await reader.read()
    writer.close()
    document: dict[str, str] = json.loads(answer.partition(b"\r\n\r\n")[2])
    return document


def _restarts(statuses: list[Document]) -> list[Any]:
    return [status["restartCount"] for status in statuses]


async def test_pods_run_as_containers(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    with archive.open("wb") as target:
        write_image(target, IMAGE, [layer({"usr/local/bin/pod": program("pod")})], "pod")
    async with container_engine(tmp_path, network=False, nodes=False) as engine:
        with archive.open("rb") as content:
            await engine.load(content)
        await engine.create(OTHER, {"Image": IMAGE, "Cmd": [":80"], "Labels": {_UID: "x"}})
        await engine.start(OTHER)
        kapy = Kapy(tmp_path, engine)
        await kapy.run("up", "--detach", "--port", "7443")
        try:
            await _life(kapy, engine)
        finally:
            await kapy.run("down")
        stopped = await engine.containers({_UID: ""})
        assert sorted({container.state for container in stopped if container.name != OTHER}) == [
            "exited"
        ]
        await kapy.run("down", "--delete", "--yes")
        assert [
            container.name for container in await engine.containers() if container.is_running
        ] == [OTHER]
        assert len(await engine.containers()) == 1


async def _life(kapy: Kapy, engine: Engine) -> None:
    async with kapy.client() as client:
        await _install(client)
        pod = await _available(client)
        entry = await _facts(pod, 8081)
        assert entry.pop("root").endswith("read-only file system")
        assert entry == {
            "user": "65532", "hostname": pod["metadata"]["name"], "secret": "sesame",
            "address": pod["status"]["podIP"],
            "setting": "first", "note": "from before", "alias": "true",
            "may": "200 OK", "may-not": "403 Forbidden", "neighbour": "200 OK",
        }  # fmt: skip
        assert (await _facts(pod, 8082))["neighbour"] == "200 OK", "both share a network"
        await client.patch(CONFIG_MAPS, Key(SPACE, "settings"), {"data": {"setting": "second"}})
        async with asyncio.timeout(LONG):
            while (await _facts(pod, 8082))["setting"] != "second":  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        async with asyncio.timeout(LONG):
            # A busy machine may not answer a probe in time.
            while (pods := await kapy.pods())[0]["message"]:  # noqa: ASYNC110
                await asyncio.sleep(1)
        assert len(pods) == 1
        assert pods[0]["memory"] > 1_000_000
        key = Key.of(pod)
        await _enter(kapy, key)
        attached = await kapy.kubectl("attach", "-n", SPACE, key.name, "-c", "two")
        assert attached.stdout is not None
        assert b"command prompt" in await attached.stdout.readline(), "it is attached"
        await _lose_a_container(client, engine, key)
        async with asyncio.timeout(LONG):
            assert (await attached.communicate())[0] == b"asked to end\n"
        assert attached.returncode == 0
    before = {item.id for item in await _running(engine)}
    await kapy.kill()
    await kapy.run("up", "--detach", "--port", "7443")
    async with kapy.client() as client:
        document = await _available(client)
        assert {item.id for item in await _running(engine)} == before, "found, not started again"
        assert (await _facts(document, 8081))["may"] == "200 OK", "on the same port of the bridge"
        await _break(client)


async def _enter(kapy: Kapy, pod: Key) -> None:
    """kubectl runs commands in a container and reaches its ports, over WebSockets."""
    for word, code in (("check", 0), ("note", 2)):
        words = ["exec", "-n", SPACE, pod.name, "-c", "two", "--", "/usr/local/bin/pod", word]
        process = await kapy.kubectl(*words)
        output, _ = await process.communicate()
        assert process.returncode == code, output
    forwarding = await kapy.kubectl(
        "port-forward", "-n", SPACE, pod.name, "--address=127.0.0.1", ":8082"
    )
    try:
        assert forwarding.stdout is not None
        line = (await forwarding.stdout.readline()).decode()
        port = int(line.split(" -> ")[0].rpartition(":")[2])
        assert (await _facts({"status": {"podIP": "127.0.0.1"}}, port))["user"] == "65532"
    finally:
        forwarding.terminate()
        await forwarding.wait()


async def _lose_a_container(client: Client, engine: Engine, pod: Key) -> None:
    """The first container is killed: it starts again, and the second joins its new network."""
    running = await _running(engine)
    (first,) = (item for item in running if item.labels["io.kubernetes.container.name"] == "one")
    await engine.kill(first.id)

    def restarted(statuses: list[Document]) -> bool:
        return _restarts(statuses) == [1, 1] and all(status["ready"] for status in statuses)

    document = await _when(client, pod, restarted)
    assert document["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 137
    facts = await _facts(document, 8082)
    assert (facts["neighbour"], facts["address"]) == ("200 OK", document["status"]["podIP"])


async def _break(client: Client) -> None:
    """A program that fails, then an image that is not there, then all is well again."""

    async def change(container: Document, words: str) -> None:
        containers = [{"name": "two", **container}]
        patch = {"spec": {"template": {"spec": {"containers": containers}}}}
        await client.patch(
            DEPLOYMENTS, FOO, patch, media_type="application/strategic-merge-patch+json"
        )
        if words:
            await wait_until(
                client, DEPLOYMENTS, FOO, lambda value: words in str((value or {}).get("status")),
                within=LONG,
            )  # fmt: skip

    broken = [{"name": "BROKEN", "value": "yes"}]
    await change({"env": broken}, "it ended with code 3; its last words: Error: it is broken")
    fine = [{"name": "BROKEN", "value": ""}]
    await change({"env": fine, "image": "kapy.test/nope:v1"}, "ImagePullBackOff")
    await change({"image": IMAGE}, "")
    await _available(client)


async def _running(engine: Engine) -> list[Any]:
    """The containers of the Pod that run."""
    return [container for container in await engine.containers({_UID: ""}) if container.is_running
            and container.name != OTHER]  # fmt: skip
