"""Tests of the detection of a container engine, and of its errors. They run without an engine."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from kapy.containers import (
    DiskFull,
    Engine,
    EngineError,
    EngineUnreachable,
    NotPermitted,
    engine_address,
)
from kapy.containers.errors import MAX_QUOTED, pull_failed, request_error, unreachable
from kapy.containers.records import EngineInfo


def test_docker_host_comes_first(tmp_path: Path) -> None:
    environment = {"DOCKER_HOST": "tcp://10.0.0.1:2376", "DOCKER_CONTEXT": "other"}
    assert engine_address(environment, tmp_path) == "tcp://10.0.0.1:2376"
    assert engine_address({"CONTAINER_HOST": "unix:///p.sock"}, tmp_path) == "unix:///p.sock"


def test_an_address_without_a_scheme_is_explained(tmp_path: Path) -> None:
    with pytest.raises(EngineUnreachable, match=r"DOCKER_HOST is '/run/x'.*unix:///path"):
        engine_address({"DOCKER_HOST": "/run/x"}, tmp_path)


def test_a_docker_context_is_left_to_the_library(tmp_path: Path) -> None:
    assert engine_address({"DOCKER_CONTEXT": "desktop"}, tmp_path) is None
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker" / "config.json").write_text(json.dumps({"currentContext": "colima"}))
    assert engine_address({}, tmp_path) is None


def test_podmans_socket_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "podman"
    folder.mkdir()
    monkeypatch.chdir(folder)  # the path of a socket may not be long
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("podman.sock")
        environment = {"XDG_RUNTIME_DIR": str(tmp_path)}
        address = engine_address(environment, tmp_path)
    assert address is not None
    assert address.endswith(("podman/podman.sock", "docker.sock"))


@pytest.mark.parametrize(
    ("message", "error", "remedy"),
    [
        ("write /x: no space left on device", DiskFull, "docker system prune"),
        (
            "OCI runtime create failed: unable to apply caps: operation not permitted",
            NotPermitted,
            "KAPY_CONTAINER_RUNTIME",
        ),
    ],
)
def test_refusals_of_the_engine_are_explained(
    message: str, error: type[EngineError], remedy: str
) -> None:
    engine_error = request_error("start container a", 500, message)
    assert type(engine_error) is error
    assert remedy in str(engine_error)
    assert "start container a" in str(engine_error)


def test_a_pull_onto_a_full_disk_is_a_full_disk() -> None:
    assert isinstance(pull_failed("a:1", "no space left on device"), DiskFull)


def test_an_engine_error_is_one_bounded_line() -> None:
    text = str(request_error("start a", 500, "first\nsecond " + "x" * 10_000))
    assert "first second" in text
    assert len(text) < MAX_QUOTED + 100


def test_a_socket_without_permission_is_reported() -> None:
    error = OSError("cannot connect")
    error.__cause__ = PermissionError(13, "Permission denied")
    assert "usermod -aG docker" in str(unreachable("unix:///s", error))


def test_a_silent_engine_is_reported() -> None:
    assert "does not answer in time" in str(unreachable("unix:///s", TimeoutError()))


def test_rootless_and_remapped_engines_are_recognised() -> None:
    def with_options(*options: str) -> EngineInfo:
        return EngineInfo(name="", version="", storage_driver="", security=options)

    assert with_options("name=seccomp,profile=default", "name=rootless").is_rootless
    assert with_options("name=userns").remaps_users
    assert not with_options("name=seccomp,profile=rootless").is_rootless


async def test_missing_certificates_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
    async with Engine("tcp://127.0.0.1:2376") as engine:
        with pytest.raises(EngineUnreachable, match=r"DOCKER_CERT_PATH .* ca\.pem, cert\.pem"):
            await engine.info()


def test_an_engine_that_needs_tls_is_explained() -> None:
    error = request_error("ask", 400, "Client sent an HTTP request to an HTTPS server.")
    assert isinstance(error, EngineUnreachable)
    assert "DOCKER_TLS_VERIFY=1" in str(error)


def test_a_certificate_of_another_authority_is_refused() -> None:
    error = OSError("cannot connect")
    error.__cause__ = OSError("certificate verify failed: unable to get local issuer certificate")
    assert "put the authority that signed it into ca.pem" in str(unreachable("tcp://h:1", error))
