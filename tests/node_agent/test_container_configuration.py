"""Container configurations for the engine, made of the fields of Pods in releases."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from kapy.containers import EngineInfo, Image
from kapy.kube import Document
from kapy.node_agent.containers.configuration import (
    Surroundings,
    configuration,
    unsupported_security,
)
from kapy.node_agent.containers.images import login_for, obtain_image
from kapy.node_agent.runtime import ContainerConfig, StartFailed
from kapy.node_agent.volumes import Mount
from tests.node_agent.fake_engine import FakeEngine

ROOT = Image("sha256:r", (), "", ("/manager",))
NONROOT = ROOT._replace(user="65532:65532")
ENGINE = EngineInfo(name="e", version="1", storage_driver="overlay2")
FOLDER = Path("/plane/node/pods/u-1")


def config(
    container: Document | None = None,
    spec: Document | None = None,
    *,
    mounts: tuple[Mount, ...] = (),
    **more: Any,
) -> ContainerConfig:
    own = {"name": "m", "image": "registry.example/foo:v1", **(container or {})}
    pod = {
        "metadata": {"name": "foo-1", "namespace": "ns", "uid": "u-1"},
        "spec": {"containers": [own], **(spec or {})},
    }
    folder = FOLDER / "m"
    return ContainerConfig(
        pod, own, more.pop("command", ()), more.pop("args", ()), {"A": "b=c"}, mounts, folder,
        None, folder / "0.log", **more,
    )  # fmt: skip


def made(
    wanted: ContainerConfig, image: Image = ROOT, *, joined: str = "", selinux: bool = False
) -> Document:
    around = Surroundings(ENGINE, Path("/plane"), "kapy-1", joined, selinux)
    return configuration(wanted, "digest", image, around)


def host_config(container: Document | None = None, spec: Document | None = None) -> Document:
    document: Document = made(config(container, spec))["HostConfig"]
    return document


def test_a_plain_container_has_no_more_than_the_engine_gives() -> None:
    document = made(config())
    assert document["Image"] == "sha256:r", "what was looked at is what runs"
    assert (document["Env"], document["Hostname"], document["User"]) == (["A=b=c"], "foo-1", "")
    assert "Entrypoint" not in document
    assert "Cmd" not in document
    host = document["HostConfig"]
    assert (host["Privileged"], host["ReadonlyRootfs"], host["PidMode"]) == (False, False, "")
    assert (host["CapAdd"], host["CapDrop"], host["SecurityOpt"]) == ([], [], [])
    assert host["RestartPolicy"] == {"Name": "no"}, "the agent starts it again, not the engine"
    assert host["LogConfig"]["Config"]["max-size"] == "10m"


@pytest.mark.parametrize(
    ("command", "args", "entrypoint", "cmd"),
    [
        ([], ["-x"], None, ["-x"]),
        (["/run"], [], ["/run"], []),
        (["/run"], ["-x"], ["/run"], ["-x"]),
    ],
)
def test_commands_and_arguments_are_taken_from_pod_and_image(
    command: list[str], args: list[str], entrypoint: list[str] | None, cmd: list[str]
) -> None:
    document = made(config(command=command, args=args))
    assert (document.get("Entrypoint"), document["Cmd"]) == (entrypoint, cmd)


@pytest.mark.parametrize(
    ("container", "spec", "expected"),
    [
        ({"securityContext": {"privileged": True}}, {}, {"Privileged": True}),
        ({"securityContext": {"readOnlyRootFilesystem": True}}, {}, {"ReadonlyRootfs": True}),
        (
            {"securityContext": {"capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]}}},
            {},
            {"CapAdd": ["NET_ADMIN"], "CapDrop": ["ALL"]},
        ),
        (
            {"securityContext": {"allowPrivilegeEscalation": False}},
            {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
            {"SecurityOpt": ["no-new-privileges:true", "seccomp=unconfined"]},
        ),
        ({}, {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}, {}),
        (
            {},
            {"securityContext": {"fsGroup": 7, "supplementalGroups": [8]}},
            {"GroupAdd": ["8", "7"]},
        ),
        ({}, {"hostPID": True}, {"PidMode": "host"}),
        (
            {"resources": {"limits": {"cpu": "500m", "memory": "128Mi"}}},
            {},
            {"NanoCpus": 500_000_000, "CpuShares": 512, "Memory": 1 << 27, "MemorySwap": 1 << 27},
        ),
        (
            {"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1m"}}},
            {},
            {"NanoCpus": 2_000_000_000, "CpuShares": 2},
        ),
        ({}, {"hostNetwork": True}, {"NetworkMode": "host"}),
        (
            {},
            {"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a", "b"]}]},
            {"NetworkMode": "kapy-1", "ExtraHosts": ["a:10.0.0.1", "b:10.0.0.1"]},
        ),
        (
            {},
            {"securityContext": {"sysctls": [{"name": "net.x", "value": "1"}]}},
            {"Sysctls": {"net.x": "1"}},
        ),
    ],
)
def test_permissions_and_resources_are_limited(
    container: Document, spec: Document, expected: Document
) -> None:
    plain = {key: value for key, value in host_config().items() if key not in expected}
    document = host_config(container, spec)
    assert {key: document[key] for key in expected} == expected
    assert {key: document.get(key, []) for key in plain} == plain, "nothing else changes"


def test_a_container_that_joins_a_network_has_no_names_of_its_own() -> None:
    spec = {"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}]}
    document = made(config(spec=spec), joined="id-1")
    assert document["HostConfig"]["NetworkMode"] == "container:id-1"
    assert "Hostname" not in document
    assert "ExtraHosts" not in document["HostConfig"]


def test_a_container_has_the_address_of_its_pod_where_it_has_a_network_of_its_own() -> None:
    document = made(config(address="172.20.0.2"))
    fixed = {"IPAMConfig": {"IPv4Address": "172.20.0.2"}}
    assert document["NetworkingConfig"] == {"EndpointsConfig": {"kapy-1": fixed}}
    assert "NetworkingConfig" not in made(config(address="172.20.0.2"), joined="id-1")
    assert "NetworkingConfig" not in made(config(spec={"hostNetwork": True}))


@pytest.mark.parametrize(
    ("container", "spec", "image", "user"),
    [
        ({}, {"securityContext": {"runAsUser": 5}}, ROOT, "5"),
        ({"securityContext": {"runAsUser": 6}}, {"securityContext": {"runAsUser": 5}}, ROOT, "6"),
        ({"securityContext": {"runAsUser": 6, "runAsGroup": 7}}, {}, ROOT, "6:7"),
        ({"securityContext": {"runAsGroup": 7}}, {}, NONROOT, "65532:7"),
        ({}, {"securityContext": {"runAsNonRoot": True}}, NONROOT, ""),
        ({"securityContext": {"runAsNonRoot": False}}, {"securityContext": {"runAsNonRoot": True}},
         ROOT, ""),
    ],
)  # fmt: skip
def test_containers_run_as_the_requested_user(
    container: Document, spec: Document, image: Image, user: str
) -> None:
    assert made(config(container, spec), image)["User"] == user


@pytest.mark.parametrize(
    ("image", "user", "why"),
    [
        (ROOT, None, "image will run as root"),
        (ROOT._replace(user="nobody"), None, r"non-numeric user \(nobody\)"),
        (NONROOT, 0, "runAsUser breaks non-root policy"),
    ],
)
def test_root_is_refused_where_the_release_reports_it(
    image: Image, user: int | None, why: str
) -> None:
    wanted = config({"securityContext": {"runAsNonRoot": True, "runAsUser": user}})
    with pytest.raises(StartFailed, match=why) as caught:
        made(wanted, image)
    assert caught.value.reason == "CreateContainerConfigError"


def test_mounts_are_bound_outer_ones_first_and_labelled_where_selinux_wants_it() -> None:
    mounts = (
        Mount(FOLDER / "volumes/cert", "/tmp/a/b", read_only=True),
        Mount(Path("/var/run/docker.sock"), "/d"),
    )
    assert made(config(mounts=mounts))["HostConfig"]["Binds"] == [
        "/var/run/docker.sock:/d:rw",
        f"{FOLDER}/volumes/cert:/tmp/a/b:ro",
    ]
    assert made(config(mounts=mounts), selinux=True)["HostConfig"]["Binds"] == [
        "/var/run/docker.sock:/d:rw",
        f"{FOLDER}/volumes/cert:/tmp/a/b:ro,z",
    ], "a folder of the machine keeps its label"
    with pytest.raises(StartFailed, match="colon"):
        made(config(mounts=(Mount(Path("/a:b"), "/x"),)))


def test_fields_that_containers_cannot_have_are_named() -> None:
    container = {
        "securityContext": {"seLinuxOptions": {"level": "s0"}, "procMount": "Unmasked",
                            "seccompProfile": {"type": "Localhost"}},
    }  # fmt: skip
    spec = {"securityContext": {"windowsOptions": {"hostProcess": True}, "runAsUser": 5}}
    assert unsupported_security(config(container, spec).pod) == [
        "spec.securityContext.windowsOptions",
        "spec.containers[m].securityContext.seLinuxOptions",
        "spec.containers[m].securityContext.procMount",
        "spec.containers[m].securityContext.seccompProfile.type: Localhost",
    ]
    assert unsupported_security(config({"securityContext": {"procMount": "Default"}}).pod) == []


NAME = "registry.example/foo:v1"


@pytest.mark.parametrize(
    ("policy", "there", "pulled"),
    [
        ("IfNotPresent", True, False),
        ("IfNotPresent", False, True),
        ("Always", True, True),
        ("Never", True, False),
    ],
)
async def test_an_image_is_pulled_as_its_policy_says(
    policy: str, *, there: bool, pulled: bool
) -> None:
    engine = FakeEngine()
    engine.registry[NAME] = NONROOT
    if there:
        engine.images[NAME] = ROOT
    image = await obtain_image(engine, config({"imagePullPolicy": policy}))
    assert image == (NONROOT if pulled else ROOT)


async def test_a_pull_reports_how_far_it_is_and_why_it_failed() -> None:
    engine, result = FakeEngine(), []
    wanted = config({"imagePullPolicy": "IfNotPresent"}, tell=lambda *what: result.append(what))
    with pytest.raises(StartFailed, match="manifest unknown") as caught:
        await obtain_image(engine, wanted)
    assert caught.value.reason == "ErrImagePull"
    assert result == [("ContainerCreating", f"pulling image {NAME}: 1 of 2 layers")]
    engine.images[NAME] = ROOT
    with pytest.raises(StartFailed, match="which imagePullPolicy IfNotPresent would use"):
        await obtain_image(engine, config({"imagePullPolicy": "Always"}))
    with pytest.raises(StartFailed, match="pull policy of Never") as caught:
        await obtain_image(FakeEngine(), config({"imagePullPolicy": "Never"}))
    assert caught.value.reason == "ErrImageNeverPull"


def secret(auths: Document) -> dict[str, bytes]:
    return {".dockerconfigjson": json.dumps({"auths": auths}).encode()}


PAIR = base64.b64encode(b"me:pass:word").decode()


@pytest.mark.parametrize(
    ("image", "auths", "login"),
    [
        (NAME, {"registry.example": {"auth": PAIR}}, {"username": "me", "password": "pass:word"}),
        (NAME, {"https://registry.example/v1/": {"username": "a", "password": "b"}},
         {"username": "a", "password": "b"}),
        ("nginx", {"https://index.docker.io/v1/": {"auth": PAIR}},
         {"username": "me", "password": "pass:word"}),
        (NAME, {"another.example": {"auth": PAIR}}, None),
        (NAME, {"registry.example": {"auth": "%%%"}}, None),
        (NAME, {"registry.example": 5}, None),
    ],
)  # fmt: skip
def test_logins_at_registries_are_found(
    image: str, auths: Document, login: Document | None
) -> None:
    assert login_for(image, [{}, {".dockerconfigjson": b"[["}, secret(auths)]) == login


async def test_a_login_is_used_for_the_pull() -> None:
    engine = FakeEngine()
    engine.registry["docker.io/library/nginx"] = engine.registry["nginx"] = ROOT
    secrets = [secret({"docker.io": {"auth": PAIR}})]
    wanted = config({"image": "nginx"}, pull_secrets=secrets)
    engine.images["nginx:other"] = ROOT
    with pytest.raises(StartFailed, match="is gone right after"):
        await obtain_image(engine, wanted)  # the engine in memory knows no other names
    assert engine.logins == [{"username": "me", "password": "pass:word"}]
