"""Admission webhooks that mutate and validate, their conditions and failures; conversion webhooks."""

from __future__ import annotations

from typing import Final

from tests.differential.case import APPLY_PATCH, MERGE_PATCH, Case, Json, Step, patch, request
from tests.differential.draw import Draw
from tests.differential.kinds import CONFIG_MAP, SHAPE, WIDGET, Kind

GROUP: Final = "/apis/admissionregistration.k8s.io/v1"
ANSWERS: Final[tuple[Json, ...]] = (
    {"response": {"allowed": True}},
    {"response": {"allowed": True, "warnings": ["careful", ""]}},
    {"response": {"allowed": True, "auditAnnotations": {"a": "b"}}},
    {"response": {"allowed": False}},
    {"response": {"allowed": False, "status": {"message": "no"}}},
    {"response": {"allowed": False, "status": {"message": "no", "code": 422, "reason": "Invalid"}}},
    {"response": {"allowed": False, "status": {"code": 200, "message": "odd"}}},
    {"response": {"allowed": False, "status": {"reason": "Because"}}},
    {
        "response": {
            "allowed": False,
            "status": {"message": "no", "details": {"causes": [{"field": "x"}]}},
        }
    },
    {"response": {"allowed": False, "warnings": ["w1", "w2"]}},
    {"response": {"allowed": True, "uid": "other"}},
    {"response": {}},
    {"text": "{}"},
    {"text": "x"},
    {"http": 500},
    {"http": 404},
    {"text": '{"apiVersion":"admission.k8s.io/v1","kind":"Other"}'},
)
RENAME: Final[Json] = [{"op": "replace", "path": "/metadata/name", "value": "other"}]
PATCHES: Final[tuple[Json, ...]] = (
    [{"op": "add", "path": "/metadata/labels", "value": {"hooked": "yes"}}],
    [{"op": "add", "path": "/metadata/annotations", "value": {"hooked": "yes"}}],
    [{"op": "add", "path": "/metadata/labels/x", "value": "y"}],
    [{"op": "add", "path": "/spec/replicas", "value": 7}],
    [{"op": "add", "path": "/spec/size", "value": "huge"}],
    [{"op": "add", "path": "/spec/unknown", "value": 1}],
    RENAME,
    [{"op": "remove", "path": "/spec"}],
    [{"op": "test", "path": "/spec/x", "value": 1}],
    [{"op": "add", "path": "/data", "value": {"k": "v"}}],
    [{"op": "add", "path": "/metadata/finalizers", "value": ["a.b/c"]}],
    [],
    [{"op": "nonsense", "path": "/x"}],
    {"op": "add"},
)
CONDITIONS: Final = (
    "true", "false", "object.metadata.name == 'alpha'", "request.operation == 'CREATE'", "object.spec.x == 1",
    "has(object.spec) && has(object.spec.replicas)", "request.userInfo.username == 'admin'", "request.dryRun",
    "oldObject == null", "object.metadata.labels['a'] == '1'", "authorizer.group('').resource('pods').check('get').allowed()",
)  # fmt: skip


def generate(draw: Draw) -> Case:
    """Writes that one or two webhooks see."""
    kind = draw.one((WIDGET, WIDGET, SHAPE, CONFIG_MAP))
    answers: dict[str, Json] = {}
    setup: list[Step] = []
    validating = False
    for number in range(draw.number(1, 2)):
        mutating = draw.chance(0.5)
        name = f"h{number}"
        answers[name] = (
            {"response": {"allowed": True}, "patch": draw.one(PATCHES)}
            if mutating and draw.chance(0.7)
            else draw.one(ANSWERS)
        )
        if not mutating and validating:
            # Two are asked at once: which refusal a client sees, or warning first, is chance.
            answers[name] = {"response": {"allowed": True}}
        validating |= not mutating
        setup.append(_configuration(draw, kind, name, mutating=mutating))
    setup.append({"sleep": 1.0})
    # Applied, a renamed object would be stored under the name that it had.
    renames = RENAME in [answer.get("patch") for answer in answers.values()]
    steps = [_write(draw, kind, applies=not renames) for _ in range(draw.number(8, 14))]
    steps += [{"calls": name} for name in answers]
    steps += [
        request(
            "DELETE",
            document["request"]["path"] + "/" + document["request"]["body"]["metadata"]["name"],
        )
        for document in setup[:-1]
    ]
    for step in steps[-len(setup) + 1 :]:
        step["only"] = ["/status"]
    return {"setup": setup, "steps": steps, "webhooks": answers, "needs": ["webhooks"]}


def _configuration(draw: Draw, kind: Kind, name: str, *, mutating: bool) -> Step:
    api = kind.api.split("/")
    group, version = api if len(api) == 2 else ("", api[0])
    hook: Json = {
        "name": f"{name}.hook.dev",
        "clientConfig": {"url": f"${{webhook}}/{name}", "caBundle": "${ca}"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": draw.one(("Fail", "Fail", "Ignore")),
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "${ns}"}},
        "rules": [
            {
                "apiGroups": [draw.one((group, group, "*"))],
                "apiVersions": [draw.one((version, "*"))],
                "operations": draw.one(
                    (["*"], ["CREATE"], ["CREATE", "UPDATE"], ["DELETE"], ["UPDATE", "DELETE"])
                ),
                "resources": draw.one(
                    (
                        [kind.plural],
                        ["*"],
                        ["*/*"],
                        [kind.plural, f"{kind.plural}/status"],
                        [f"{kind.plural}/*"],
                    )
                ),
            }
        ],
    }
    if draw.chance(0.3):
        hook["matchConditions"] = [{"name": "c", "expression": draw.one(CONDITIONS)}]
    if draw.chance(0.2):
        hook["objectSelector"] = {"matchLabels": {"a": "1"}}
    if draw.chance(0.2):
        hook["matchPolicy"] = "Exact"
    if mutating and draw.chance(0.3):
        hook["reinvocationPolicy"] = "IfNeeded"
    word = "Mutating" if mutating else "Validating"
    body = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{word}WebhookConfiguration",
        "metadata": {"name": f"${{u}}-{name}"},
        "webhooks": [hook],
    }
    return request("POST", f"{GROUP}/{word.lower()}webhookconfigurations", body)


def _write(draw: Draw, kind: Kind, *, applies: bool) -> Step:
    name = draw.one(("alpha", "beta"))
    labels = {"labels": {"a": draw.one(("1", "2"))}} if draw.chance(0.5) else {}
    query: Json = draw.one(({}, {}, {}, {"dryRun": "All"}, {"fieldValidation": "Strict"}))
    body = kind.object(draw, name, **labels)
    return draw.made(
        (
            (4.0, lambda: request("POST", kind.path, body, query=query)),
            (2.0, lambda: request("PUT", kind.at(name), body, query=query)),
            (
                2.0,
                lambda: patch(
                    kind.at(name),
                    MERGE_PATCH,
                    {"metadata": {"labels": {"a": draw.one(("1", "2", None))}}},
                ),
            ),
            (
                1.0 if applies else 0.0,
                lambda: patch(
                    kind.at(name), APPLY_PATCH, body, query={"fieldManager": "m", "force": "true"}
                ),
            ),
            (1.0, lambda: request("DELETE", kind.at(name))),
            (0.3, lambda: request("DELETE", kind.path)),
            (0.3, lambda: request("GET", kind.at(name))),
        )
    )
