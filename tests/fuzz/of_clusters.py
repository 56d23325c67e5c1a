"""Harnesses of what other programs answer: workload clusters, extensions, repositories, etcd."""

from __future__ import annotations

import json
from base64 import b64encode
from functools import lru_cache

import msgspec

from kapy.api.cluster import Cluster
from kapy.api.conversion import ConversionError, convert
from kapy.client.exec_plugin import ExecPlugin, NoCredentials, _read
from kapy.client.expiry import _token_expiry
from kapy.client.https import _decode
from kapy.client.kubeconfig import KubeconfigError, parse, with_context
from kapy.client.reply import document_of as document_of_reply
from kapy.client.reply import failure_of
from kapy.client.server_version import MinimumVersion, version_problem
from kapy.clusterctl.oci.artifact import titled_layers
from kapy.clusterctl.repository.web import HttpResponse as WebAnswer
from kapy.clusterctl.repository.web import ServerUnreached, documented_errors, refusal
from kapy.hooks.application import Application
from kapy.hooks.call import CallFailed, _response
from kapy.hooks.catalog import own_catalog
from kapy.hooks.discovery import validate_handlers
from kapy.hooks.errors import HookError
from kapy.hooks.extension import Extension
from kapy.hooks.messages.discovery import DISCOVERY
from kapy.hooks.transport import Answer
from kapy.kube.errors import ApiError, KapyError
from kapy.kube.gotemplate import WorkExceeded
from kapy.kube.http import Reply, Request
from kapy.providers.inmemory.workload.kubeadm import cluster_configuration
from kapy.providers.kubeadm.controlplane.etcd import EtcdGateway
from kapy.providers.kubeadm.controlplane.remediation_attempts import BadAttempt, parse_attempt
from kapy.remote.nodes import provider_id_of
from kapy.topology.patches.errors import NoValue
from kapy.topology.patches.inline import value_of
from kapy.topology.patches.rendering import render_value, template_data
from tests.fuzz.bodies import NoInput, document_of, jsonified
from tests.fuzz.harness import Harness
from tests.fuzz.of_formats import loop
from tests.fuzz.of_values import text_of


def _kubeconfig(data: bytes) -> None:
    kubeconfig = parse(data)
    again = with_context({}, "x", kubeconfig)
    assert parse(json.dumps(again)).server == kubeconfig.server


def _credential(data: bytes) -> None:
    plugin = ExecPlugin("client.authentication.k8s.io/v1", "x", (), {}, None, "")
    _read(plugin, data)


def _reply(data: bytes) -> None:
    """An API server's answer, as a client sees it."""
    body = _decode(data, {"content-type": "application/json"})
    for status in (200, 404, 500):
        reply = Reply(status, body, {"retry-after": text_of(data)[:20]})
        failure_of(reply).status()
        try:
            document = document_of_reply(reply)
        except ApiError:
            continue
        version_problem(document, MinimumVersion("v1.30.0"))
        if isinstance(document.get("spec", {}), dict):
            provider_id_of(document)


def _hook_answer(data: bytes) -> None:
    for hook in own_catalog():
        try:
            response = _response(hook, Answer(200, data))
        except CallFailed:
            continue
        if hook is DISCOVERY:
            try:
                validate_handlers(response.handlers, own_catalog())
            except HookError:
                continue


def _hook_seeds() -> tuple[bytes, ...]:
    return tuple(
        jsonified({**msgspec.to_builtins(hook.response()), "status": "Success"})
        for hook in own_catalog()
    )


@lru_cache(maxsize=1)
def _application() -> Application:
    return Application(Extension(own_catalog()))


def _hook_request(data: bytes) -> bytes:
    for hook in own_catalog():
        try:
            hook.decode_request(data)
        except HookError:
            continue
    return loop().run_until_complete(_application().answer("POST", DISCOVERY.path(), data))[2]


def _etcd(data: bytes) -> None:
    async def answer(_: Request) -> Reply:
        return Reply(200, data)

    etcd = EtcdGateway(answer)
    for ask in (etcd.leader, etcd.members, etcd.alarms):
        loop().run_until_complete(ask())


def _registry(data: bytes) -> None:
    answer = WebAnswer("https://x/y", 404, {}, data)
    refusal(answer)
    with documented_errors(answer):
        titled_layers(answer.json())


def _boot_data(data: bytes) -> str | None:
    return cluster_configuration(data)


def _conversion(data: bytes) -> None:
    document = document_of(data)
    if not isinstance(document, dict):
        raise NoInput("no object")
    for version in ("v1beta1", "v1beta2"):
        convert(document, f"cluster.x-k8s.io/{version}")


def _decoded_cluster(data: bytes) -> None:
    from kapy.kube.meta import read, to_document

    document = document_of(data)
    if not isinstance(document, dict):
        raise NoInput("no object")
    again = to_document(read(document, Cluster))
    assert to_document(read(again, Cluster)) == again


def _variable_path(data: bytes) -> None:
    value_of({"a": {"b": [1, {"c": 2}]}, "builtin": {"x": None}}, text_of(data))


def _variable_template(data: bytes) -> None:
    render_value(text_of(data), template_data({"a": 1, "b": {"c": ["x"]}}))


def _attempt(data: bytes) -> None:
    parse_attempt(text_of(data), "x")


def _token_end(data: bytes) -> None:
    _token_expiry(f"a.{b64encode(data).decode()}.c")
    _token_expiry(text_of(data))


_CONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "a", "cluster": {"server": "https://a:6443", "proxy-url": "http://p:1"}}],
    "users": [
        {
            "name": "a",
            "user": {
                "token": "x",
                "exec": {
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "command": "c",
                    "args": ["a"],
                    "env": [{"name": "A", "value": "b"}],
                    "provideClusterInfo": True,
                },
            },
        },
        {"name": "b", "user": {"username": "u", "password": "p", "as": "x", "as-groups": ["g"]}},
    ],
    "contexts": [{"name": "a", "context": {"cluster": "a", "user": "b", "namespace": "n"}}],
    "current-context": "a",
}

HARNESSES = (
    Harness(
        "kubeconfig",
        _kubeconfig,
        (KubeconfigError,),
        (
            jsonified(_CONFIG),
            jsonified(
                {**_CONFIG, "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}]}
            ),
        ),
        (
            b"client-certificate-data",
            b"tls-server-name",
            b"insecure-skip-tls-verify",
            b"as-user-extra",
        ),
        structured=True,
    ),
    Harness(
        "exec-credential",
        _credential,
        (NoCredentials,),
        (
            jsonified(
                {
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "kind": "ExecCredential",
                    "status": {"token": "x", "expirationTimestamp": "2026-01-01T00:00:00Z"},
                }
            ),
        ),
        (b"clientCertificateData", b"clientKeyData"),
        structured=True,
    ),
    Harness(
        "api-reply",
        _reply,
        (),
        (
            jsonified(
                {
                    "kind": "Status",
                    "message": "x",
                    "reason": "AlreadyExists",
                    "code": 409,
                    "details": {"retryAfterSeconds": 1},
                }
            ),
            jsonified({"major": "1", "minor": "30+", "gitVersion": "v1.30.0"}),
            jsonified({"kind": "Node", "spec": {"providerID": "x"}, "metadata": {"name": "a"}}),
            b"[" * 3000,
        ),
        structured=True,
    ),
    Harness("hook-answer", _hook_answer, (), _hook_seeds(), structured=True),
    Harness("hook-request", _hook_request, (), _hook_seeds(), structured=True),
    Harness(
        "etcd-json",
        _etcd,
        (KapyError,),
        (
            jsonified(
                {"members": [{"ID": "5", "name": "a", "peerURLs": ["x"], "isLearner": True}]}
            ),
            jsonified({"leader": "5", "alarms": [{"memberID": "5", "alarm": "NOSPACE"}]}),
        ),
        structured=True,
    ),
    Harness(
        "registry-answer",
        _registry,
        (ServerUnreached,),
        (
            jsonified(
                {
                    "layers": [
                        {
                            "mediaType": "a",
                            "digest": "sha256:x",
                            "size": 5,
                            "annotations": {"org.opencontainers.image.title": "x"},
                        }
                    ]
                }
            ),
            jsonified({"errors": [{"code": "x", "message": "y"}]}),
        ),
        structured=True,
    ),
    Harness(
        "boot-data",
        _boot_data,
        (),
        (
            b"#cloud-config\nwrite_files:\n-   path: /run/kubeadm/kubeadm.yaml\n    content: |\n"
            b"      ---\n      kind: ClusterConfiguration\n      a: b\nruncmd:\n- x\n",
        ),
    ),
    Harness(
        "conversion",
        _conversion,
        (NoInput, ConversionError),
        (
            jsonified(
                {
                    "apiVersion": "cluster.x-k8s.io/v1beta1",
                    "kind": "Cluster",
                    "metadata": {
                        "name": "a",
                        "annotations": {"cluster.x-k8s.io/conversion-data": "{}"},
                    },
                    "spec": {
                        "paused": True,
                        "topology": {
                            "class": "x",
                            "version": "v1.30.0",
                            "controlPlane": {"nodeDrainTimeout": "5m"},
                            "variables": [{"name": "a", "value": {"b": 1}}],
                        },
                    },
                    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
                }
            ),
            jsonified(
                {
                    "apiVersion": "cluster.x-k8s.io/v1beta2",
                    "kind": "MachineDeployment",
                    "metadata": {"name": "a"},
                    "spec": {
                        "clusterName": "a",
                        "replicas": 1,
                        "rollout": {
                            "strategy": {
                                "type": "RollingUpdate",
                                "rollingUpdate": {"maxSurge": "50%"},
                            }
                        },
                        "template": {
                            "spec": {
                                "bootstrap": {},
                                "infrastructureRef": {"kind": "x", "name": "y", "apiGroup": "z"},
                            }
                        },
                    },
                }
            ),
        ),
        (
            b"MachineSet",
            b"Machine",
            b"ClusterClass",
            b"MachineHealthCheck",
            b"cluster.x-k8s.io/v1beta1",
            b"cluster.x-k8s.io/v1beta2",
            b"MachinePool",
        ),
        structured=True,
    ),
    Harness(
        "cluster-document",
        _decoded_cluster,
        (NoInput, msgspec.ValidationError, KapyError),
        (
            jsonified(
                {
                    "metadata": {"name": "a"},
                    "spec": {
                        "paused": True,
                        "topology": {"classRef": {"name": "x"}, "version": "v1.30.0"},
                    },
                }
            ),
        ),
        structured=True,
    ),
    Harness(
        "variable-path",
        _variable_path,
        (NoValue,),
        (b"a.b[1].c", b"builtin.x.y", b"a.b[-1]", b"a..b"),
    ),
    Harness(
        "variable-template",
        _variable_template,
        (NoValue, WorkExceeded),
        (b"{{ .a }}", b"a: {{ .b.c | toJson }}\nb: [1, 2", b"- {{ index .b.c 0 | quote }}"),
        (b"{{", b"}}", b".a", b": ", b"- "),
    ),
    Harness(
        "remediation-attempt",
        _attempt,
        (BadAttempt,),
        (b'{"machine":"a","timestamp":"2026-01-01T00:00:00Z","retryCount":1}',),
        structured=True,
    ),
    Harness(
        "token-end",
        _token_end,
        (),
        (b'{"exp":1700000000}', b'{"exp":1e308}', b"[" * 3000),
        structured=True,
    ),
)
