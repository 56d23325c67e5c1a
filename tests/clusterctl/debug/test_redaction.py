"""Secrets that were planted everywhere are nowhere in what is collected."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from random import Random
from typing import Any
from urllib.parse import quote

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from kapy.clusterctl.debug.redaction import REDACTED, Redactor
from kapy.kube import Document
from kapy.kube.yaml import dump

_KEY = generate_private_key(SECP256R1())
PEM = _KEY.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
PKCS8 = _KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
DER = _KEY.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
BODY = PEM.splitlines()[2]
TOKEN = "abcdef.0123456789abcdef"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJlLW9mLWl0"
PASSWORD = "hunter2-Correct/Horse"
QUOTED = quote(PASSWORD, safe="")
HASH = "$6$rounds=4096$saltsalt$IxDD3jeSOb5eB1CX5LBsqZFVkJdido3OUILO5Ifz5iwMuTS4XMS130MTSuDDl3a"
CERTIFICATE_KEY = "e6a2eb8581237ab72a4f494f30285ec12a9694d750b9785706a83bfcbbbd2204"
BODY_8 = PKCS8.splitlines()[2]
SECRETS = (BODY, BODY_8, TOKEN, JWT, PASSWORD, HASH, CERTIFICATE_KEY)

KUBECONFIG = dump(
    {
        "apiVersion": "v1",
        "kind": "Config",
        "users": [
            {
                "name": "admin",
                "user": {"client-key-data": base64.b64encode(PEM.encode()).decode(), "token": JWT},
            }
        ],
    }
)
BOOT_DATA = f"""\
#cloud-config
users:
- name: capi
  passwd: {HASH}
write_files:
- path: /etc/kubernetes/pki/ca.key
  content: |
{"".join(f"      {line}{chr(10)}" for line in PEM.splitlines())}
- path: /run/kubeadm/kubeadm-join-config.yaml
  content: |
    discovery: {{bootstrapToken: {{token: {TOKEN}}}}}
    certificateKey: {CERTIFICATE_KEY}
runcmd:
- kubeadm join --token {TOKEN} --certificate-key {CERTIFICATE_KEY}
- curl -u admin:{PASSWORD} -H 'Authorization: Bearer {JWT}' https://a:{QUOTED}@registry/v2
"""


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def encodings(text: str) -> Iterator[tuple[str, str]]:
    """A text in the ways in which objects and logs carry it."""
    yield "plain", text
    yield "base64", base64_of(text)
    yield "base64-twice", base64_of(base64_of(text))
    yield "gzip-base64", base64.b64encode(gzip.compress(text.encode())).decode()
    yield "json", json.dumps({"a": text})
    yield "json-in-json", json.dumps({"a": json.dumps({"b": text})})
    yield "json-in-base64", base64_of(json.dumps([text]))
    yield "yaml", dump({"data": {"a": text}})
    yield "data-url", f"data:text/plain;base64,{base64_of(text)}"
    yield "log-line", f'2026-01-01T00:00:00Z INFO wrote file content="{json.dumps(text)[1:-1]}"'


SENTENCES = {
    "private key": PEM,
    "PKCS 8": PKCS8,
    "end of a private key": PEM.partition("\n")[2],
    "begin of a private key": PEM.rpartition("\n-----END")[0],
    "kubeconfig": KUBECONFIG,
    "boot data": BOOT_DATA,
    "bootstrap token": f"kubeadm join 10.0.0.1:6443 --token {TOKEN} --discovery-token-unsafe",
    "certificate key": f"--certificate-key {CERTIFICATE_KEY}",
    "basic": f'"Authorization": "Basic {base64_of("admin:" + PASSWORD)}"',
    "bearer": f"Authorization: Bearer {JWT}",
    "service account token": f"using {JWT} now",
    "password field": f'{{"user": "a", "password": "{PASSWORD}"}}',
    "password in YAML": f"password: '{PASSWORD}'\nother: 1\n",
    "password on the next line": f"password:\n    {PASSWORD}\nother: 1\n",
    "password in a block": f"password: |\n  {PASSWORD}\nother: 1\n",
    "environment": f"REGISTRY_PASSWORD={PASSWORD} next",
    "flag": f"run --registry-password={PASSWORD} --v=4",
    "URL": f"https://admin:{PASSWORD.replace('/', '%2F')}@registry.example.com",
    "hash": f"passwd: {HASH}",
}


def leaks(text: str) -> list[str]:
    """The secrets that are in a text, however it carries them."""
    flat = text.replace("\\n", "\n").replace("\\", "")
    forms = [*SECRETS, PASSWORD.replace("/", "%2F"), *map(base64_of, SECRETS)]
    results = [form for form in forms if form in text or form in flat]
    for word in set(flat.replace('"', " ").replace(",", " ").split()):
        if len(word) > 24:
            results += _leaks_in_base64(word)
    return results


def _leaks_in_base64(word: str) -> list[str]:
    try:
        content = base64.b64decode(word.rpartition(":")[2], validate=True)
        content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        inner = content.decode()
    except (ValueError, OSError):
        return []
    return leaks(inner)


@pytest.mark.parametrize("name", SENTENCES)
@pytest.mark.parametrize("form", [name for name, _ in encodings("")])
def test_possible_secrets_are_removed_from_texts(name: str, form: str) -> None:
    planted = dict(encodings(SENTENCES[name]))[form]
    assert leaks(planted), "the test looks in the wrong way"
    clean = Redactor().text(f"before\n{planted}\nafter")
    assert leaks(clean) == []
    assert REDACTED in clean
    if form == "plain":
        assert clean.startswith("before\n") or "end of" in name
        assert clean.endswith("after") or "begin of" in name


PLACES: dict[str, Any] = {
    "annotation": lambda text: {"metadata": {"annotations": {"a": text}}},
    "last applied": lambda text: {
        "metadata": {
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": json.dumps(
                    {"kind": "Secret", "apiVersion": "v1", "stringData": {"x": text}}
                )
            }
        }
    },
    "spec": lambda text: {"spec": {"list": [{"deep": {"er": text}}]}},
    "file": lambda text: {"spec": {"files": [{"path": "/etc/a", "content": text}]}},
    "command": lambda text: {"spec": {"preKubeadmCommands": ["date", text]}},
    "argument": lambda text: {"spec": {"containers": [{"args": [f"--config={text}"]}]}},
    "config map": lambda text: {"data": {"config": text}},
    "condition": lambda text: {"status": {"conditions": [{"message": f"failed: {text}"}]}},
    "variable": lambda text: {"spec": {"variables": [{"name": "x", "value": {"y": text}}]}},
    "key": lambda text: {"spec": {text: 1}},
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", SENTENCES)
def test_objects_lose_secrets_in_every_place(place: str, name: str) -> None:
    for _, planted in encodings(SENTENCES[name]):
        document = {"apiVersion": "v1", "kind": "ConfigMap", **PLACES[place](planted)}
        clean = Redactor().document(document)
        assert leaks(dump(clean)) == []
        assert leaks(json.dumps(clean)) == []


@pytest.mark.parametrize(
    "document",
    [
        {"spec": {"password": "swordfish"}},
        {"spec": {"apiKey": "swordfish"}},
        {"spec": {"credentials": {"user": "a", "value": "swordfish"}}},
        {"spec": {"env": [{"name": "DB_PASSWORD", "value": "swordfish"}]}},
        {"spec": {"variables": [{"name": "registryToken", "value": {"deep": ["swordfish"]}}]}},
        {"spec": {"files": [{"path": "/etc/cloud.conf", "content": "pw swordfish"}]}},
        {"spec": {"users": [{"name": "a", "passwd": "swordfish"}]}},
        {"spec": {"storage": {"files": [{"path": "/a", "contents": {"inline": "swordfish"}}]}}},
        {"kind": "Secret", "apiVersion": "v1", "data": {"a": base64_of("swordfish")}},
        {"kind": "Secret", "apiVersion": "v1", "stringData": {"a": "swordfish"}},
        {
            "kind": "SecretList",
            "items": [{"kind": "Secret", "data": {"a": base64_of("swordfish")}}],
        },
    ],
)
def test_fields_are_judged_by_their_names(document: Document) -> None:
    clean = json.dumps(Redactor().document(document))
    assert "swordfish" not in clean
    assert base64_of("swordfish") not in clean


def test_values_of_secrets_are_found_wherever_they_stand() -> None:
    redactor = Redactor()
    value = "no pattern, knows; this"
    redactor.learn({"data": {"x": base64_of(value), "format": base64_of("cloud-config")}})
    for _, planted in encodings(f"it said {value} to me"):
        clean = redactor.text(f"cloud-config {planted}")
        assert value not in clean
        assert base64_of(value) not in clean
        assert clean.startswith("cloud-config ")


def test_redaction_keeps_names_and_identifiers() -> None:
    document: Document = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {"name": "a", "uid": "5f1c7d0e-7a54-4c2a-9a53-0d6b1c3d2e4f"},
        "spec": {
            "bootstrap": {"dataSecretName": "a-data"},
            "identityRef": {"kind": "Secret", "name": "credentials"},
            "tokenSecretRef": {"name": "b", "key": "token"},
            "env": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "b", "key": "c"}}}],
            "image": "registry.k8s.io/pause@sha256:" + "ab" * 32,
            "clientConfig": {"caBundle": base64_of("-----BEGIN CERTIFICATE-----\nMIIB")},
            "args": ["--tls-private-key-file=/etc/kubernetes/pki/apiserver.key", "--v=4"],
            "hash": "sha256:" + "0f" * 32,
        },
        "status": {"conditions": [{"message": "Secret a-data: waiting for token to be set"}]},
    }
    assert Redactor().document(document) == document
    text = (
        "I0101 12:00:00.000000 1 kubelet.go:12] tokens are rotated, key usage: digital signature\n"
    )
    assert Redactor().text(text) == text
    text = "Reached target basic.target - Basic System. burstTokens=10 --authorization-mode=Node"
    assert Redactor().text(text) == text


def test_hostile_texts_are_bounded() -> None:
    random = Random(7)
    for unit in (
        "password:",
        "-----BEGIN PRIVATE KEY-----",
        '{"a":',
        'token=\\"',
        "A" * 24,
        "a@b:",
    ):
        Redactor().text(unit * (40_000 // len(unit)))
    Redactor().text("".join(random.choice("ab:/@=\"' \n{}[]\\|") for _ in range(30_000)))
    bomb = base64.b64encode(gzip.compress(bytes(50 << 20))).decode()
    Redactor().text(bomb)
