"""kubectl's verbs that only look, against a plane with one cluster."""

from __future__ import annotations

import subprocess

import pytest

from tests.e2e.habits import Habit, follow, no
from tests.e2e.shell import Shell

pytestmark = pytest.mark.sockets


def test_kubectl_get_works_in_every_form(person: Shell) -> None:
    follow(
        person,
        Habit("get clusters", r"^capybara .* Provisioned "),
        Habit("get cluster capybara -o name", r"^cluster.cluster.x-k8s.io/capybara$"),
        Habit("get cl,md,ms,ma,kcp", r"^machineset.cluster.x-k8s.io/capybara-md-0-"),
        Habit("get machines -A -o wide", r"^NAMESPACE +NAME .* PROVIDER ID "),
        Habit("get machines -o jsonpath='{.items[*].kind}'", r"^Machine Machine Machine$"),
        Habit(
            "get machines -o custom-columns=N:.metadata.name,P:.status.phase", r"^N +P$\n.*Running$"
        ),
        Habit("get machines --no-headers --sort-by .metadata.name --chunk-size 1", r"^capybara-c"),
        Habit(
            "get machines -L cluster.x-k8s.io/deployment-name "
            "-l topology.cluster.x-k8s.io/deployment-name=md-0",
            r"DEPLOYMENT-NAME$\n.*capybara-md-0$",
        ),
        Habit("get machines --show-labels -l '!pool'", r"cluster.x-k8s.io/control-plane="),
        Habit("get secrets --field-selector type=cluster.x-k8s.io/secret", r"^capybara-kubeconfig"),
        no("get machines --field-selector spec.x=y", r"field label not supported: spec.x"),
        Habit("get cluster capybara -o yaml", r"^  observedGeneration: "),
        Habit("get cluster capybara -o yaml --show-managed-fields", r"fieldsType: FieldsV1"),
        Habit("get cluster capybara --subresource status", r"^capybara "),
        Habit("get -o go-template='{{.spec.replicas}}' md capybara-md-0", r"^2$"),
        Habit("get --raw /readyz", r"^ok$"),
        Habit("get --raw /version", r"gitVersion"),
        Habit("get all -A", r""),
        no("get herds", r"doesn't have a resource type \"herds\""),
        no("get cluster nobody", r'clusters.cluster.x-k8s.io "nobody" not found'),
    )


def test_kubectl_describe_shows_events(person: Shell) -> None:
    follow(
        person,
        Habit("describe cluster capybara", r"^Kind: +Cluster$"),
        Habit("describe cluster capybara", r"^Events:$\n.*Type"),
        Habit("describe machines", r"Node Ref:"),
        Habit("describe secret capybara-kubeconfig", r"^value: +\d+ bytes$"),
        Habit("describe ns default", r"^Status: +Active$"),
        Habit("describe crd machines.cluster.x-k8s.io", r"^Kind: +CustomResourceDefinition$"),
        Habit("describe sa default", r"^Name: +default$"),
        Habit("events --for cluster/capybara", r"Cluster/capybara +Cluster capybara is Provisione"),
        Habit("get events", r"^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE$\n^\d+[sm]"),
        Habit("get events --field-selector involvedObject.kind=Cluster", r" cluster/capybara "),
        Habit("get events.events.k8s.io", r" cluster/capybara +Cluster capybara is Provisioned$"),
    )


def test_kubectl_lists_existing_resources(person: Shell) -> None:
    follow(
        person,
        Habit("api-resources --api-group cluster.x-k8s.io", r"^machines +ma +cluster.x-k8s.io/v1b"),
        Habit("api-resources --namespaced=false -o name", r"^namespaces$"),
        Habit("api-resources --verbs list,watch --categories cluster-api", r"^clusters "),
        Habit("api-versions", r"^cluster.x-k8s.io/v1beta2$"),
        Habit("explain cluster.spec.controlPlaneRef", r"^FIELD: controlPlaneRef <Object>$"),
        Habit("explain machines --recursive", r"^    providerID\t<string>$"),
        Habit(
            "explain md.spec.replicas --api-version cluster.x-k8s.io/v1beta2",
            r"^FIELD: replicas <integer>$",
        ),
        Habit("explain pod.spec.containers", r"^FIELD: containers <\[\]Container>$"),
        Habit(
            "explain machine.spec --output plaintext-openapiv2",
            r"^   clusterName\t<string>",
        ),
        Habit("cluster-info", r"is running at .*https://127.0.0.1:"),
        Habit("version", r"^Server Version: v1\.\d+"),
        Habit("config view --minify", r"current-context: kapy"),
        Habit("config current-context", r"^kapy"),
    )


def test_kubectl_wait_works(person: Shell) -> None:
    follow(
        person,
        Habit("wait cluster capybara --for=condition=Available", r"condition met$"),
        Habit("wait machines --all --for=jsonpath='{.status.phase}'=Running", r"condition met$"),
        Habit("wait cm kube-root-ca.crt --for=create --timeout 5s", r"condition met$"),
        Habit("wait cm/nobody --for=delete --timeout 5s", r"^$"),
        no("wait cluster capybara --for=condition=Never --timeout 100ms", r"timed out waiting"),
    )


def test_kubectl_auth_answers_like_kubernetes(person: Shell) -> None:
    follow(
        person,
        Habit("auth whoami", r"^Groups +\[system:masters "),
        Habit("auth can-i '*' '*'", r"^yes$"),
        Habit("auth can-i --list", r"^\*\.\*"),
        Habit("auth can-i --list --as bob", r"selfsubjectaccessreviews.authorization.k8s.io"),
        Habit("auth whoami --as bob --as-group herd", r"^Username +bob$"),
        no("get clusters --as bob", r'User "bob" cannot list resource "clusters"'),
        Habit("create clusterrole reader --verb get,list --resource clusters", r"created$"),
        Habit("create rolebinding bobs --clusterrole reader --user bob", r"created$"),
        Habit("auth can-i list clusters --as bob", r"^yes$"),
        Habit("get clusters --as bob", r"^capybara "),
        Habit("describe rolebinding bobs", r"^  User  bob"),
        Habit("auth reconcile -f -", r"reconciled", text=READER),
        Habit("delete rolebinding/bobs clusterrole/reader", r"deleted$"),
    )


READER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: [cluster.x-k8s.io], resources: [clusters], verbs: [get, list, watch]}
"""


def test_commands_that_need_a_kubelet_report_it(person: Shell) -> None:
    nothing = r"nothing runs this Pod here: .*`kapy run provider TYPE-NAME -- PATH`"
    follow(
        person,
        Habit("run nginx --image nginx", r"created$"),
        no("logs nginx", nothing),
        no("exec nginx -- ls", r'container "nginx" in pod "nginx" does not run'),
        no("attach nginx", r'container "nginx" in pod "nginx" does not run'),
        no("top pods", r"Metrics API not available"),
        Habit("delete pod nginx --now", r"deleted$"),
    )


def test_watches_report_changes(person: Shell) -> None:
    def watching(*more: str) -> subprocess.Popen[str]:
        command = ["kubectl", "get", "cm", "-l", "seen=yes", "-o", "name", *more]
        return subprocess.Popen(command, env=person.environ, stdout=subprocess.PIPE, text=True)

    make = ("create cm first", "label cm first seen=yes")
    for line in make:
        person.kubectl(line)
    with watching("--watch") as all_, watching("--watch-only") as only:
        assert all_.stdout is not None
        assert only.stdout is not None
        assert all_.stdout.readline() == "configmap/first\n"
        follow(person, Habit("apply -f -", r"created$", text=SECOND))
        assert all_.stdout.readline() == only.stdout.readline() == "configmap/second\n"
        all_.terminate()
        only.terminate()
    person.kubectl("delete cm -l seen=yes")


SECOND = """
apiVersion: v1
kind: ConfigMap
metadata: {name: second, labels: {seen: "yes"}}
"""
