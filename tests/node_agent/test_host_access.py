"""Access of Pods to the machine: only what a release asks for, told when it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kapy.apps.released_host_access import allow_host_access
from kapy.clusterctl.components import Components
from kapy.kube import Document
from kapy.node_agent import host_access
from kapy.node_agent.host_access import Allowed, access_of, refusal
from tests.node_agent.objects import deployment


def pod(**spec: Any) -> Document:
    metadata = {"name": "foo-1", "namespace": "ns", "uid": "u"}
    return {"metadata": metadata, "spec": {"containers": [{"name": "m"}], **spec}}


def context(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "m", "securityContext": fields}]}


ACCESS = [
    ({"hostNetwork": True}, "hostNetwork"),
    ({"hostPID": True}, "hostPID"),
    ({"volumes": [{"name": "d", "hostPath": {"path": "/d.sock"}}]}, "hostPath /d.sock"),
    (context(privileged=True), "privileged"),
    ({"initContainers": [{"name": "i", "securityContext": {"privileged": True}}]}, "privileged"),
    (context(capabilities={"add": ["CAP_SYS_ADMIN"]}), "capability CAP_SYS_ADMIN"),
    (context(capabilities={"add": ["ALL"]}), "capability ALL"),
    (context(capabilities={"add": ["NET_RAW"]}), "capability NET_RAW"),
    (context(seccompProfile={"type": "Unconfined"}), "seccompProfile Unconfined"),
    ({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, "seccompProfile Unconfined"),
    ({"securityContext": {"sysctls": [{"name": "net.a"}]}}, "sysctl net.a"),
]


@pytest.mark.parametrize(("spec", "words"), ACCESS)
def test_each_way_to_the_machine_is_refused_unless_it_is_allowed(
    tmp_path: Path, spec: dict[str, Any], words: str
) -> None:
    wanted = pod(**spec)
    assert access_of(wanted["spec"]) == [words]
    message = refusal(tmp_path, wanted, "foo")
    assert f"({words})" in message
    assert "kapy init" in message
    host_access.allow(tmp_path, [Allowed("ns", "foo", (words,))])
    assert refusal(tmp_path, wanted, "foo") == ""
    assert refusal(tmp_path, wanted, "another") != ""
    more = pod(**{**spec, "hostPID": True, "hostNetwork": True})
    assert refusal(tmp_path, more, "foo") != "", "what is added later is not allowed with it"
    assert (tmp_path / host_access.NAME).stat().st_mode & 0o777 == 0o600


def test_ordinary_pods_need_no_host_access(tmp_path: Path) -> None:
    capabilities = {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}
    usual = pod(**context(capabilities=capabilities, privileged=False, runAsUser=0))
    assert refusal(tmp_path, usual, "foo") == ""


def test_a_damaged_file_allows_nothing(tmp_path: Path) -> None:
    (tmp_path / host_access.NAME).write_text("[[")
    assert "cannot be read" in refusal(tmp_path, pod(hostPID=True), "foo")
    assert refusal(tmp_path, pod(), "foo") == ""


class Provider:
    label = "infrastructure-foo"


class Release:
    """As much of a release as is looked at."""

    provider = Provider()

    def __init__(self, **spec: Any) -> None:
        document = deployment()
        document["kind"] = "Deployment"
        document["spec"]["template"]["spec"] |= spec
        self.objects = [{"kind": "Namespace", "metadata": {"name": "x"}}, document]


def release(**spec: Any) -> list[Components]:
    result: Any = Release(**spec)
    return [result]


def test_an_installation_reports_its_grants_and_revokes_them_on_failure(
    tmp_path: Path,
) -> None:
    allows: list[str] = []

    def say(text: str, /, **values: str | Document) -> None:
        allows.append(f"{text} {values}")

    def install(*, fails: bool = False, **spec: Any) -> list[Allowed]:
        try:
            with allow_host_access(tmp_path, say) as prepare:
                prepare(release(**spec))
                if fails:
                    raise RuntimeError
        except RuntimeError:
            pass
        return list(host_access.read(tmp_path))

    assert install() == []
    assert not allows
    assert not (tmp_path / host_access.NAME).exists(), "most releases need none"
    (allowed,) = install(hostNetwork=True)
    assert allowed == ("foo-system", "foo", ("hostNetwork",))
    assert "infrastructure-foo gets access to this machine" in allows[0]
    assert "'access': 'hostNetwork'" in allows[0]
    assert install(fails=True, hostPID=True) == [allowed]
    assert install() == [], "a later version that does not need it any more does not have it"
