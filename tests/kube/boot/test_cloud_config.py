"""cloud-config as steps."""

from __future__ import annotations

import base64
import gzip
import textwrap

import pytest

from kapy.kube.boot import BadBootData, RunCommand, WriteFile, read_boot_data
from kapy.kube.boot.contents import MAX_CONTENTS, MAX_DATA


def _read(text: str) -> list[WriteFile | RunCommand]:
    return list(read_boot_data(textwrap.dedent(text).encode()).steps)


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, mtime=0)).decode()


def test_steps_come_in_cloud_inits_order() -> None:
    steps = _read(
        """\
        #cloud-config
        runcmd:
          - echo "a  b"
          - [ls, -l, 7]
        write_files:
        - path: /etc/late
          defer: true
          content: late
        - path: /etc/early
          content: early
        bootcmd:
          - modprobe overlay
        """
    )
    assert [step.entry for step in steps] == [
        "bootcmd[0]",
        "write_files[1] (/etc/early)",
        "write_files[0] (/etc/late)",
        "runcmd[0]",
        "runcmd[1]",
    ]
    assert steps[3] == RunCommand(("/bin/sh", "-c", 'echo "a  b"'), "runcmd[0]")
    assert steps[4] == RunCommand(("ls", "-l", "7"), "runcmd[1]")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("content: a", (b"a", 0o644, "root:root", False)),
        ("permissions: '0640'", (b"", 0o640, "root:root", False)),
        ("permissions: 0640", (b"", 0o640, "root:root", False)),
        ("permissions: ' 0o4755 '", (b"", 0o4755, "root:root", False)),
        ("owner: etcd", (b"", 0o644, "etcd", False)),
        ("owner: ' etcd:adm '", (b"", 0o644, "etcd:adm", False)),
        ("owner: '100:'", (b"", 0o644, "100", False)),
        ("append: true\ncontent: b", (b"b", 0o644, "root:root", True)),
        ("encoding: B64\ncontent: |\n  /w\n  ==", (b"\xff", 0o644, "root:root", False)),
        ("encoding: base64\ncontent: ''", (b"", 0o644, "root:root", False)),
        (f"encoding: gz+b64\ncontent: {_packed(b'x')}", (b"x", 0o644, "root:root", False)),
        (f"encoding: gzip\ncontent: !!binary {_packed(b'x')}", (b"x", 0o644, "root:root", False)),
        ("content: !!binary /w==", (b"\xff", 0o644, "root:root", False)),
        ("encoding: b64\ncontent: !!binary L3c9PQ==", (b"\xff", 0o644, "root:root", False)),
        ("encoding: text/plain\ncontent: é", ("é".encode(), 0o644, "root:root", False)),
    ],
)
def test_a_file_becomes_a_step(fields: str, expected: tuple[bytes, int, str, bool]) -> None:
    text = "write_files:\n- path: /etc/a\n" + textwrap.indent(fields, "  ")
    (step,) = _read(text)
    assert isinstance(step, WriteFile)
    assert (step.content, step.mode, step.owner, step.append) == expected


@pytest.mark.parametrize(
    ("text", "path"),
    [("/a", "/a"), (" a/b ", "/a/b"), ("//a//b/../c", "/a/c"), ("/../../a", "/a")],
)
def test_a_path_is_normalized(text: str, path: str) -> None:
    (step,) = _read(f"write_files: [{{path: '{text}'}}]")
    assert isinstance(step, WriteFile)
    assert step.path == path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("write_files: {}", "write_files: the value must be a list"),
        ("write_files: [a]", "write_files[0]: the entry must be a mapping"),
        ("write_files: [{content: a}]", "write_files[0]: path must name a file"),
        ("write_files: [{path: /}]", "write_files[0]: path must name a file"),
        ("write_files: [{path: 5}]", "write_files[0]: path must be a string"),
        ("write_files: [{path: /a}, {path: /b, content: [x]}]", "write_files[1] (/b): content"),
        ("write_files: [{path: /a, permissions: rw}]", "write_files[0] (/a): permissions must be"),
        ("write_files: [{path: /a, permissions: '17777'}]", "(/a): permissions must be an octal"),
        ("write_files: [{path: /a, owner: '-R'}]", "write_files[0] (/a): owner must be USER"),
        ("write_files: [{path: /a, owner: 'a b'}]", "write_files[0] (/a): owner must be USER"),
        ("write_files: [{path: /a, append: often}]", "(/a): append must be true or false"),
        ("write_files: [{path: /a, encoding: rot13}]", '(/a): encoding "rot13" is not known'),
        ("write_files: [{path: /a, encoding: b64, content: '*'}]", "(/a): the content is not base"),
        (
            "write_files: [{path: /a, encoding: gz, content: YWFhYQ==}]",
            "(/a): the content is not gzip",
        ),
        (
            f"write_files: [{{path: /a, encoding: gz, content: {_packed(b'a' * 99)[:24]}}}]",
            "(/a): the gzip data of the content ends too early",
        ),
        ("write_files: [{path: /a, source: {uri: 'http://x'}}]", "(/a): source would have to be"),
        ("runcmd: ls", "runcmd: the value must be a list"),
        ("runcmd: [ls, {a: b}]", "runcmd[1]: a command must be a string or a list"),
        ("runcmd: [null]", "runcmd[0]: a command must be a string or a list"),
        ("runcmd: [[ls, null]]", "runcmd[0]: each word of a command must be"),
        ("runcmd: [[ls, 1.5]]", "runcmd[0]: each word of a command must be"),
        ('runcmd: ["a\\0"]', "runcmd[0]: a command cannot contain a NUL character"),
        ("a: [", "cloud-config: line 2: "),
        (
            "## template: jinja\n{% set a = 1 %}\nruncmd: []",
            "statements of Jinja, {% … %}, are not executed",
        ),
        ("- a", "cloud-config: the boot data is not a YAML mapping"),
        ("#!/bin/sh\nls", "cloud-config: the boot data is a script"),
        ("runcmd: [" * 5000, "cloud-config: exceeded max depth"),
    ],
)
def test_invalid_cloud_config_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadBootData) as caught:
        read_boot_data(text.encode(), "cloud-config")
    assert message in str(caught.value)


def test_binary_data_is_written() -> None:
    with pytest.raises(BadBootData, match="not UTF-8 text at byte 2"):
        read_boot_data(b"a:\xff")
    with pytest.raises(BadBootData, match="compressed"):
        read_boot_data(gzip.compress(b"runcmd: []"))
    with pytest.raises(BadBootData, match="more than 4 MiB"):
        read_boot_data(b"#" * (MAX_DATA + 1))
    with pytest.raises(BadBootData, match=r'format "talos" .* use cloud-config or ignition'):
        read_boot_data(b"", "talos")


def test_packed_content_is_bounded() -> None:
    bomb = _packed(b"\0" * (MAX_CONTENTS + 1))
    with pytest.raises(BadBootData, match=r"write_files\[0\] \(/a\): .* larger than 16 MiB"):
        _read(f"write_files: [{{path: /a, encoding: gz+b64, content: {bomb}}}]")
    half = _packed(b"\0" * (MAX_CONTENTS // 2 + 1))
    entry = f"encoding: gz+b64, content: {half}"
    with pytest.raises(BadBootData, match=r"write_files\[1\] \(/b\): .* larger than 16 MiB"):
        _read(f"write_files: [{{path: /a, {entry}}}, {{path: /b, {entry}}}]")


def test_aliases_do_not_multiply_the_work() -> None:
    words = "x: &w [" + "a," * 5000 + "]\n"
    with pytest.raises(BadBootData, match="document contains excessive aliasing"):
        _read(words + "runcmd: [" + "*w," * 100 + "]")
    with pytest.raises(BadBootData, match=r"runcmd\[20\]: the commands have more than 100000"):
        _read(words + "runcmd: [" + "*w," * 25 + "]")
    text = "x: &t " + "a" * 10_000 + "\n"
    files = "".join(f"- {{path: /{index}, content: *t}}\n" for index in range(2000))
    with pytest.raises(BadBootData, match="larger than 16 MiB"):
        _read(text + "write_files:\n" + files)


def test_gzip_data_of_several_members_is_unpacked() -> None:
    members = base64.b64encode(gzip.compress(b"a") + gzip.compress(b"b") + b"\0\0").decode()
    (step,) = _read(f"write_files: [{{path: /a, encoding: gzip+b64, content: {members}}}]")
    assert isinstance(step, WriteFile)
    assert step.content == b"ab"


def test_sections_that_are_not_applied_are_named() -> None:
    plan = read_boot_data(b"ntp: {servers: [a]}\nmounts: []\nusers:\n- name: a\nruncmd: null\n")
    assert plan.steps == ()
    assert plan.ignored == ("ntp", "users")
    assert read_boot_data(b"#cloud-config\n").steps == ()


def test_template_variables_are_replaced() -> None:
    text = (
        b"## template: jinja\n#cloud-config\nruncmd:\n"
        b"- echo {{ ds.meta_data.local_hostname }} {{ ds.meta_data['hostname'] }}\n"
        b"- echo {{ v1.local_hostname }} {{local_hostname}} {{ hostname }}"
        b" {{ ds.meta_data.zone }}\n"
        b"- '{{ 7 * 7 }} {% for x in y %}'\n"
    )
    instance = {"local_hostname": "m-1", "hostname": "m-1"}

    def scripts(data: bytes) -> list[str]:
        steps = read_boot_data(data, instance=instance).steps
        return [step.argv[2] for step in steps if isinstance(step, RunCommand)]

    assert scripts(text) == [
        "echo m-1 m-1",
        "echo m-1 m-1 {{ hostname }} {{ ds.meta_data.zone }}",
        "{{ 7 * 7 }} {% for x in y %}",
    ]
    plain = text.removeprefix(b"## template: jinja\n")
    assert scripts(plain)[0].startswith("echo {{ ds.meta_data.local_hostname }}")


@pytest.mark.parametrize(
    "entries",
    [
        "runcmd: [" + "*t, " * 200 + "]",
        "bootcmd: [[" + "*t, " * 200 + "]]",
        "write_files: [" + "{path: *t}, " * 200 + "]",
        "write_files: [" + "{path: /a, owner: *t}, " * 200 + "]",
        "anything: [" + "{*t : 1}, " * 200 + "]",
    ],
)
def test_aliases_of_a_long_text_do_not_multiply_memory(entries: str) -> None:
    with pytest.raises(BadBootData, match="document contains excessive aliasing"):
        _read("x: &t /" + "a" * 200_000 + "\n" + entries + "\n")
