"""Harnesses of requests to the API server: whole ones, and the parsers of headers and queries."""

from __future__ import annotations

import json
import logging
from base64 import urlsafe_b64encode
from functools import lru_cache
from typing import Any

from kapy._aio.clock import system_clock
from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.auth.impersonation import parse_impersonation
from kapy.apiserver.auth.tokens import BoundObject
from kapy.apiserver.request.parameters import int_parameter
from kapy.apiserver.server import Server
from kapy.apiserver.verbs.read import decode_token
from kapy.kube.errors import ApiError, BadRequest, Unauthorized
from kapy.kube.http import ADMIN, Request
from tests.apiserver.requester import CONFIG_MAPS, CRDS, GIZMO, GIZMOS, Asking, config_map, gizmo
from tests.fuzz.bodies import NoInput, document_of, jsonified
from tests.fuzz.harness import Harness
from tests.fuzz.of_formats import loop
from tests.fuzz.of_values import text_of

ACCIDENTS = ("resourceVersion should not be set on objects to be created",)
"""Messages of errors that a real server answers with 500, too."""


class _Plane:
    """A server that is made anew before it is full."""

    def __init__(self) -> None:
        self._asked = 0
        self._asking: Asking | None = None

    async def asking(self) -> Asking:
        if self._asking is None or self._asked > 300:
            if self._asking is not None:
                self._asking.server.close()
            self._asking, self._asked = Asking(Server.open(None, clock=system_clock)), 0
            await self._asking.create("/api/v1/namespaces", _namespace())
            await self._asking.create(CRDS, GIZMO)
            await self._asking.create(GIZMOS, gizmo("a", color="red"))
            await self._asking.create(CONFIG_MAPS, config_map("a"))
        self._asked += 1
        return self._asking


def _namespace() -> Any:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}


@lru_cache(maxsize=1)
def _plane() -> _Plane:
    return _Plane()


def _request(data: bytes) -> None:
    document = document_of(data)
    if not isinstance(document, dict):
        raise NoInput("no request")
    loop().run_until_complete(_answered(document))


async def _answered(value: Any) -> None:
    asking = await _plane().asking()
    query = {str(k): _text(v) for k, v in _mapping(value.get("query")).items()}
    headers = {str(k).lower(): _text(v) for k, v in _mapping(value.get("headers")).items()}
    _ear().heard = None
    content = value.get("body")
    raw = content.encode("utf-8", "replace") if isinstance(content, str) else jsonified(content)
    path = "/" + _text(value.get("path")).lstrip("/")
    request = Request(_text(value.get("method")), path, query, headers, raw, ADMIN)
    reply = await asking.server(request)
    if not isinstance(reply.body, (dict, bytes)):
        await reply.body.aclose()  # type: ignore[union-attr]
        return
    if isinstance(reply.body, dict):
        json.dumps(reply.body, default=str)
        if reply.status == 500 and reply.body.get("message") not in ACCIDENTS:
            raise _ear().heard or AssertionError(f"500: {reply.body.get('message')}")


class _Ear(logging.Handler):
    """Hears why a server answered 500."""

    heard: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        self.heard = record.exc_info[1] if record.exc_info else None


@lru_cache(maxsize=1)
def _ear() -> _Ear:
    ear, log = _Ear(), logging.getLogger("kapy.apiserver.server.error_replies")
    log.addHandler(ear)
    return ear


def _mapping(value: Any) -> Any:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


_JSON = {"content-type": "application/json"}
_REQUESTS: tuple[Any, ...] = (
    {"method": "GET", "path": GIZMOS, "query": {"labelSelector": "a=b", "limit": "1"}},
    {"method": "GET", "path": GIZMOS, "query": {"fieldSelector": "spec.color=red"}},
    {
        "method": "GET",
        "path": "/api/v1/configmaps",
        "headers": {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"},
        "query": {"includeObject": "Metadata", "resourceVersion": "0"},
    },
    {"method": "GET", "path": "/openapi/v3/api/v1"},
    {
        "method": "GET",
        "path": "/apis",
        "headers": {
            "accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        },
    },
    {"method": "POST", "path": GIZMOS, "headers": _JSON, "body": gizmo("b", color="blue")},
    {"method": "POST", "path": CRDS, "headers": _JSON, "body": GIZMO},
    {"method": "PUT", "path": f"{GIZMOS}/a", "headers": _JSON, "body": gizmo("a", color="red")},
    {
        "method": "PATCH",
        "path": f"{GIZMOS}/a",
        "headers": {"content-type": "application/merge-patch+json"},
        "body": {"spec": {"replicas": 2}},
    },
    {
        "method": "PATCH",
        "path": f"{CONFIG_MAPS}/a",
        "headers": {"content-type": "application/strategic-merge-patch+json"},
        "body": {"data": {"a": "b"}, "$retainKeys": ["data"]},
    },
    {
        "method": "PATCH",
        "path": f"{CONFIG_MAPS}/a",
        "query": {"fieldManager": "x", "force": "true"},
        "headers": {"content-type": "application/apply-patch+yaml"},
        "body": config_map("a", labels={"a": "b"}),
    },
    {
        "method": "PATCH",
        "path": f"{CONFIG_MAPS}/a",
        "headers": {"content-type": "application/json-patch+json"},
        "body": [{"op": "add", "path": "/data", "value": {"a": "b"}}],
    },
    {"method": "DELETE", "path": f"{CONFIG_MAPS}/a", "body": {"propagationPolicy": "Orphan"}},
    {
        "method": "PUT",
        "path": f"{GIZMOS}/a/scale",
        "headers": _JSON,
        "body": {"spec": {"replicas": 3}, "metadata": {"name": "a"}},
    },
    {
        "method": "POST",
        "path": "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "headers": _JSON,
        "body": {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}},
    },
    {
        "method": "POST",
        "path": "/api/v1/namespaces/default/serviceaccounts/default/token",
        "headers": _JSON,
        "body": {"spec": {"audiences": ["a"], "expirationSeconds": 600}},
    },
    {
        "method": "POST",
        "path": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        "headers": _JSON,
        "body": {
            "metadata": {"name": "w"},
            "webhooks": [
                {
                    "name": "a.b.c",
                    "clientConfig": {"url": "https://127.0.0.1:1/x", "caBundle": "YQ=="},
                    "rules": [
                        {
                            "operations": ["CREATE"],
                            "apiGroups": ["never"],
                            "apiVersions": ["v1"],
                            "resources": ["*"],
                        }
                    ],
                    "matchConditions": [
                        {"name": "x", "expression": "request.userInfo.username == 'a'"}
                    ],
                    "sideEffects": "None",
                    "failurePolicy": "Ignore",
                    "admissionReviewVersions": ["v1"],
                }
            ],
        },
    },
    {
        "method": "POST",
        "path": "/api/v1/namespaces/default/pods",
        "headers": _JSON,
        "body": {
            "metadata": {"name": "p"},
            "spec": {
                "containers": [
                    {
                        "name": "a",
                        "image": "b",
                        "resources": {"requests": {"cpu": "100m"}},
                        "ports": [{"containerPort": 80}],
                    }
                ]
            },
        },
    },
    {
        "method": "POST",
        "path": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "headers": _JSON,
        "body": {
            "metadata": {"name": "r"},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        },
    },
)


# headers


def _bearer(data: bytes) -> None:
    server = _token_server()
    authentication = Authenticator()
    server.access.authenticate_by(authentication)
    authentication.authenticate(data.decode("latin-1"), None)


@lru_cache(maxsize=1)
def _token_server() -> Server:
    return Server.open(None, clock=system_clock)


def _part(value: Any) -> bytes:
    return urlsafe_b64encode(jsonified(value)).rstrip(b"=")


def _tokens() -> tuple[bytes, ...]:
    server = _token_server()
    server.access.authenticate_by(Authenticator())
    metadata = {"namespace": "default", "name": "a", "uid": "u"}
    good = server.access.tokens.issue(
        {"metadata": metadata}, [BoundObject("Pod", "p", "u")], ["x"], 600, "id"
    )
    head, content, signature = good.encode().split(b".")
    return (
        b"Bearer " + good.encode(),
        b"Bearer " + _part({"alg": "none"}) + b"." + content + b"." + signature,
        b"Bearer " + head + b"." + _part({"exp": "x"}) + b"." + signature,
        b"Bearer " + urlsafe_b64encode(b"[" * 5000) + b"." + content + b"." + signature,
        *(b"Basic YTpi", b"Bearer a.b.c", b"Bearer ..", b"bearer  x"),
    )


def _impersonation(data: bytes) -> None:
    lines = [line.partition(b":") for line in data.split(b"\n")]
    wish = parse_impersonation(
        [(b"impersonate-" + name.lower(), value) for name, _, value in lines]
    )
    str(wish)


def _query(data: bytes) -> None:
    text = text_of(data)
    for read in (lambda: int_parameter({"limit": text}, "limit"), lambda: decode_token(text)):
        try:
            read()
        except BadRequest:
            continue


HARNESSES = (
    Harness(
        "request",
        _request,
        (NoInput,),
        tuple(map(jsonified, _REQUESTS)),
        (b"status", b"scale", b"v1", b"/api", b"watch", b"true", b"*", b"Strict", b"All"),
        structured=True,
    ),
    Harness("bearer", _bearer, (Unauthorized,), _tokens(), (b"Bearer ", b".", b"e30")),
    Harness(
        "impersonation",
        _impersonation,
        (ApiError,),
        (
            b"User:a\nGroup:b\nExtra-a%2Fb:c",
            b"Uid:x",
            b"User:system:serviceaccount:a:b",
            b"Extra-%zz:1",
        ),
    ),
    Harness(
        "query",
        _query,
        (),
        (
            b"1",
            b"-9223372036854775808",
            b"e30",
            b"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0",
        ),
    ),
)
