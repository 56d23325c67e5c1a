"""Harnesses of the API server: whole requests, and the parsers behind its bodies and headers."""

from __future__ import annotations

import json
import logging
from base64 import urlsafe_b64encode
from functools import lru_cache
from itertools import product
from typing import Any, Final, Literal

from kapy._aio.clock import system_clock
from kapy.apiserver import body
from kapy.apiserver.audit.policy import BadPolicy, policy_of
from kapy.apiserver.authentication import Authentication
from kapy.apiserver.impersonation import wish_of
from kapy.apiserver.label_selectors import selector_errors
from kapy.apiserver.parameters import whole
from kapy.apiserver.resources.structs import Misfit, decoder, facts
from kapy.apiserver.server import Server
from kapy.apiserver.tokens import Bound
from kapy.apiserver.verbs.reading import decode_token
from kapy.apiserver.webhooks.calls import CallFailed, _decoded
from kapy.apiserver.webhooks.conversion import WebhookFailed, converted
from kapy.apiserver.webhooks.review import InvalidAnswer, answer_of, denial
from kapy.kube.apply.kinds import Types
from kapy.kube.apply.managers import checked, written
from kapy.kube.apply.tracker import ApplyFailed, Tracker, Write
from kapy.kube.cel.definition import rule_errors
from kapy.kube.cel.rules import rule_checker
from kapy.kube.errors import ApiError, BadRequest, Conflict, KapyError, Unauthorized
from kapy.kube.http import ADMIN, Request
from kapy.kube.patch import json_patch, merge_patch, strategic, strict_json_patch
from kapy.kube.schema.definition import schema_errors
from kapy.kube.schema.structural import Structural
from kapy.kube.selectors import selector_of
from tests.apiserver.asking import CONFIG_MAPS, CRDS, GIZMO, GIZMOS, Asking, config_map, gizmo
from tests.fuzz.harness import Harness
from tests.fuzz.of_formats import loop
from tests.fuzz.of_values import text_of

ACCIDENTS = ("resourceVersion should not be set on objects to be created",)
"""What a real server answers with 500, too."""


def jsonified(value: Any) -> bytes:
    return json.dumps(value).encode()


class NoInput(ValueError):
    """The bytes are no input of this harness."""


def document_of(data: bytes) -> Any:
    """JSON as a server has it. Raises NoInput."""
    try:
        return body.parsed(data)
    except body.NotJson as error:
        raise NoInput(str(error)) from None


# whole requests


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
    asked = document_of(data)
    if not isinstance(asked, dict):
        raise NoInput("no request")
    loop().run_until_complete(_answered(asked))


async def _answered(asked: Any) -> None:
    asking = await _plane().asking()
    query = {str(k): _text(v) for k, v in _mapping(asked.get("query")).items()}
    headers = {str(k).lower(): _text(v) for k, v in _mapping(asked.get("headers")).items()}
    _ear().heard = None
    content = asked.get("body")
    raw = content.encode("utf-8", "replace") if isinstance(content, str) else jsonified(content)
    path = "/" + _text(asked.get("path")).lstrip("/")
    request = Request(_text(asked.get("method")), path, query, headers, raw, ADMIN)
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
    ear, log = _Ear(), logging.getLogger("kapy.apiserver.failures")
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
    authentication = Authentication()
    server.access.authenticate_by(authentication)
    authentication.user(data.decode("latin-1"), None)


@lru_cache(maxsize=1)
def _token_server() -> Server:
    return Server.open(None, clock=system_clock)


def _part(value: Any) -> bytes:
    return urlsafe_b64encode(jsonified(value)).rstrip(b"=")


def _tokens() -> tuple[bytes, ...]:
    server = _token_server()
    server.access.authenticate_by(Authentication())
    metadata = {"namespace": "default", "name": "a", "uid": "u"}
    good = server.access.tokens.issue(
        {"metadata": metadata}, [Bound("Pod", "p", "u")], ["x"], 600, "id"
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
    wish = wish_of([(b"impersonate-" + name.lower(), value) for name, _, value in lines])
    str(wish)


def _query(data: bytes) -> None:
    text = text_of(data)
    for read in (lambda: whole({"limit": text}, "limit"), lambda: decode_token(text)):
        try:
            read()
        except BadRequest:
            continue


# documents


def _patches(data: bytes) -> bytes:
    found = document_of(data)
    if not (isinstance(found, list) and len(found) == 2):
        raise NoInput("no document with a patch")
    live, patch = found
    results = []
    for apply in (_json_patch, merge_patch.apply, _strategic, _strict):
        try:
            results.append(apply(live, patch))
        except (KapyError, strict_json_patch.BadPatch):
            continue
    if isinstance(live, dict) and isinstance(patch, dict):
        merge_patch.apply(live, merge_patch.difference(live, patch))
    assert found == document_of(data), "a patch changed what it was given"
    return jsonified(results)


def _json_patch(live: Any, patch: Any) -> Any:
    return json_patch.apply(live, patch)


def _strategic(live: Any, patch: Any) -> Any:
    try:
        live = decoder("core.v1.Pod")(live, None, [])  # as a server stores it
    except Misfit:
        return None
    return strategic.apply(live, patch, facts()["structs"], "core.v1.Pod")


def _strict(live: Any, patch: Any) -> Any:
    return strict_json_patch.apply(live, strict_json_patch.compiled(patch))


_POD: Any = {
    "metadata": {"name": "a", "labels": {"a": "b"}, "finalizers": ["x"]},
    "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]},
}


@lru_cache(maxsize=1)
def _trackers() -> tuple[Tracker, Tracker]:
    structs = facts()["structs"]
    schema = GIZMO["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return (
        Tracker({"v1": Types.of_struct(structs, "core.v1.Pod", zero={})}),
        Tracker({"v1": Types.of_schema(schema)}),
    )


def _apply(data: bytes) -> None:
    found = document_of(data)
    if not (isinstance(found, list) and len(found) == 2):
        raise NoInput("no two objects")
    for one in found:
        if not (isinstance(one, dict) and isinstance(one.get("metadata"), dict)):
            raise NoInput("no object")
    live, applied = ({**one, "apiVersion": "v1", "kind": "Pod"} for one in found)
    entries = live["metadata"].pop("managedFields", None)
    if entries is not None and (managers := checked(entries)):
        live["metadata"]["managedFields"] = written(managers)
    write = Write("fuzz", "v1", "2026-01-01T00:00:00Z")
    for tracker in _trackers():
        try:
            result = tracker.apply(live, applied, write, force=True)
            tracker.track(live, result, write)
        except (BadRequest, Conflict, ApplyFailed):
            continue


def _managed_fields(data: bytes) -> bytes:
    managers = checked(document_of(data))
    if managers is None:
        return b""
    entries = written(managers)
    again = checked(entries)
    assert again is not None
    assert written(again) == entries
    return jsonified(entries)


def _definition(data: bytes) -> None:
    """A schema, as a CRD has it: refused, or compiled and used."""
    found = document_of(data)
    schema, value = found if isinstance(found, list) and len(found) == 2 else (found, {})
    try:
        schema = decoder("apiextensions.v1.JSONSchemaProps")(schema, None, [])
    except Misfit:
        return
    if not isinstance(schema, dict) or schema_errors(schema, "x") or rule_errors(schema, "x"):
        return
    compiled = Structural.compile(schema, rules=rule_checker)
    if isinstance(value, dict):
        pruned, _ = compiled.prune(compiled.default(value))
        compiled.validate(pruned)
        compiled.validate(pruned, value)


_SCHEMAS: tuple[Any, ...] = (
    [GIZMO["spec"]["versions"][0]["schema"]["openAPIV3Schema"], {"spec": {"color": "red"}}],
    [
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {
                        "type": "object",
                        "required": ["k"],
                        "properties": {"k": {"type": "string", "pattern": "^a+$", "default": "a"}},
                    },
                    "maxItems": 5,
                },
                "b": {"x-kubernetes-int-or-string": True},
                "c": {
                    "type": "object",
                    "additionalProperties": {"type": "number", "multipleOf": 2},
                },
                "d": {"type": "string", "format": "date-time", "nullable": True},
                "e": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "f": {
                    "oneOf": [{"required": ["x"]}],
                    "not": {"required": ["y"]},
                    "type": "object",
                    "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
                },
            },
            "x-kubernetes-validations": [
                {
                    "rule": "self.a.all(x, x.k == 'a')",
                    "message": "m",
                    "fieldPath": ".a",
                    "reason": "FieldValueInvalid",
                },
                {"rule": "!has(oldSelf.b)", "messageExpression": "'x'", "optionalOldSelf": False},
            ],
        },
        {
            "a": [{"k": "a"}],
            "b": 1,
            "c": {"x": 2.5},
            "d": None,
            "e": {"apiVersion": "v1", "kind": "x", "metadata": {"name": "é"}},
        },
    ],
)


def _struct(data: bytes) -> None:
    found = document_of(data)
    for name in ("core.v1.Pod", "core.v1.Service", "apiextensions.v1.CustomResourceDefinition"):
        try:
            decoded = decoder(name)(found, None, [])
        except Misfit as error:
            str(error)
            continue
        assert decoder(name)(decoded, None, []) == decoded


def _selector(data: bytes) -> None:
    found = document_of(data)
    if not isinstance(found, dict):
        raise NoInput("no selector")
    try:
        found = decoder("meta.v1.LabelSelector")(found, None, [])
    except Misfit:
        return
    if not list(selector_errors(found, "x")):
        selector_of(found).selects({"metadata": {"labels": {"a": "b"}}})


def _policy(data: bytes) -> None:
    policy_of(document_of(data))


_ROLES: Final[tuple[Literal["mutating", "validating"], ...]] = ("mutating", "validating")


def _webhook_answer(data: bytes) -> None:
    reading = _decoded(data, "admission.k8s.io/v1", "AdmissionReview")
    document = loop().run_until_complete(reading)
    for version, role in product(("v1", "v1beta1"), _ROLES):
        try:
            answer = answer_of(document, "u", role, version)
        except InvalidAnswer:
            continue
        error = denial("w", answer.status)
        jsonified(error.status())
        assert error.code >= 400
        if answer.patch is not None:
            try:
                json_patch.apply({"a": [1]}, answer.patch)
            except ApiError:
                continue


class _Answering:
    """A conversion webhook that answers with an input."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    async def ask(self, *_: Any) -> Any:
        return await _decoded(self._data, "apiextensions.k8s.io/v1", "ConversionReview")


_HOOK = {
    "webhook": {"clientConfig": {"url": "https://a"}, "conversionReviewVersions": ["v1"]},
}
_OLD = {"apiVersion": "a.b/v1", "kind": "X", "metadata": {"name": "a", "labels": {"c": "d"}}}


def _conversion_answer(data: bytes) -> None:
    calls: Any = _Answering(data)
    loop().run_until_complete(converted(calls, _HOOK, [_OLD], "a.b/v2", "u"))


_REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}

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
    Harness(
        "patch",
        _patches,
        (NoInput,),
        (
            jsonified([_POD, [{"op": "add", "path": "/spec/containers/-", "value": {}}]]),
            jsonified([_POD, [{"op": "move", "from": "/metadata", "path": "/spec/x"}]]),
            jsonified([_POD, [{"op": "test", "path": "/metadata/labels/a", "value": "b"}]]),
            jsonified([_POD, {"spec": {"containers": [{"name": "c", "$patch": "delete"}]}}]),
            jsonified([_POD, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}}]),
            jsonified([_POD, {"spec": {"$setElementOrder/containers": [{"name": "c"}]}}]),
            jsonified([_POD, {"spec": {"$retainKeys": ["containers"], "containers": None}}]),
        ),
        (
            b"$patch",
            b"delete",
            b"replace",
            b"merge",
            b"$retainKeys",
            b"$setElementOrder/containers",
            b"/spec/containers/0",
            b"copy",
        ),
        structured=True,
    ),
    Harness(
        "apply",
        _apply,
        (NoInput,),
        (
            jsonified([_POD, _POD]),
            jsonified(
                [
                    {
                        **_POD,
                        "metadata": {
                            "name": "a",
                            "managedFields": [
                                {
                                    "manager": "fuzz",
                                    "operation": "Apply",
                                    "apiVersion": "v1",
                                    "fieldsType": "FieldsV1",
                                    "fieldsV1": {
                                        "f:spec": {
                                            "f:containers": {
                                                'k:{"name":"c"}': {".": {}, "f:image": {}}
                                            }
                                        }
                                    },
                                }
                            ],
                        },
                    },
                    {"metadata": {"name": "a"}, "spec": {"color": "red"}},
                ]
            ),
        ),
        (b"f:spec", b"k:{", b"v:1", b"i:0", b".", b"Apply", b"Update"),
        structured=True,
    ),
    Harness(
        "managed-fields",
        _managed_fields,
        (NoInput,),
        (
            jsonified(
                [
                    {
                        "manager": "m",
                        "operation": op,
                        "apiVersion": "v1",
                        "fieldsType": "FieldsV1",
                        "time": "2026-01-01T00:00:00Z",
                        "subresource": "status",
                        "fieldsV1": {
                            "f:a": {".": {}, 'k:{"a":1,"b":"c"}': {}, "v:1": {}, "i:0": {}}
                        },
                    }
                    for op in ("Apply", "Update")
                ]
            ),
        ),
        (b"f:a", b"k:{}", b"v:", b"i:0", b'k:{"a":[1]}', b"."),
        structured=True,
    ),
    Harness(
        "schema",
        _definition,
        (NoInput,),
        tuple(map(jsonified, _SCHEMAS)),
        (
            b"object",
            b"array",
            b"string",
            b"integer",
            b"number",
            b"type",
            b"items",
            b"default",
            b"x-kubernetes-preserve-unknown-fields",
            b"x-kubernetes-validations",
            b"self",
            b"properties",
            b"additionalProperties",
            b"allOf",
            b"$ref",
            b"enum",
            b"pattern",
            b"maxLength",
        ),
        structured=True,
    ),
    Harness(
        "struct",
        _struct,
        (NoInput,),
        (
            jsonified(_POD),
            jsonified(GIZMO),
            jsonified(
                {
                    "spec": {"ports": [{"targetPort": "x", "port": 80}]},
                    "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
                }
            ),
        ),
        structured=True,
    ),
    Harness(
        "selector-document",
        _selector,
        (NoInput,),
        (
            jsonified(
                {
                    "matchLabels": {"a": "b"},
                    "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}],
                }
            ),
        ),
        (b"In", b"NotIn", b"Exists", b"DoesNotExist", b"matchLabels"),
        structured=True,
    ),
    Harness(
        "audit-policy",
        _policy,
        (NoInput, BadPolicy),
        (
            jsonified(
                {
                    "apiVersion": "audit.k8s.io/v1",
                    "kind": "Policy",
                    "omitStages": ["RequestReceived"],
                    "rules": [
                        {
                            "level": "Metadata",
                            "users": ["a"],
                            "verbs": ["get"],
                            "nonResourceURLs": ["/healthz*"],
                        },
                        {
                            "level": "Request",
                            "resources": [
                                {"group": "", "resources": ["pods/*"], "resourceNames": ["a"]}
                            ],
                            "namespaces": ["x"],
                            "omitManagedFields": True,
                        },
                    ],
                }
            ),
        ),
        (b"None", b"Metadata", b"RequestResponse", b"Panic", b"*", b"rules"),
        structured=True,
    ),
    Harness(
        "webhook-answer",
        _webhook_answer,
        (CallFailed,),
        (
            jsonified(
                {
                    **_REVIEW,
                    "response": {
                        "uid": "u",
                        "allowed": True,
                        "patch": "W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL2EifV0=",
                        "patchType": "JSONPatch",
                    },
                }
            ),
            jsonified(
                {
                    **_REVIEW,
                    "response": {
                        "uid": "u",
                        "allowed": False,
                        "warnings": ["a"],
                        "status": {
                            "code": 403,
                            "message": "no",
                            "reason": "x",
                            "details": {"retryAfterSeconds": 5},
                        },
                    },
                }
            ),
        ),
        (b"JSONPatch", b"allowed", b"status", b"code", b"W10="),
        structured=True,
    ),
    Harness(
        "conversion-answer",
        _conversion_answer,
        (WebhookFailed,),
        (
            jsonified(
                {
                    "apiVersion": "apiextensions.k8s.io/v1",
                    "kind": "ConversionReview",
                    "response": {
                        "uid": "u",
                        "result": {"status": "Success", "message": "x"},
                        "convertedObjects": [{**_OLD, "apiVersion": "a.b/v2"}],
                    },
                }
            ),
        ),
        (b"Failed", b"a.b/v2", b"labels", b"annotations"),
        structured=True,
    ),
)
