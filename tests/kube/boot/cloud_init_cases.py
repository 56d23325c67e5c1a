"""cloud-configs that the real cloud-init has carried out, and what is looked at afterwards."""

from __future__ import annotations

import base64
import gzip
from dataclasses import dataclass
from typing import Final

from kapy.providers.kubeadm.bootstrap.cloudinit import (
    MachineSetup,
    init_control_plane,
    join_control_plane,
    join_worker,
)

FOLDERS: Final = (
    "/target",
    "/run/kubeadm",
    "/run/cluster-api",
    "/etc/kubernetes",
    "/usr/local/bin",
)
"""The folders to which the cases write."""

HOSTNAME: Final = "machine-1"


@dataclass(frozen=True, slots=True)
class Case:
    """data: the cloud-config. fails: the entry at which our carrying out ends. differing: files
    that cloud-init makes otherwise, because it runs all commands as one script and goes on."""

    name: str
    data: str
    fails: str = ""
    differing: frozenset[str] = frozenset()


def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


_FILES: Final = f"""\
#cloud-config
write_files:
- {{path: /target/default, content: "a\\n"}}
- {{path: /target/deep/er/folder, content: "a", permissions: '0600'}}
- {{path: /target/octal, content: "a", permissions: 0640}}
- {{path: /target/sticky, content: "a", permissions: '1777'}}
- {{path: /target/written-0o, content: "a", permissions: '0o750'}}
- {{path: /target/user, content: "a", owner: daemon}}
- {{path: /target/user-colon, content: "a", owner: 'daemon:'}}
- {{path: /target/both, content: "a", owner: 'daemon:adm'}}
- {{path: /target/empty}}
- {{path: /target/../target//dots, content: "a"}}
- {{path: /target/more, content: "1\\n", permissions: '0600', owner: 'daemon:adm'}}
- {{path: /target/more, content: "2\\n", append: true}}
- {{path: /target/new-by-append, content: "2\\n", append: true, permissions: '0600'}}
- {{path: /target/twice, content: "first, and longer"}}
- {{path: /target/twice, content: "second"}}
- path: /target/base64
  encoding: b64
  content: |
    aGVs
    bG8=
- {{path: /target/base64-long, encoding: base64, content: /wD+}}
- {{path: /target/gzip, encoding: gz+b64, content: {_packed("packed")}}}
- {{path: /target/gzip-long, encoding: gzip+base64, content: {_packed("packed " * 500)}}}
- {{path: /target/gzip-binary, encoding: gzip, content: !!binary {_packed("binary")}}}
- {{path: /target/plain, encoding: text/plain, content: "ünïcode\\n"}}
- path: /target/block
  content: |
    #!/bin/sh
      indented $HOME ${{X}} `id` "quoted" 'single' \\n

    last
- {{path: "/target/a b $(c) 'd'", content: "odd name"}}
"""
_ORDER: Final = """\
#cloud-config
runcmd:
- cat /target/early /target/late /target/boot > /target/seen
- [sh, -c, 'echo second >> /target/seen']
write_files:
- {path: /target/late, content: "late\\n", defer: true}
- {path: /target/early, content: "early\\n"}
bootcmd:
- mkdir -p /target
- [sh, -c, 'ls /target > /target/boot']
"""
_COMMANDS: Final = """\
#cloud-config
write_files:
- {path: /target/x, content: ""}
runcmd:
- echo "a  b" 'c' $((1 + 1)) > /target/shell
- [sh, -c, 'printf "%s|" "$@" > /target/argv', sh, "a  b", 7, "$HOME", "it's", "", "*"]
- "for i in 1 2; do\\n  echo $i\\ndone > /target/lines"
- |
  cat > /target/here <<END
  here
  END
- [touch, /target/touched]
- sh -c 'exit 3' || echo failed > /target/rescued
"""
_FAILING: Final = """\
#cloud-config
write_files:
- {path: /target/x, content: ""}
runcmd:
- echo 1 > /target/before
- echo nothing is wrong; exit 3
- echo 2 > /target/after
"""
_FAILING_ARGV: Final = """\
#cloud-config
write_files:
- {path: /target/x, content: ""}
runcmd:
- [ls, /no/such/file]
- echo 2 > /target/after
"""
_ONE_SCRIPT: Final = """\
#cloud-config
write_files:
- {path: /target/x, content: ""}
runcmd:
- export KAPY=1; cd /target
- echo "$KAPY" > /target/exported
"""
_JINJA: Final = """\
## template: jinja
#cloud-config
write_files:
- path: /target/names
  content: "{{ ds.meta_data.local_hostname }} {{ v1.local_hostname }} {{local_hostname}}\\n"
runcmd:
- echo {{ ds.meta_data['local_hostname'] }} {{- v1.instance_id -}} > /target/command
"""
_KUBEADM: Final = """\
#!/bin/sh
echo "$@" > /target/kubeadm-arguments
cat "$3" > /target/kubeadm-configuration
"""


def _setup() -> MachineSetup:
    stub = {"path": "/usr/local/bin/kubeadm", "permissions": "0755", "content": _KUBEADM}
    return MachineSetup(
        files=[
            {
                "path": "/etc/kubernetes/pki/ca.crt",
                "owner": "root:root",
                "permissions": "0640",
                "content": "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n",
            },
            stub,
            {"path": "/target/base64", "encoding": "base64", "content": "aGVsbG8="},
            {"path": "/target/packed", "encoding": "gzip+base64", "content": _packed("packed")},
            {"path": "/target/odd", "append": True, "content": "a: \"b\" 'c' # d\n\n  e\ttab"},
        ],
        pre_kubeadm_commands=[
            'echo "before \\"quoted\\" \'single\'" > /target/pre',
            "if true; then\n  echo several lines >> /target/pre\nfi",
        ],
        post_kubeadm_commands=["cat /run/cluster-api/bootstrap-success.complete > /target/post"],
        verbosity="--v 5",
    )


_INIT: Final = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n"
_CLUSTER: Final = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n"
_JOIN: Final = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"

CASES: Final = (
    Case("files", _FILES),
    Case("order", _ORDER),
    Case("commands", _COMMANDS),
    Case("failing", _FAILING, "runcmd[1]"),
    Case("failing-argv", _FAILING_ARGV, "runcmd[0]", frozenset({"/target/after"})),
    Case("one-script", _ONE_SCRIPT, differing=frozenset({"/target/exported"})),
    Case("jinja", _JINJA),
    Case("init", init_control_plane(_setup(), _CLUSTER, _INIT)),
    Case("join-control-plane", join_control_plane(_setup(), _JOIN)),
    Case("join-worker", join_worker(_setup(), _JOIN)),
)
