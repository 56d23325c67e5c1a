"""Recorded runs that change a management cluster: one story, told to one API server in its order.

Before the first run the recording's stand-in for cert-manager is made: its namespace and two CRDs.
From the upgrades on the repository has copies of the providers as v1.14.1 and v1.15.0.

Compared are exit code, tables, what is told on the way and, of errors, that ours begins as
upstream's does; and what is labelled in the cluster afterwards.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch
from urllib.parse import quote
from urllib.request import Request, urlopen

from kapy.clusterctl import manifests
from kapy.kube import yaml
from tests.oracle.commands import LISTED, Run, ran
from tests.oracle.recorded import PROVIDERS
from tests.oracle.served import TOKENS, kubeconfig_of, served
from tests.oracle.topic import Record, Result, compared

OURS: Final = ("init", "upgrade", "delete")
"""The commands that this replays; others that stand between them have topics of their own."""
_NEWER: Final = "upgrade plan, newer patch and minor"
_RACE: Final = "delete all with CRDs and namespaces"
"""Upstream's own discovery lists kinds whose CRDs it has just deleted, and fails; kapy does not."""
_GROUPS: Final = {
    "Certificate": "apis/cert-manager.io/v1/certificates",
    "Issuer": "apis/cert-manager.io/v1/issuers",
    "ClusterRole": "apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "apis/rbac.authorization.k8s.io/v1/roles",
    "RoleBinding": "apis/rbac.authorization.k8s.io/v1/rolebindings",
    "CustomResourceDefinition": "apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "Deployment": "apis/apps/v1/deployments",
    "MutatingWebhookConfiguration": (
        "apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    ),
    "ValidatingWebhookConfiguration": (
        "apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    ),
    "Secret": "api/v1/secrets",
    "Service": "api/v1/services",
    "ServiceAccount": "api/v1/serviceaccounts",
}
"""The paths of the kinds that are compared.

Namespaces are not compared, because the namespace controller decides when a deleted one is gone.
For the same reason, objects in a deleted namespace are not compared.
"""


def replay(records: Iterator[Record]) -> list[Result]:
    """The results of the story."""
    with served() as (url, ca), tempfile.TemporaryDirectory() as scratch, _parsed_once():
        setup = _Setup(url, ca, Path(scratch))
        setup.prepare()
        return [
            Result(f"management/{record['id']} {record['title']}", tuple(setup.differences(record)))
            for record in records
            if setup.concerns(record)
        ]


@dataclass
class _Setup:
    url: str
    ca: str
    folder: Path
    newer: bool = False
    raced: bool = False

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    def concerns(self, record: Record) -> bool:
        """Whether this replays a record: after the race of the recording it cannot."""
        if self.raced:
            return False
        return "inventory" in record or record["args"][0] in OURS

    def prepare(self) -> None:
        self.kubeconfig.write_text(json.dumps(kubeconfig_of(self.url, self.ca)))
        for name in ("certificates", "issuers"):
            self.ask("apis/apiextensions.k8s.io/v1/customresourcedefinitions", _stand_in(name))
        copy_newer(self.folder / "providers2")

    def differences(self, record: Record) -> Iterator[str]:
        if "inventory" in record:
            yield from self._inventory(record["inventory"])
            return
        self.newer = self.newer or record["title"] == _NEWER
        here = self._ran(record)
        if self._races(record):
            return
        if here.code != record["rc"]:
            yield f"rc: recorded {record['rc']}, given {here.code}: {here.errors.strip()}"
            return
        yield from compared(_named(record["stdout"]), here.output, "stdout")
        yield from _told(record, here)

    def _races(self, record: Record) -> bool:
        self.raced = record["title"] == _RACE
        return self.raced

    def _ran(self, record: Record) -> Run:
        providers = self.folder / "providers2" if self.newer else PROVIDERS
        named = [
            {"name": name, "type": kind, "url": f"{providers}/{place}"}
            for name, kind, place in LISTED
        ]
        arguments = [
            arg.replace("${WORK}/T4/kubeconfig", str(self.kubeconfig)) for arg in record["args"]
        ]
        run = ran({**record, "args": arguments, "config": yaml.dump({"providers": named})})
        return Run(run.code, run.output, run.errors.replace(str(providers), "${WORK}/providers2"))

    def _inventory(self, recorded: Any) -> Iterator[str]:
        kinds = sorted({obj["kind"] for obj in recorded["objects"]} & set(_GROUPS))
        here = {item["metadata"]["name"] for item in self.ask("api/v1/namespaces")}
        theirs = [
            obj
            for obj in recorded["objects"]
            if obj["kind"] in _GROUPS and (obj["namespace"] or "default") in here
        ]
        ours = [item for kind in kinds for item in self._labelled(kind)]
        yield from compared(_sorted(theirs), _sorted(ours), "objects")
        providers = [
            _provider(item)
            for item in self.ask("apis/clusterctl.cluster.x-k8s.io/v1alpha3/providers")
        ]
        installed = [
            provider
            for provider in recorded["providers"]
            if provider["metadata"]["namespace"] in here
        ]
        yield from compared(installed, providers, "providers")

    def _labelled(self, kind: str) -> Iterator[Any]:
        selector = quote("clusterctl.cluster.x-k8s.io,cluster.x-k8s.io/provider")
        for item in self.ask(f"{_GROUPS[kind]}?labelSelector={selector}"):
            metadata = item["metadata"]
            yield {
                "annotations": sorted(metadata.get("annotations") or ()),
                "kind": kind,
                "labels": metadata["labels"],
                "name": metadata["name"],
                "namespace": metadata.get("namespace"),
            }

    def ask(self, path: str, body: Any = None) -> Any:
        """The items of a list; with a body, it is posted."""
        request = Request(f"{self.url}/{path}", json.dumps(body).encode() if body else None)
        request.add_header("authorization", f"Bearer {TOKENS['admin']}")
        request.add_header("content-type", "application/json")
        context = ssl.create_default_context(cafile=self.ca)
        try:
            with urlopen(request, context=context) as answer:
                return json.loads(answer.read()).get("items")
        except OSError as error:
            if getattr(error, "code", 0) == 404:
                return []
            raise


@contextmanager
def _parsed_once() -> Iterator[None]:
    """The same files are read again and again; parsing them is most of the time that it takes."""
    pickles: dict[str, bytes] = {}

    def objects_of(text: str, source: str) -> list[Any]:
        if text not in pickles:
            pickles[text] = pickle.dumps(manifests.objects_of(text, source))
        document: list[Any] = pickle.loads(pickles[text])
        return document

    with patch("kapy.clusterctl.components.reading.objects_of", objects_of):
        yield


def _told(record: Record, here: Run) -> Iterator[str]:
    recorded = _lines(record["stderr"])
    ours = _lines(here.errors)
    if record["rc"] == 0:
        for text, other in zip_longest(recorded, ours, fillvalue=""):
            # Upstream knows no version where the flag has none; kapy looks.
            if not other.startswith(text.removesuffix('""')):
                yield f"stderr: recorded {text!r}, given {other!r}"
        return
    message, message_here = recorded[-1], " ".join(ours)
    begin = re.split(r"failed to read file|: stat ", message)[0].rstrip(": ")
    if not _words(message_here).count(_words(begin)):
        yield f"stderr: recorded {message!r}, given {message_here!r}"


def _lines(text: str) -> list[str]:
    lines = _named(text).splitlines()
    return [line for line in lines if line and "is deprecated" not in line]


def _words(text: str) -> str:
    return text.removeprefix("Error: ")


def _named(text: str) -> str:
    return re.sub(r"(?m)^( *)clusterctl (generate|upgrade|init)", r"\1kapy \2", text)


def _sorted(objects: list[Any]) -> list[Any]:
    return sorted(objects, key=lambda obj: (obj["kind"], obj["namespace"] or "", obj["name"]))


def _provider(document: Any) -> Any:
    metadata = document["metadata"]
    fields = {name: metadata[name] for name in ("labels", "name", "namespace")}
    return {
        name: fields if name == "metadata" else document[name]
        for name in ("apiVersion", "kind", "metadata", "providerName", "type", "version")
    }


def _stand_in(name: str) -> Any:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    kind = name.removesuffix("s").capitalize()
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": anything},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name}.cert-manager.io"},
        "spec": {
            "group": "cert-manager.io",
            "scope": "Namespaced",
            "names": {"plural": name, "kind": kind},
            "versions": [version],
        },
    }


def copy_newer(folder: Path) -> None:
    """The providers, and copies of those of v1.14.0 as v1.14.1 and v1.15.0."""
    for label in sorted(PROVIDERS.iterdir()):
        (folder / label.name).mkdir(parents=True)
        for version in sorted(label.iterdir()):
            os.symlink(version, folder / label.name / version.name)
            if version.name == "v1.14.0":
                _copy_as(version, folder / label.name, ("v1.14.1", "v1.15.0"))


def _copy_as(version: Path, folder: Path, names: tuple[str, ...]) -> None:
    for name in names:
        shutil.copytree(version, folder / name)
        metadata = folder / name / "metadata.yaml"
        series = "releaseSeries:\n  - major: 1\n    minor: 15\n    contract: v1beta2"
        metadata.write_text(re.sub(r"releaseSeries:", series, metadata.read_text()))
