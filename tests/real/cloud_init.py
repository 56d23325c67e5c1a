"""Debian's cloud-init in a root file system of its own.

`python -m tests.real.cloud_init` makes the root file system, which is kept in a cache folder; with
`record` it writes the record of the cases, too. It needs root, `mmdebstrap` and Debian's package
archive. cloud-init runs in namespaces of its own, without network.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from tests.kube.boot.cloud_init_cases import CASES, FOLDERS, HOSTNAME, Case

RECORDED: Final = Path(__file__).parents[1] / "data" / "boot_data" / "cloud_init.json"

_SUITE: Final = "bookworm"
_SETTINGS: Final = """\
datasource_list: [NoCloud]
network: {config: disabled}
users: []
cloud_init_modules: [bootcmd, write-files]
cloud_config_modules: [runcmd]
cloud_final_modules: [write-files-deferred, scripts-user]
"""
_SCRIPT: Final = """\
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
hostname "$1"
for stage in "init --local" init "modules --mode=config" "modules --mode=final"; do
  cloud-init $stage || echo "$stage: exit code $?"
done
exec python3 /root/report.py
"""
_REPORT: Final = """\
import base64, grp, json, os, pwd, sys
files = {}
for folder in json.loads(sys.stdin.read()):
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            known = os.stat(path)
            with open(path, "rb") as file:
                content = file.read()
            try:
                content = content.decode()
            except UnicodeDecodeError:
                content = {"base64": base64.b64encode(content).decode()}
            owner = pwd.getpwuid(known.st_uid)[0] + ":" + grp.getgrgid(known.st_gid)[0]
            mode = format(known.st_mode & 0o7777, "04o")
            files[path] = {"content": content, "mode": mode, "owner": owner}
with open("/root/report.json", "w") as file:
    json.dump(files, file)
"""


class CannotRun(Exception):
    """cloud-init cannot be had here; the message says what is missing."""


def root_file_system() -> Path:
    """A Debian with cloud-init; made once, which takes a minute or two. Raises CannotRun."""
    cache = Path(
        os.environ.get("KAPY_REAL_CLUSTERS_CACHE") or Path.home() / ".cache" / "kapy-real-clusters"
    )
    root = cache / f"cloud-init-{_SUITE}"
    if root.is_dir():
        return root
    for program in ("mmdebstrap", "unshare", "chroot"):
        if shutil.which(program) is None:
            raise CannotRun(f"there is no {program}")
    if os.geteuid() != 0:
        raise CannotRun("only root can change its root folder")
    path = cache / f"cloud-init-{_SUITE}.{os.getpid()}"
    shutil.rmtree(path, ignore_errors=True)
    cache.mkdir(parents=True, exist_ok=True)
    include = "--include=cloud-init,iproute2"
    command = ["mmdebstrap", "--variant=minbase", include, _SUITE, str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=900)
    if done.returncode:
        shutil.rmtree(path, ignore_errors=True)
        raise CannotRun(f"mmdebstrap failed: {done.stderr.strip()[-500:]}")
    path.rename(root)
    return root


def carried_out(root: Path, case: Case) -> dict[str, Any]:
    """The files that cloud-init leaves: content, permission bits and owner by path."""
    for folder in (*FOLDERS, "/var/lib/cloud"):
        shutil.rmtree(root / folder.lstrip("/"), ignore_errors=True)
    (root / "usr/local/bin").mkdir()
    seed = root / "var/lib/cloud/seed/nocloud"
    seed.mkdir(parents=True)
    (seed / "meta-data").write_text(f"instance-id: i-{case.name}\nlocal-hostname: {HOSTNAME}\n")
    (seed / "user-data").write_text(case.data)
    (root / "etc/cloud/cloud.cfg.d/99_kapy.cfg").write_text(_SETTINGS)
    (root / "root/run.sh").write_text(_SCRIPT)
    (root / "root/report.py").write_text(_REPORT)
    report = root / "root/report.json"
    report.unlink(missing_ok=True)
    namespaces = ["--net", "--mount", "--pid", "--fork", "--uts", "--ipc"]
    command = ["unshare", *namespaces, "chroot", str(root), "/bin/sh", "/root/run.sh", HOSTNAME]
    done = subprocess.run(
        command,
        input=json.dumps(FOLDERS),
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
    )
    if not report.is_file():
        raise CannotRun(f"cloud-init did not run: {done.stdout[-500:]} {done.stderr[-500:]}")
    files: dict[str, Any] = json.loads(report.read_text())
    return dict(sorted(files.items()))


def record() -> None:
    """Carry out all cases and write what they leave."""
    root = root_file_system()
    results = {case.name: carried_out(root, case) for case in CASES}
    RECORDED.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def main() -> None:
    """Make the root file system, or say what is missing."""
    try:
        if sys.argv[1:] == ["record"]:
            record()
        else:
            root_file_system()
    except CannotRun as error:
        sys.exit(f"real cloud-init: {error}")


if __name__ == "__main__":
    main()
