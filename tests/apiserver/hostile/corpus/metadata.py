"""Large metadata, queries, reviews, roles and what else one user of a namespace can send."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote

from tests.apiserver.hostile.corpus.case import (
    CORE,
    NAMESPACE,
    THINGS,
    Call,
    apply,
    case,
    config_map,
    create,
    delete,
    joined,
    listed,
    mapped,
    members,
    merge_patch,
    pod,
    prepare,
    replace,
    thing,
)

EMPTY = "{}"
MAPS = f"{CORE}/configmaps"
STORED = 1_400_000


def _owner(number: int, more: str = "") -> str:
    return f'{{"apiVersion":"v1","kind":"Node","name":"n{number}","uid":"u{number}"{more}}}'


@case
def owner_references(size: int) -> Iterator[Call]:
    for name, item in (
        ("different", _owner),
        ("same", lambda _: _owner(1)),
        ("pairs", lambda at: _owner(at // 2)),
        ("controllers", lambda at: _owner(at, ',"controller":true')),
        ("blocking", lambda at: _owner(at, ',"blockOwnerDeletion":true')),
        ("empty", lambda _: "{}"),
    ):
        meta = listed("ownerReferences", joined(size, item))
        yield create(MAPS, config_map(name, meta))
        yield create(THINGS, thing(name, "", meta))
    small = listed("ownerReferences", joined(min(size, STORED), _owner))
    yield create(THINGS, thing("kept", "", small))
    yield replace(f"{THINGS}/kept", thing("kept", '"replicas":2', small))
    yield merge_patch(f"{THINGS}/kept", '{"metadata":{"labels":{"a":"b"}}}')
    yield apply(f"{THINGS}/kept", thing("kept", '"replicas":3', small))
    yield delete(MAPS)
    yield delete(THINGS)


@case
def finalizers(size: int) -> Iterator[Call]:
    for name, item in (
        ("good", lambda at: f'"a.b/f{at}"'),
        ("plain", lambda at: f'"f{at}"'),
        ("wrong", lambda at: f'"! {at}"'),
        ("same", lambda _: '"a.b/c"'),
    ):
        meta = listed("finalizers", joined(min(size, STORED), item))
        for path, body in ((MAPS, config_map(name, meta)), (THINGS, thing(name, "", meta))):
            yield create(path, body)
            yield delete(f"{path}/{name}")
            yield merge_patch(f"{path}/{name}", '{"metadata":{"finalizers":["x.y/z"]}}')
            yield merge_patch(f"{path}/{name}", '{"metadata":{"finalizers":null}}')
    yield delete(MAPS)
    yield delete(THINGS)


@case
def labels_and_annotations(size: int) -> Iterator[Call]:
    for field in ("labels", "annotations"):
        for name, item in (
            ("good", lambda at: f'"k{at}":"v"'),
            ("wrong", lambda at: f'"k {at}":"v v"'),
            ("long", lambda at: f'"{"k" * 100}{at}":"{"v" * 100}"'),
        ):
            meta = f'"{field}":{{{joined(size, item)}}}'
            yield create(MAPS, config_map(name, meta))
            yield create(THINGS, thing(name, "", meta))
            yield Call("GET", MAPS, query={"labelSelector": "k1=v"})
        yield create(MAPS, config_map("huge", f'"{field}":{{"a":"{"x" * size}"}}'))
        yield create(MAPS, config_map("key", f'"{field}":{{"{"x" * size}":"a"}}'))
        yield delete(MAPS)
        yield delete(THINGS)
    yield create(MAPS, config_map("x" * size))
    yield create(MAPS, config_map("", f'"generateName":"{"x" * size}"'))


@case
def managed_fields(size: int) -> Iterator[Call]:
    entry = (
        '{{"manager":"{}","operation":"Update","apiVersion":"{}",'
        '"fieldsType":"FieldsV1","fieldsV1":{}}}'
    )
    fields = f"{{{members(size, 'f:k{}', EMPTY)}}}"
    items = f"{{{joined(size, quoted_item)}}}"
    wrong = f"{{{members(size, 'z{}', EMPTY)}}}"
    deep = '{"f:a":' * 250 + "{}" + "}" * 250
    many = joined(size, lambda at: entry.format(f"m{at}", "hostile.dev/v1", '{"f:spec":{}}'))
    old = joined(size, lambda at: entry.format("m", f"hostile.dev/v{at + 2}", '{"f:spec":{}}'))
    invalid = joined(size, lambda _: "{}")
    for number, text in enumerate(
        (
            entry.format("m", "hostile.dev/v1", fields),
            entry.format("m", "hostile.dev/v1", items),
            entry.format("m", "hostile.dev/v1", wrong),
            entry.format("m", "hostile.dev/v1", deep),
            many,
            old,
            invalid,
        )
    ):
        meta = f'"managedFields":[{text}]'
        yield create(THINGS, thing(f"t{number}", "", meta))
        yield merge_patch(f"{THINGS}/t{number}", '{"spec":{"replicas":3}}')
        yield apply(f"{THINGS}/t{number}", thing(f"t{number}", '"replicas":4'))
        yield replace(f"{THINGS}/t{number}", thing(f"t{number}", '"replicas":5', meta))
        yield create(MAPS, config_map(f"t{number}", meta.replace("hostile.dev/v1", "v1")))
    yield delete(THINGS)
    yield delete(MAPS)


def quoted_item(number: int) -> str:
    return json.dumps(f'k:{{"name":"{number}"}}') + ":{}"


@case
def queries(size: int) -> Iterator[Call]:
    size = min(size, 60_000)
    for number in range(3):
        yield create(MAPS, config_map(f"c{number}", '"labels":{"a":"b"}'))
    for selector in (
        joined(size, lambda at: f"k{at}=v"),
        joined(size, lambda at: f"!k{at}"),
        f"k in ({joined(size, lambda at: f'v{at}')})",
        f"k notin ({joined(size, lambda at: f'v{at}')})",
        "(" * size,
        "," * size,
        " " * size,
        "k" * size,
    ):
        yield Call("GET", MAPS, query={"labelSelector": selector})
        yield Call("DELETE", MAPS, query={"labelSelector": selector, "dryRun": "All"})
    for selector in (joined(size, lambda at: f"metadata.name=c{at}"), "=" * size, "\\" * size):
        yield Call("GET", MAPS, query={"fieldSelector": selector})
    yield Call("GET", MAPS, query={"continue": "A" * size})
    yield Call("GET", MAPS, query={"limit": "9" * size})
    yield Call("GET", MAPS, query={"resourceVersion": "9" * size})
    yield Call("GET", MAPS + "/" + quote("x" * size))
    yield delete(MAPS)


@case
def stored_selectors(size: int) -> Iterator[Call]:
    """Selectors in objects that controllers evaluate."""
    budgets = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
    yield create(
        f"{CORE}/pods", pod("p", '"containers":[{"name":"a","image":"i"}]', '"labels":{"a":"b"}')
    )
    size = min(size, STORED)
    terms = joined(size, lambda at: f'{{"key":"k{at}","operator":"DoesNotExist"}}')
    values = joined(size, lambda at: f'"v{at}"')
    for number, selector in enumerate(
        (
            f'"matchExpressions":[{terms}]',
            f'"matchExpressions":[{{"key":"a","operator":"NotIn","values":[{values}]}}]',
            mapped("matchLabels", members(size, "k{}", chr(34) + "v" + chr(34))),
        )
    ):
        spec = f'"minAvailable":1,"selector":{{{selector}}}'
        body = pod(f"b{number}", spec).replace(
            '"v1","kind":"Pod"', '"policy/v1","kind":"PodDisruptionBudget"'
        )
        yield create(budgets, body)
    yield create(
        f"{CORE}/pods", pod("q", '"containers":[{"name":"a","image":"i"}]', '"labels":{"a":"b"}')
    )
    eviction = '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}'
    yield create(f"{CORE}/pods/p/eviction", eviction)
    yield delete(budgets)
    yield delete(f"{CORE}/pods")


@case
def reviews(size: int) -> Iterator[Call]:
    access = "/apis/authorization.k8s.io/v1"
    extra = joined(size, lambda at: f'"k{at}":["v"]')
    groups = joined(size, lambda at: f'"g{at}"')
    attributes = '"resourceAttributes":{"verb":"get","resource":"pods"}'
    for kind, spec in (
        ("SelfSubjectAccessReview", f'{attributes},"x":[{groups}]'),
        ("SelfSubjectAccessReview", f'"resourceAttributes":{{"verb":"{"x" * size}"}}'),
        ("SelfSubjectRulesReview", f'"namespace":"{"x" * size}"'),
        ("SubjectAccessReview", f'{attributes},"user":"u","groups":[{groups}]'),
        ("SubjectAccessReview", f'{attributes},"user":"u","extra":{{{extra}}}'),
    ):
        body = f'{{"apiVersion":"authorization.k8s.io/v1","kind":"{kind}","spec":{{{spec}}}}}'
        yield create(f"{access}/{kind.lower()}s", body)
    version = '"apiVersion":"authentication.k8s.io/v1"'
    token = f'{{{version},"kind":"TokenReview","spec":{{"token":"{"x" * size}"}}}}'
    yield create("/apis/authentication.k8s.io/v1/tokenreviews", token)
    dots = token.replace("x" * size, "a." * (size // 2))
    yield create("/apis/authentication.k8s.io/v1/tokenreviews", dots)
    audiences = f'{{{version},"kind":"TokenRequest","spec":{{"audiences":[{groups}]}}}}'
    yield create(f"{CORE}/serviceaccounts/default/token", audiences)


@case
def roles(size: int) -> Iterator[Call]:
    root = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}"
    head = '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":'
    rule = '{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}'
    names = joined(size, lambda at: f'"n{at}"')
    rules = {
        "many": joined(size, lambda _: rule),
        "verbs": f'{{"verbs":[{names}],"apiGroups":[""],"resources":["pods"]}}',
        "resources": f'{{"verbs":["get"],"apiGroups":[""],"resources":[{names}]}}',
        "names": rule[:-1] + f',"resourceNames":[{names}]}}',
        "product": _product(size),
    }
    for name, text in rules.items():
        yield create(
            f"{root}/roles", f'{head}"Role","metadata":{{"name":"{name}"}},"rules":[{text}]}}'
        )
    subjects = joined(
        size, lambda at: f'{{"kind":"User","name":"u{at}","apiGroup":"rbac.authorization.k8s.io"}}'
    )
    reference = '"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"many"}'
    body = f'{head}"RoleBinding","metadata":{{"name":"b"}},"subjects":[{subjects}],{reference}}}'
    yield create(f"{root}/rolebindings", body)
    yield Call("GET", f"{CORE}/pods")
    yield delete(f"{root}/roles/many")
    for name in rules:
        yield delete(f"{root}/roles/{name}")
    yield delete(f"{root}/rolebindings/b")


def _product(size: int) -> str:
    """One rule that stands for the product of its lists."""
    third = joined(size // 3, lambda at: f'"n{at}"')
    return f'{{"verbs":[{third}],"apiGroups":[{third}],"resources":[{third}]}}'


@case
def deletions(size: int) -> Iterator[Call]:
    yield create(MAPS, config_map("c"))
    unknown = joined(size, lambda at: f'"u{at}":1')
    yield delete(f"{MAPS}/c", f'{{"kind":"DeleteOptions","apiVersion":"v1",{unknown}}}')
    runs = joined(size, lambda _: '"All"')
    yield delete(f"{MAPS}/c", f'{{"kind":"DeleteOptions","apiVersion":"v1","dryRun":[{runs}]}}')
    yield delete(MAPS, f'{{"kind":"DeleteOptions","apiVersion":"v1","x":"{"x" * size}"}}')


@case
def scales(size: int) -> Iterator[Call]:
    big = f'"replicas":1,"free":{{"a":[{joined(min(size, STORED), lambda _: "{}")}]}}'
    yield prepare(THINGS, thing("t", big))
    yield Call("GET", f"{THINGS}/t/scale")
    yield merge_patch(f"{THINGS}/t/scale", '{"spec":{"replicas":5}}')
    unknown = joined(size, lambda at: f'"u{at}":1')
    scale = (
        '{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"t"},'
        f'"spec":{{"replicas":7}},{unknown}}}'
    )
    yield replace(f"{THINGS}/t/scale", scale)
    selector = "a" * min(size, STORED)
    yield merge_patch(
        f"{THINGS}/t/status", f'{{"status":{{"replicas":1,"selector":"{selector}"}}}}'
    )
    yield Call("GET", f"{THINGS}/t/scale")
    yield merge_patch(f"{THINGS}/t", '{"spec":{"replicas":9}}')
    yield Call("GET", THINGS, query={"watch": "true", "timeoutSeconds": "1"})
    yield Call("GET", THINGS, query={"fieldSelector": "spec.replicas=9"})
    yield Call(
        "PATCH",
        f"{THINGS}/t",
        b'{"spec":{"replicas":8}}',
        "application/merge-patch+json",
        {"dryRun": "All"},
    )
    yield delete(THINGS)


@case
def many_large_objects(size: int) -> Iterator[Call]:
    """A namespace of large objects, listed, watched, paged and deleted at once."""
    text = "x" * min(size // 4, 700_000)
    for number in range(40):
        yield create(MAPS, config_map(f"m{number}", rest=f'"data":{{"a":"{text}"}}'))
    yield Call("GET", MAPS)
    yield Call("GET", MAPS, query={"limit": "10"})
    yield Call("GET", MAPS, accept="application/json;as=Table;g=meta.k8s.io;v=v1")
    query = {"watch": "true", "timeoutSeconds": "1"}
    yield Call("GET", MAPS, query=query)
    yield Call(
        "GET",
        MAPS,
        query={
            **query,
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
        },
    )
    yield delete(MAPS)
    items = joined(min(size // 4, 700_000), lambda _: "{}")
    for number in range(20):
        yield create(THINGS, thing(f"m{number}", f'"free":{{"a":[{items}]}}'))
    yield Call("GET", THINGS)
    yield Call("GET", THINGS, accept="application/json;as=Table;g=meta.k8s.io;v=v1")
    yield Call("GET", THINGS, query=query)
    yield Call("GET", THINGS, query={"fieldSelector": "spec.replicas=9"})
    yield delete(THINGS)


@case
def many_small_objects(size: int) -> Iterator[Call]:
    for number in range(min(2_000, size // 500)):
        yield create(MAPS, config_map(f"s{number}"))
    yield Call("GET", MAPS)
    yield delete(MAPS)
