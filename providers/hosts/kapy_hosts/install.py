"""Steps that install Kubernetes on a host. Pure."""

from __future__ import annotations

import shlex
from typing import Final

from kapy_hosts.boot_steps import BootStep
from kapy_hosts.kinds import Install
from kapy_hosts.remote import script

_COPY: Final = """\
set -e
written=/var/lib/kapy-hosts/installed
folder={folder}
for name in kubeadm kubelet kubectl; do
    found=$(find "$folder" -name "$name" -type f | head -n 1)
    if [ -z "$found" ]; then
        [ "$name" = kubectl ] && continue
        echo "$folder has no $name" >&2
        exit 1
    fi
    mkdir -p /usr/local/bin
    cp -- "$found" "/usr/local/bin/$name.new"
    chmod 755 "/usr/local/bin/$name.new"
    echo "/usr/local/bin/$name" >> "$written"
    mv -- "/usr/local/bin/$name.new" "/usr/local/bin/$name"
done
if ! systemctl cat kubelet.service >/dev/null 2>&1; then
    echo /etc/systemd/system/kubelet.service >> "$written"
    cat > /etc/systemd/system/kubelet.service
fi
command=$(systemctl cat kubelet.service 2>/dev/null | grep -E '^ExecStart=[^ ]*kubelet( |$)' | tail -n 1)
command=${{command#ExecStart=}}
if [ -n "$command" ] && [ "${{command%% *}}" != /usr/local/bin/kubelet ]; then
    mkdir -p /etc/systemd/system/kubelet.service.d
    echo /etc/systemd/system/kubelet.service.d/99-kapy-hosts.conf >> "$written"
    printf '[Service]\\nExecStart=\\nExecStart=/usr/local/bin/kubelet%s\\n' "${{command#"${{command%% *}}"}}" \\
        > /etc/systemd/system/kubelet.service.d/99-kapy-hosts.conf
fi
systemctl daemon-reload
systemctl enable kubelet >/dev/null 2>&1 || true
there=$(kubeadm version -o short)
[ "$there" = {version} ] || {{ echo "kubeadm is $there, wanted {version}" >&2; exit 1; }}
"""
_DOWNLOAD: Final = """\
set -e
place=/var/lib/kapy-hosts/download
mkdir -p "$place/files"
curl --fail --silent --show-error --location --max-time 1800 --output "$place/archive" {url}
echo {sha256}"  $place/archive" | sha256sum --check --quiet
tar -xf "$place/archive" -C "$place/files"
rm -f "$place/archive"
"""
_PACKAGES: Final = """\
set -e
export DEBIAN_FRONTEND=noninteractive
written=/var/lib/kapy-hosts/installed
if [ -e "$written" ]; then  # of a folder or an archive, before which the packages would not be found
    while IFS= read -r path; do rm -f -- "$path"; done < "$written"
    rm -f "$written"
    systemctl daemon-reload
fi
mkdir -p /etc/apt/keyrings
cat > /etc/apt/keyrings/kapy-hosts.asc
signed=
[ -s /etc/apt/keyrings/kapy-hosts.asc ] && signed='[signed-by=/etc/apt/keyrings/kapy-hosts.asc] '
echo "deb $signed"{url}" /" > /etc/apt/sources.list.d/kapy-hosts.list
apt-get update -q -o Dir::Etc::sourcelist=sources.list.d/kapy-hosts.list -o Dir::Etc::sourceparts=-
for name in kubelet kubeadm kubectl; do
    apt-get install -q -y --allow-downgrades --allow-change-held-packages "$name={number}-*"
done
there=$(kubeadm version -o short)
[ "$there" = {version} ] || {{ echo "kubeadm is $there, wanted {version}" >&2; exit 1; }}
"""
DOWNLOADS: Final = "/var/lib/kapy-hosts/download/files"


def install_steps(install: Install | None, version: str, architecture: str) -> list[BootStep]:
    """Return the steps that install a version of Kubernetes."""
    if install is None:
        return []
    if install.repository is not None:
        repository = install.repository
        text = _PACKAGES.format(
            url=_quote(repository.url, version, architecture),
            number=version.removeprefix("v"),
            version=shlex.quote(version),
        )
        entry = f"install.repository ({repository.url})"
        return [BootStep(entry, text, repository.key.encode(), again=True)]
    if install.archive is not None:
        text = _DOWNLOAD.format(
            url=_quote(install.archive.url, version, architecture), sha256=shlex.quote(install.archive.sha256)
        )
        entry = f"install.archive ({install.archive.url})"
        copy = _copy("install.archive", shlex.quote(DOWNLOADS), version)
        return [BootStep(entry, text, again=True), copy]
    folder = _quote(install.folder, version, architecture)
    return [_copy(f"install.folder ({install.folder})", folder, version)]


def _copy(entry: str, folder: str, version: str) -> BootStep:
    text = _COPY.format(folder=folder, version=shlex.quote(version))
    return BootStep(entry, text, script("kubelet.service").encode(), again=True)


def _quote(text: str, version: str, architecture: str) -> str:
    minor = ".".join(version.split(".")[:2])
    for name, value in (("version", version), ("minor", minor), ("arch", architecture)):
        text = text.replace(f"{{{name}}}", value)
    return shlex.quote(text)
