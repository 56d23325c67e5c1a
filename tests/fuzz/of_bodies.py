"""Harnesses of documents that the API server reads: patches, schemas, answers of webhooks."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any, Final, Literal

from kapy.apiserver.audit.policy import InvalidPolicy, parse_policy
from kapy.apiserver.resources.label_selectors import selector_errors
from kapy.apiserver.resources.structs import WrongType, decoder, facts
from kapy.apiserver.webhooks.admission_review import InvalidResponse, denial_error, parse_response
from kapy.apiserver.webhooks.conversion import ConversionWebhookFailed, convert_by_webhook
from kapy.apiserver.webhooks.webhook_client import CallFailed, _decode
from kapy.kube.apply import Tracker, Write
from kapy.kube.apply.kinds import Types
from kapy.kube.apply.managers import encode_entries, parse_entries
from kapy.kube.apply.refusals import ApplyFailed
from kapy.kube.cel.definition import rule_errors
from kapy.kube.cel.rules import rule_checker
from kapy.kube.errors import ApiError, BadRequest, Conflict, KapyError
from kapy.kube.patch import json_patch, merge_patch, strategic, strict_json_patch
from kapy.kube.schema.definition import schema_errors
from kapy.kube.schema.structural import Structural
from kapy.kube.selectors import selector_of
from tests.apiserver.requester import GIZMO
from tests.fuzz.bodies import NoInput, document_of, jsonified
from tests.fuzz.harness import Harness
from tests.fuzz.of_formats import loop


def _patches(data: bytes) -> bytes:
    document = document_of(data)
    if not (isinstance(document, list) and len(document) == 2):
        raise NoInput("no document with a patch")
    live, patch = document
    results = []
    for apply in (_json_patch, merge_patch.apply, _strategic, _strict):
        try:
            results.append(apply(live, patch))
        except (KapyError, strict_json_patch.BadPatch):
            continue
    if isinstance(live, dict) and isinstance(patch, dict):
        merge_patch.apply(live, merge_patch.difference(live, patch))
    assert document == document_of(data), "a patch changed what it was given"
    return jsonified(results)


def _json_patch(live: Any, patch: Any) -> Any:
    return json_patch.apply(live, patch)


def _strategic(live: Any, patch: Any) -> Any:
    try:
        live = decoder("core.v1.Pod")(live, None, [])  # as a server stores it
    except WrongType:
        return None
    return strategic.apply(live, patch, facts()["structs"], "core.v1.Pod")


def _strict(live: Any, patch: Any) -> Any:
    return strict_json_patch.apply(live, strict_json_patch.parse_patch(patch))


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
    document = document_of(data)
    if not (isinstance(document, list) and len(document) == 2):
        raise NoInput("no two objects")
    for item in document:
        if not (isinstance(item, dict) and isinstance(item.get("metadata"), dict)):
            raise NoInput("no object")
    live, applied = ({**element, "apiVersion": "v1", "kind": "Pod"} for element in document)
    entries = live["metadata"].pop("managedFields", None)
    if entries is not None and (managers := parse_entries(entries)):
        live["metadata"]["managedFields"] = encode_entries(managers)
    write = Write("fuzz", "v1", "2026-01-01T00:00:00Z")
    for tracker in _trackers():
        try:
            result = tracker.apply(live, applied, write, force=True)
            tracker.track(live, result, write)
        except (BadRequest, Conflict, ApplyFailed):
            continue


def _managed_fields(data: bytes) -> bytes:
    managers = parse_entries(document_of(data))
    if managers is None:
        return b""
    entries = encode_entries(managers)
    again = parse_entries(entries)
    assert again is not None
    assert encode_entries(again) == entries
    return jsonified(entries)


def _definition(data: bytes) -> None:
    """A schema, as a CRD has it: refused, or compiled and used."""
    document = document_of(data)
    schema, value = (
        document if isinstance(document, list) and len(document) == 2 else (document, {})
    )
    try:
        schema = decoder("apiextensions.v1.JSONSchemaProps")(schema, None, [])
    except WrongType:
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
    document = document_of(data)
    for name in ("core.v1.Pod", "core.v1.Service", "apiextensions.v1.CustomResourceDefinition"):
        try:
            decoded = decoder(name)(document, None, [])
        except WrongType as error:
            str(error)
            continue
        assert decoder(name)(decoded, None, []) == decoded


def _selector(data: bytes) -> None:
    document = document_of(data)
    if not isinstance(document, dict):
        raise NoInput("no selector")
    try:
        document = decoder("meta.v1.LabelSelector")(document, None, [])
    except WrongType:
        return
    if not list(selector_errors(document, "x")):
        selector_of(document).selects({"metadata": {"labels": {"a": "b"}}})


def _policy(data: bytes) -> None:
    parse_policy(document_of(data))


_ROLES: Final[tuple[Literal["mutating", "validating"], ...]] = ("mutating", "validating")


def _webhook_answer(data: bytes) -> None:
    reading = _decode(data, "admission.k8s.io/v1", "AdmissionReview")
    document = loop().run_until_complete(reading)
    for version, role in product(("v1", "v1beta1"), _ROLES):
        try:
            answer = parse_response(document, "u", role, version)
        except InvalidResponse:
            continue
        error = denial_error("w", answer.status)
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

    async def call(self, *_: Any) -> Any:
        return await _decode(self._data, "apiextensions.k8s.io/v1", "ConversionReview")


_HOOK = {
    "webhook": {"clientConfig": {"url": "https://a"}, "conversionReviewVersions": ["v1"]},
}
_OLD = {"apiVersion": "a.b/v1", "kind": "X", "metadata": {"name": "a", "labels": {"c": "d"}}}


def _conversion_answer(data: bytes) -> None:
    calls: Any = _Answering(data)
    loop().run_until_complete(convert_by_webhook(calls, _HOOK, [_OLD], "a.b/v2", "u"))


_REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}


HARNESSES = (
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
        (NoInput, InvalidPolicy),
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
        (ConversionWebhookFailed,),
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
