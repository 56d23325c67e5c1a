"""Tests of inventories in kapy's own format, and of Ansible's in YAML and INI."""

from __future__ import annotations

import pytest
from kapy_hosts.inventory import BadInventory, read_inventory

OURS = """
defaults: {user: admin, sudo: true}
hosts:
- {name: one, address: 10.0.0.1, labels: {disk: ssd}, failureDomain: rack-1}
- {address: 10.0.0.2, user: root, jumpHost: {address: jump.example.com}}
"""
ANSIBLE = """
all:
  vars: {ansible_user: admin}
  children:
    servers:
      hosts:
        one: {ansible_host: 10.0.0.1, ansible_port: 2222}
        two.example.com:
      vars: {ansible_become: true}
    ssd_disks:
      hosts: {one: {}}
"""
INI = """
# comment
[servers]
one ansible_host=10.0.0.1 ansible_port=2222
two.example.com
[ssd_disks]
one
[servers:vars]
ansible_become=yes
[all:vars]
ansible_user=admin
[site:children]
servers
"""


def test_a_native_inventory_has_defaults_and_all_fields() -> None:
    first, two = read_inventory(OURS, "lab")
    assert first["metadata"]["namespace"] == "lab"
    assert first["metadata"]["labels"]["disk"] == "ssd"
    assert first["spec"] == {"address": "10.0.0.1", "user": "admin", "sudo": True, "failureDomain": "rack-1"}
    assert (two["metadata"]["name"], two["spec"]["user"]) == ("10.0.0.2", "root")
    assert two["spec"]["jumpHost"] == {"address": "jump.example.com"}


@pytest.mark.parametrize("text", [ANSIBLE, INI], ids=["yaml", "ini"])
def test_ansible_gives_addresses_users_and_groups(text: str) -> None:
    first, two = read_inventory(text, "default")
    assert first["spec"] == {"address": "10.0.0.1", "port": 2222, "user": "admin", "sudo": True}
    assert two["spec"]["address"] == two["metadata"]["name"] == "two.example.com"
    groups = [label for label in first["metadata"]["labels"] if label.startswith("group.")]
    assert groups == ["group.hosts.cluster.x-k8s.io/servers", "group.hosts.cluster.x-k8s.io/ssd-disks"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no hosts"),
        ("- one", "must have `hosts:`"),
        ("a: [", "no YAML"),
        ("hosts: [{name: one, address: 10.0.0.1, prot: 22}]", "host one: prot is no field"),
        ("hosts: [{name: one, address: 10.0.0.1, port: x}]", "host one: Expected `int`"),
        ("hosts: [{name: one}]", "host one: .*spec.address"),
        ("hosts: [{name: 'o ne', address: a}]", "host 'o ne': a name has"),
        ("hosts: [{name: a, address: a}, {name: a, address: b}]", "host a is there twice"),
        ("hosts: [{name: a, address: a, hostKey: nonsense}]", "host a: .*spec.hostKey"),
        ("all: {hosts: [one]}", "all.hosts must be a mapping"),
        ("[servers]\none ansible_host='", "No closing quotation"),
    ],
)
def test_a_bad_inventory_says_where(text: str, message: str) -> None:
    with pytest.raises(BadInventory, match=message):
        read_inventory(text, "default")
