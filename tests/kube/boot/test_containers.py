"""Boot data changed for machines that are containers."""

from __future__ import annotations

import textwrap

import pytest

from kapy.kube.boot import (
    BadBootData,
    BootPlan,
    RunCommand,
    WriteFile,
    for_containers,
    read_boot_data,
)
from kapy.kube.yaml import load_all

STARTED = "echo started > /run/cluster-api/capd.bootstrap.started"
IGNORED = (
    "--ignore-preflight-errors=SystemVerification,Swap,"
    "FileContent--proc-sys-net-bridge-bridge-nf-call-iptables"
)


def _kubeadm_file(
    path: str, content: str, *, private_cgroups: bool = True, user_namespace: bool = False
) -> str:
    step = WriteFile(path, textwrap.dedent(content).encode(), "write_files[0]")
    plan = BootPlan((step,))
    (changed,) = for_containers(
        plan, private_cgroups=private_cgroups, user_namespace=user_namespace
    ).steps
    assert isinstance(changed, WriteFile)
    return changed.content.decode()


@pytest.mark.parametrize(
    ("runcmd", "argv"),
    [
        (
            "kubeadm init --config /x && echo kubeadm init",
            (
                "/bin/sh",
                "-c",
                f"{STARTED} && kubeadm init {IGNORED} --config /x && echo kubeadm init",
            ),
        ),
        (
            ["kubeadm", "join", "--config", "/a b"],
            ("/bin/sh", "-c", f"{STARTED} && kubeadm join {IGNORED} --config '/a b'"),
        ),
        (["kubeadm", "init"], ("/bin/sh", "-c", f"{STARTED} && kubeadm init {IGNORED}")),
        (["kubeadm", "version"], ("kubeadm", "version")),
        ("echo hello", ("/bin/sh", "-c", "echo hello")),
    ],
)
def test_kubeadm_commands_are_rewritten_for_containers(
    runcmd: str | list[str], argv: tuple[str, ...]
) -> None:
    plan = read_boot_data(f"runcmd: [{runcmd!r}]".encode())
    (step,) = for_containers(plan).steps
    assert isinstance(step, RunCommand)
    assert step.argv == argv


def test_ignored_preflight_errors_are_extended() -> None:
    plan = for_containers(read_boot_data(b"runcmd: [kubeadm join]"), preflight_errors=["all"])
    (step,) = plan.steps
    assert isinstance(step, RunCommand)
    assert step.argv[2] == f"{STARTED} && kubeadm join --ignore-preflight-errors=all"


def test_the_kubelet_of_the_first_machine_is_configured() -> None:
    content = """\
        ---
        apiVersion: kubeadm.k8s.io/v1beta4
        kind: ClusterConfiguration
        # stays
        ---
        apiVersion: kubeadm.k8s.io/v1beta4
        kind: InitConfiguration
        nodeRegistration:
          kubeletExtraArgs:
          - {name: eviction-hard, value: mine}
          - {name: v, value: "5"}
          taints: []
        """
    changed = _kubeadm_file("/run/kubeadm/kubeadm.yaml", content)
    assert "# stays" in changed
    cluster, init, proxy = load_all(changed)
    assert cluster["kind"] == "ClusterConfiguration"
    registration = init["nodeRegistration"]
    assert registration["criSocket"] == "unix:///var/run/containerd/containerd.sock"
    assert registration["taints"] == []
    assert registration["kubeletExtraArgs"] == [
        {
            "name": "eviction-hard",
            "value": "nodefs.available<0%,nodefs.inodesFree<0%,imagefs.available<0%",
        },
        {"name": "v", "value": "5"},
        {"name": "image-gc-high-threshold", "value": "100"},
        {"name": "fail-swap-on", "value": "false"},
        {"name": "cgroup-root", "value": "/kubelet"},
        {"name": "runtime-cgroups", "value": "/system.slice/containerd.service"},
    ]
    assert proxy["conntrack"] == {"maxPerCore": 0}


def test_the_kubelet_of_an_older_joining_machine_is_configured() -> None:
    content = """\
        ---
        apiVersion: kubeadm.k8s.io/v1beta3
        kind: JoinConfiguration
        nodeRegistration: {criSocket: unix:///x, kubeletExtraArgs: {v: "5"}}
        """
    path = "/run/kubeadm/kubeadm-join-config.yaml"
    (join,) = load_all(_kubeadm_file(path, content, private_cgroups=False))
    assert join["nodeRegistration"]["criSocket"] == "unix:///x"
    assert join["nodeRegistration"]["kubeletExtraArgs"] == {
        "v": "5",
        "image-gc-high-threshold": "100",
        "eviction-hard": "nodefs.available<0%,nodefs.inodesFree<0%,imagefs.available<0%",
        "fail-swap-on": "false",
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [", "write_files[0]: kubeadm's configuration is not YAML"),
        ("kind: InitConfiguration\nnodeRegistration: a", "nodeRegistration of kubeadm's"),
        (
            "kind: InitConfiguration\nnodeRegistration: {kubeletExtraArgs: a}",
            "write_files[0]: kubeletExtraArgs of kubeadm's configuration must be a list",
        ),
        ("kind: InitConfiguration\na: " + "[" * 400 + "]" * 400, "exceeded max depth"),
    ],
)
def test_an_invalid_kubeadm_configuration_is_refused(content: str, message: str) -> None:
    with pytest.raises(BadBootData) as caught:
        _kubeadm_file("/run/kubeadm/kubeadm.yaml", content)
    assert message in str(caught.value)


def test_ignition_files_are_rewritten_for_containers() -> None:
    script = WriteFile("/etc/kubeadm.sh", b"set -e\nkubeadm init --config x\n", "a", mode=0o700)
    config = WriteFile("/etc/kubeadm.yml", b"---\nkind: InitConfiguration\n", "b")
    changed, configuration = for_containers(BootPlan((script, config))).steps
    assert isinstance(changed, WriteFile)
    assert isinstance(configuration, WriteFile)
    assert changed.content.decode() == (
        f"set -e\nmkdir -p /run/cluster-api && {STARTED} && kubeadm init"
        " --ignore-preflight-errors=all --config x\n"
    )
    assert [item["kind"] for item in load_all(configuration.content)] == [
        "InitConfiguration",
        "KubeProxyConfiguration",
    ]


CONFIGURATIONS = ("/run/kubeadm/kubeadm.yaml", "/run/kubeadm/kubeadm-join-config.yaml")


@pytest.mark.parametrize("path", [*CONFIGURATIONS, "/etc/kubeadm.yml"])
@pytest.mark.parametrize(
    ("registration", "gates"),
    [
        ("", "KubeletInUserNamespace=true"),
        ("kubeletExtraArgs: []", "KubeletInUserNamespace=true"),
        (
            "kubeletExtraArgs: [{name: feature-gates, value: A=true}]",
            "A=true,KubeletInUserNamespace=true",
        ),
    ],
)
def test_a_kubelet_in_a_user_namespace_gets_its_feature_gate(
    path: str, registration: str, gates: str
) -> None:
    content = f"kind: InitConfiguration\nnodeRegistration: {{{registration}}}\n"
    registered = load_all(_kubeadm_file(path, content, user_namespace=True).encode())[0]
    arguments = registered["nodeRegistration"]["kubeletExtraArgs"]
    assert [argument["value"] for argument in arguments if argument["name"] == "feature-gates"] == [
        gates
    ]


def test_an_old_kubelet_in_a_user_namespace_gets_its_feature_gate() -> None:
    content = (
        "apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\n"
        "nodeRegistration: {kubeletExtraArgs: {feature-gates: A=true}}\n"
    )
    joined = load_all(_kubeadm_file(CONFIGURATIONS[1], content, user_namespace=True).encode())[0]
    arguments = joined["nodeRegistration"]["kubeletExtraArgs"]
    assert arguments["feature-gates"] == "A=true,KubeletInUserNamespace=true"


@pytest.mark.parametrize("path", [CONFIGURATIONS[0], "/etc/kubeadm.yml"])
@pytest.mark.parametrize("user_namespace", [False, True])
def test_kube_proxy_leaves_the_hosts_settings_alone(path: str, user_namespace: bool) -> None:
    content = "---\nkind: InitConfiguration\n"
    written = _kubeadm_file(path, content, user_namespace=user_namespace)
    conntrack = load_all(written.encode())[-1]["conntrack"]
    more = {"tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"} if user_namespace else {}
    assert conntrack == {"maxPerCore": 0, **more}


@pytest.mark.parametrize(
    "path", ["/run/kubeadm/kubeadm.yaml", "/run/kubeadm/kubeadm-join-config.yaml"]
)
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("- a: b\n" * 100_000, "has 700000 bytes, more than 256 KiB"),
        (
            "a: &a " + "x" * 100_000 + "\nb: [" + "*a," * 5000 + "]\n",
            "document contains excessive aliasing",
        ),
    ],
)
def test_the_work_for_kubeadms_configuration_is_bounded(
    path: str, content: str, problem: str
) -> None:
    with pytest.raises(
        BadBootData, match=rf"write_files\[0\]: kubeadm's configuration .*{problem}"
    ):
        _kubeadm_file(path, content)
