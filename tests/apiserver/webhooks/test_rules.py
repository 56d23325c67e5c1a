"""Tests of webhooks: rules, conditions, clients, errors of configurations and of responses."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.apiserver.auth.authorization import Attributes
from kapy.apiserver.resources.builtin.conversion_errors import conversion_errors
from kapy.apiserver.resources.builtin.webhook_errors import configuration_errors
from kapy.apiserver.resources.match_conditions import Condition
from kapy.apiserver.webhooks.admission_review import (
    InvalidResponse,
    PatchFailed,
    UndecodablePatch,
    apply_patch,
    denial_error,
    parse_response,
)
from kapy.apiserver.webhooks.client_config import ClientConfig
from kapy.apiserver.webhooks.condition_evaluation import (
    ConditionFailed,
    cel_authorizer,
    evaluate,
)
from kapy.apiserver.webhooks.configuration import Rule
from kapy.kube.http import User
from kapy.kube.names import Resource
from tests.apiserver.webhooks.webhook_server import hook

GIZMOS = Resource("example.dev", "v1", "gizmos", "Gizmo")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)

ANNE = User("anne", ("system:authenticated",))
ROBOT = User(
    "system:serviceaccount:n:robot",
    ("system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"),
)


def rule(**fields: Any) -> Rule:
    whole = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    return Rule.from_document({**whole, **fields})


@pytest.mark.parametrize(
    ("fields", "operation", "resource", "part", "matches"),
    [
        ({}, "CREATE", GIZMOS, "", True),
        ({}, "UPDATE", GIZMOS, "status", False),
        ({"resources": ["*/*"]}, "UPDATE", GIZMOS, "status", True),
        ({"resources": ["*/*"]}, "UPDATE", GIZMOS, "", True),
        ({"resources": ["gizmos/*"]}, "UPDATE", GIZMOS, "scale", True),
        ({"resources": ["*/scale"]}, "UPDATE", GIZMOS, "scale", True),
        ({"resources": ["*/scale"]}, "UPDATE", GIZMOS, "", False),
        ({"resources": ["pods", "gizmos"]}, "DELETE", GIZMOS, "", True),
        ({"operations": ["CREATE", "UPDATE"]}, "DELETE", GIZMOS, "", False),
        ({"apiGroups": [""]}, "CREATE", GIZMOS, "", False),
        ({"apiGroups": [""]}, "CREATE", NODES, "", True),
        ({"apiVersions": ["v1beta1"]}, "CREATE", GIZMOS, "", False),
        ({"scope": "Namespaced"}, "CREATE", NODES, "", False),
        ({"scope": "Cluster"}, "CREATE", NODES, "", True),
        ({"scope": "Cluster"}, "CREATE", GIZMOS, "", False),
        ({"scope": "*"}, "CREATE", GIZMOS, "", True),
    ],
)
def test_a_rule_matches_requests(
    fields: dict[str, Any], operation: str, resource: Resource, part: str, matches: bool
) -> None:
    assert rule(**fields).matches(operation, resource, part) is matches


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        (
            {"op": "remove", "path": "/spec/none"},
            "error in remove for path: '/spec/none': Unable to remove nonexistent key: none: "
            "missing value",
        ),
        (
            {"op": "add", "path": "/none/a", "value": 1},
            'add operation does not apply: doc is missing path: "/none/a": missing value',
        ),
        (
            {"op": "remove", "path": "/list/7"},
            "error in remove for path: '/list/7': Unable to access invalid index: 7: "
            "invalid index referenced",
        ),
        (
            {"op": "test", "path": "/spec/a", "value": 2},
            "testing value /spec/a failed: test failed",
        ),
        ({"op": "frob", "path": "/spec"}, "Unexpected kind: frob"),
    ],
)
def test_a_patch_that_does_not_apply_says_why(operation: dict[str, Any], why: str) -> None:
    document = {"spec": {"a": 1}, "list": [1]}
    with pytest.raises(PatchFailed) as caught:
        apply_patch(document, [operation])
    assert str(caught.value) == why
    assert document == {"spec": {"a": 1}, "list": [1]}


def test_a_service_is_found_by_namespace_name_and_port() -> None:
    service = {"namespace": "n", "name": "s", "path": "check"}
    client = ClientConfig.from_document({"service": service})
    assert client.display_url == "https://s.n.svc:443/check"
    assert (
        client.resolve_url({("n", "s", 443): "https://127.0.0.1:9/"}) == "https://127.0.0.1:9/check"
    )
    assert client.resolve_url(lambda key: None) == ""
    assert client.resolve_url(None) == ""
    other = ClientConfig.from_document({"service": {**service, "port": 8443}})
    assert other.resolve_url({("n", "s", 443): "https://127.0.0.1:9"}) == ""


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"name": "hook"}, "webhooks[0].name: Invalid value: \"hook\": should be a domain with at "
         "least three segments separated by dots"),
        ({"sideEffects": "Some"}, 'webhooks[0].sideEffects: Unsupported value: "Some": supported '
         'values: "None", "NoneOnDryRun"'),
        ({"timeoutSeconds": 31}, "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value "
         "must be between 1 and 30 seconds"),
        ({"clientConfig": {}}, "webhooks[0].clientConfig: Required value: exactly one of url or "
         "service is required"),
        ({"clientConfig": {"url": "http://x"}}, "webhooks[0].clientConfig.url: Invalid value: "
         "\"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]"),
        ({"admissionReviewVersions": ["v2", "v1alpha1"]}, "webhooks[0].admissionReviewVersions: "
         'Invalid value: ["v2","v1alpha1"]: must include at least one of v1, v1beta1'),
        ({"clientConfig": {"service": {"name": "s", "namespace": "", "port": 443}}},
         "webhooks[0].clientConfig.service.name: Required value"),
        ({"matchPolicy": "Roughly"}, 'webhooks[0].matchPolicy: Unsupported value: "Roughly": '
         'supported values: "Equivalent", "Exact"'),
        ({"rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"],
                     "resources": ["*", "pods"]}]},
         'webhooks[0].rules[0].resources: Invalid value: ["*","pods"]: if \'*\' is present, must '
         "not specify other resources without subresources"),
        ({"matchConditions": [{"name": "a", "expression": ""}]},
         "webhooks[0].matchConditions[0].expression: Required value"),
    ],
)  # fmt: skip
def test_an_invalid_webhook_configuration_is_refused(fields: dict[str, Any], sentence: str) -> None:
    good = hook("a.hook.dev", "https://x.dev/y")
    assert configuration_errors({"webhooks": [good]}, None) == []
    errors = configuration_errors({"webhooks": [{**good, **fields}]}, None)
    assert [str(error) for error in errors] == [sentence]


def test_an_expression_that_this_server_cannot_run_is_refused_once() -> None:
    """A configuration that is stored with the expression may be written again."""
    condition = {"name": "a", "expression": "params.x == 1"}
    document = hook("a.hook.dev", "https://x.dev/y", matchConditions=[condition])
    (error,) = configuration_errors({"webhooks": [document]}, None)
    assert error.field == "webhooks[0].matchConditions[0].expression"
    assert "undeclared reference to 'params'" in error.detail
    assert configuration_errors({"webhooks": [document]}, {"webhooks": [document]}) == []


@pytest.mark.parametrize(
    ("conversion", "fields"),
    [
        ({"strategy": "None"}, []),
        ({"strategy": "Sometimes"}, ["spec.conversion.strategy"]),
        (
            {"strategy": "Webhook"},
            ["spec.conversion.webhookClientConfig", "spec.conversion.conversionReviewVersions"],
        ),
        (
            {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://x.dev"}}},
            ["spec.conversion.conversionReviewVersions"],
        ),
        (
            {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {"url": "https://x.dev"},
                    "conversionReviewVersions": ["v1beta1", "v1"],
                },
            },
            [],
        ),
        (
            {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {"url": "https://x.dev"},
                    "conversionReviewVersions": ["v1beta2", "v1beta1"],
                },
            },
            [],
        ),
    ],
)
def test_a_conversion_configuration_is_validated(
    conversion: dict[str, Any], fields: list[str]
) -> None:
    assert [error.field for error in conversion_errors(conversion)] == fields


def test_a_false_condition_decides_and_a_failing_one_is_reported() -> None:
    new = {"metadata": {"name": "a"}}
    good, bad = Condition.compile("object.metadata.name == 'a'"), Condition.compile("object.x == 1")
    no = Condition.compile("request.operation == 'DELETE'")
    assert evaluate([good], new, None, CREATE, NOBODY)
    assert not evaluate([bad, no], new, None, CREATE, NOBODY)
    with pytest.raises(ConditionFailed, match=r"expression 'object.x == 1' resulted in error"):
        evaluate([good, bad], new, None, CREATE, NOBODY)


CREATE: dict[str, Any] = {
    "operation": "CREATE",
    "requestResource": {"group": "g", "version": "v1", "resource": "things"},
    "namespace": "n",
}
NOBODY = cel_authorizer(None, User("nobody"))


@pytest.mark.parametrize(
    ("expression", "question"),
    [
        ("authorizer.path('/x').check('get')", Attributes(ANNE, "get", version="*", path="/x")),
        (
            "authorizer.group('a').resource('b').subresource('c').namespace('d').name('e')"
            ".fieldSelector('f=1').labelSelector('l=1').check('list')",
            Attributes(ANNE, "list", "a", "*", "b", "c", "d", "e", None, "f=1", "l=1"),
        ),
        (
            "authorizer.requestResource.check('use')",
            Attributes(ANNE, "use", "g", "*", "things", namespace="n"),
        ),
        (
            "authorizer.serviceAccount('n', 'robot').group('').resource('pods').check('get')",
            Attributes(ROBOT, "get", "", "*", "pods"),
        ),
    ],
)
def test_a_match_condition_may_call_the_authorizer(expression: str, question: Attributes) -> None:
    questions: list[Attributes] = []

    def authorize(attributes: Attributes) -> str:
        questions.append(attributes)
        if len(questions) == 2:
            raise attributes.forbidden_error("RBAC: nobody may")
        return "RBAC: allowed by x"

    may = Condition.compile(f"{expression}.allowed() && !{expression}.allowed()")
    assert evaluate([may], None, None, CREATE, cel_authorizer(authorize, ANNE))
    assert questions == [question, question]
    questions.clear()
    why = Condition.compile(
        f"{expression}.reason() + {expression}.reason() == 'RBAC: allowed by xRBAC: nobody may'"
    )
    assert evaluate([why], None, None, CREATE, cel_authorizer(authorize, ANNE))


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("authorizer.path(' ').check('get').allowed()", "path must not be empty"),
        (
            "authorizer.serviceAccount('n', 'A b').path('/').check('get').allowed()",
            "Invalid service account name",
        ),
        (
            "authorizer.serviceAccount('n.x', 'a').path('/').check('get').allowed()",
            "Invalid service account namespace",
        ),
        (
            "[1, 2, 3].all(x, authorizer.path('/x').check('get').allowed())",
            "operation cancelled: actual cost limit exceeded",
        ),
    ],
)
def test_an_invalid_authorizer_call_is_refused(expression: str, why: str) -> None:
    with pytest.raises(ConditionFailed, match=f"resulted in error: {why}"):
        evaluate([Condition.compile(expression)], None, None, CREATE, NOBODY)


@pytest.mark.parametrize(
    ("response", "role", "why"),
    [
        (None, "mutating", "webhook response was absent"),
        ({"uid": "b"}, "mutating", 'expected response.uid="a", got "b"'),
        ({"uid": "a", "patch": "W10="}, "mutating",
         "webhook returned response.patch but not response.patchType"),
        ({"uid": "a", "patchType": "JSONPatch"}, "mutating",
         "webhook returned response.patchType but not response.patch"),
        ({"uid": "a", "patchType": "JSONPatch"}, "validating",
         "validating webhook may not return response.patchType"),
    ],
)  # fmt: skip
def test_an_invalid_admission_response_is_refused(response: Any, role: Any, why: str) -> None:
    with pytest.raises(InvalidResponse) as caught:
        parse_response({**REVIEW, "response": response}, "a", role, "v1")
    assert str(caught.value) == why


REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}


def test_a_v1_response_needs_kind_and_version() -> None:
    message = "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind="
    with pytest.raises(InvalidResponse, match=message):
        parse_response({"response": {"uid": "a"}}, "a", "mutating", "v1")


def test_a_v1beta1_response_is_accepted_unchanged() -> None:
    response = {"uid": "other", "allowed": True, "patch": "W10="}
    mutated = parse_response({"response": response}, "a", "mutating", "v1beta1")
    assert (mutated.allowed, mutated.patch, mutated.patch_type) == (True, b"[]", "JSONPatch")
    assert parse_response({"response": response}, "a", "validating", "v1beta1").patch == b""


@pytest.mark.parametrize(
    ("patch", "kind", "why"),
    [
        ("W3t9XQ==", "Merge", 'unsupported patch type "Merge"'),
        ("e30=", "JSONPatch", "received undecodable patch in webhook response: json: cannot "
         "unmarshal object into Go value of type jsonpatch.Patch"),
        ("Ww==", "JSONPatch", "received undecodable patch in webhook response: unexpected end of "
         "JSON input"),
    ],
)  # fmt: skip
def test_an_undecodable_patch_is_refused(patch: str, kind: str, why: str) -> None:
    response = {"uid": "a", "allowed": True, "patch": patch, "patchType": kind}
    answer = parse_response({**REVIEW, "response": response}, "a", "mutating", "v1")
    with pytest.raises(UndecodablePatch) as caught:
        answer.operations()
    assert str(caught.value) == why


def test_warnings_that_would_break_a_header_are_left_out() -> None:
    response = {"uid": "a", "allowed": True, "warnings": ["fine", "in\r\njected: header", ""]}
    assert parse_response({"response": response}, "a", "validating", "v1beta1").warnings == (
        "fine",
    )


@pytest.mark.parametrize("code", [403, 418, 503])
def test_a_denial_has_the_status_that_the_webhook_chose(code: int) -> None:
    error = denial_error("a.b.c", {"code": code, "message": "no", "reason": "Because"})
    assert (error.code, error.status()["code"], error.status()["reason"]) == (code, code, "Because")
    assert str(error) == 'admission webhook "a.b.c" denied the request: no'
