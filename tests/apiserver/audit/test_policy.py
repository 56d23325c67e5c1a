"""Tests of the audit policy rule that applies to a request, and of policies that are refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kapy.apiserver.audit.policy import InvalidPolicy, Level, parse_policy, read_policy
from kapy.apiserver.auth.authorization import Attributes
from kapy.kube import yaml
from kapy.kube.http import User

ANN = User("ann", ("team", "system:authenticated"))


def policy(*rules: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": list(rules), **fields}


def of(what: str, *, verb: str = "get", namespace: str = "", name: str = "") -> Attributes:
    """`/path`, or `group:resource/subresource`."""
    if what.startswith("/"):
        return Attributes(ANN, verb, path=what)
    group, _, resource = what.rpartition(":")
    resource, _, subresource = resource.partition("/")
    return Attributes(ANN, verb, group, "v1", resource, subresource, namespace, name)


PODS = [{"group": "", "resources": ["pods"]}]


@pytest.mark.parametrize(
    ("rule", "attributes", "matches"),
    [
        ({}, of("pods"), True),
        ({}, of("/healthz"), True),
        ({"users": ["ann"]}, of("pods"), True),
        ({"users": ["bob"]}, of("pods"), False),
        ({"userGroups": ["team"]}, of("pods"), True),
        ({"userGroups": ["system:masters"]}, of("pods"), False),
        ({"verbs": ["get", "list"]}, of("pods"), True),
        ({"verbs": ["watch"]}, of("pods"), False),
        ({"namespaces": ["a"]}, of("pods", namespace="a"), True),
        ({"namespaces": ["a"]}, of("pods", namespace="b"), False),
        ({"namespaces": [""]}, of("nodes"), True),
        ({"namespaces": ["a"]}, of("/healthz"), False),
        ({"resources": PODS}, of("pods"), True),
        ({"resources": PODS}, of("pods/log"), False),
        ({"resources": PODS}, of("apps:pods"), False),
        ({"resources": [{"group": ""}]}, of("secrets"), True),
        ({"resources": [{"group": "apps"}]}, of("secrets"), False),
        ({"resources": [{"group": "*", "resources": ["*/scale"]}]}, of("apps:sets/scale"), True),
        ({"resources": [{"group": "*", "resources": ["*/scale"]}]}, of("apps:sets"), False),
        ({"resources": [{"group": "", "resources": ["pods/*"]}]}, of("pods/log"), True),
        ({"resources": [{"group": "", "resources": ["pods/*"]}]}, of("pods"), True),
        ({"resources": [{"group": "", "resources": ["pods/log"]}]}, of("pods/log"), True),
        ({"resources": [{"group": "", "resources": ["*"]}]}, of("pods/log"), True),
        ({"resources": [{**PODS[0], "resourceNames": ["a"]}]}, of("pods", name="a"), True),
        ({"resources": [{**PODS[0], "resourceNames": ["a"]}]}, of("pods", name="b"), False),
        ({"nonResourceURLs": ["/healthz*"]}, of("/healthz/etcd"), True),
        ({"nonResourceURLs": ["/healthz"]}, of("/healthz/etcd"), False),
        ({"nonResourceURLs": ["*"]}, of("/anything"), True),
        ({"nonResourceURLs": ["*"]}, of("pods"), False),
    ],
)
def test_a_rule_matches_the_requests_that_it_names(
    rule: dict[str, Any], attributes: Attributes, matches: bool
) -> None:
    verdict = parse_policy(policy({"level": "Metadata", **rule})).verdict(attributes)
    assert (verdict.level is Level.METADATA) is matches


def test_the_first_rule_that_matches_decides() -> None:
    rules = parse_policy(
        policy(
            {"level": "None", "verbs": ["watch"]},
            {"level": "Request", "resources": PODS, "omitManagedFields": False},
            {"level": "RequestResponse", "omitStages": ["Panic"]},
            omitStages=["RequestReceived"],
            omitManagedFields=True,
        )
    )
    assert rules.verdict(of("pods", verb="watch")).level is Level.NONE
    assert not rules.verdict(of("pods")).omit_managed_fields
    last = rules.verdict(of("secrets"))
    assert (last.level, last.omit_managed_fields) == (Level.REQUEST_RESPONSE, True)
    assert last.omit_stages == {"Panic", "RequestReceived"}


def test_a_rule_about_users_does_not_match_unauthenticated_requests() -> None:
    rules = parse_policy(policy({"level": "Metadata", "userGroups": ["team"]}))
    assert rules.verdict(of("pods"), authenticated=False).level is Level.NONE


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ([], "it is no object"),
        ({"apiVersion": "v1", "kind": "Policy"}, "apiVersion 'v1'"),
        (policy(), "it has no rules"),
        (policy({"level": "All"}), r"rules\[0\].level 'All' is not one of None, Metadata"),
        (policy({"level": "None"}, {}), r"rules\[1\].level is required"),
        (policy({"level": "None", "user": ["a"]}), r"rules\[0\]: .*unknown field `user`"),
        (policy({"level": "None", "users": "a"}), r"rules\[0\].users: Expected `array`"),
        (
            policy({"level": "None", "omitStages": ["End"]}),
            r"rules\[0\].omitStages\[0\] 'End' is not one of RequestReceived",
        ),
        (policy({"level": "None"}, omitStages=["End"]), r"omitStages\[0\] 'End'"),
        (policy({"level": "None", "nonResourceURLs": ["a"]}), "must begin with /"),
        (policy({"level": "None", "nonResourceURLs": ["/a*b"]}), r"may have \* at its end only"),
        (
            policy({"level": "None", "nonResourceURLs": ["/a"], "namespaces": ["a"]}),
            r"rules\[0\]: a rule is about resources or about nonResourceURLs",
        ),
        (
            policy({"level": "None", "resources": [{"resourceNames": ["a"]}]}),
            r"rules\[0\].resources\[0\].resourceNames needs at least one of resources",
        ),
        (
            policy({"level": "None", "resources": [{"group": "apps/v1"}]}),
            r"rules\[0\].resources\[0\].group 'apps/v1' is no API group",
        ),
    ],
)
def test_a_bad_policy_is_refused_with_its_rule_and_field(document: Any, why: str) -> None:
    with pytest.raises(InvalidPolicy, match=why):
        parse_policy(document)


def test_the_policy_of_the_documentation_can_be_used() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "api-server.md"
    match = re.search(r"```yaml\n(apiVersion: audit.*?)```", page.read_text(), re.DOTALL)
    assert match is not None
    rules = parse_policy(yaml.load(match[1].encode()))
    assert rules.verdict(of("secrets")).level is Level.METADATA
    assert rules.verdict(of("serviceaccounts/token")).level is Level.METADATA
    assert rules.verdict(of("pods")).level is Level.REQUEST_RESPONSE


def test_a_bad_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    with pytest.raises(InvalidPolicy, match=r"cannot read the audit policy .*policy\.yaml"):
        read_policy(file)
    for text in ("rules: [", "kind: Policy"):
        file.write_text(text)
        with pytest.raises(InvalidPolicy, match=r"the audit policy .*policy\.yaml cannot be used"):
            read_policy(file)
