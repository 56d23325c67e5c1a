"""Planes for tests of one's own: in a folder of their own, by a pytest run of their own."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kapy.api.cluster import Cluster
from kapy.apps.manifests import class_sample
from kapy.conditions.lookup import is_true
from kapy.testing import BadTestPlane, on_virtual_time, plane
from tests.waiting import LIMIT

ROOT = Path(__file__).parents[2]

PROJECT = {
    "cloud.py": """
from kapy.sdk.provider import Provider

def add_to(runtime):
    print("the controllers of cloud are there")

PROVIDER = Provider(name="cloud", kinds=(), add_to=add_to, image="registry.example.com/cloud")
""",
    "gate.py": """
from kapy.hooks.extension import Extension
from kapy.hooks.messages.lifecycle import BEFORE_CLUSTER_CREATE
from kapy.hooks.messages.message import RetryResponse

extension = Extension()
asked = []

@extension.handles(BEFORE_CLUSTER_CREATE, name="asks")
async def asks(request):
    asked.append(request.cluster["metadata"]["name"])
    return RetryResponse.wait(300, "later") if len(asked) == 1 else RetryResponse()
""",
    "test_virtual.py": """
from datetime import timedelta

import gate
from kapy.api.cluster import Cluster
from kapy.apps.manifests import class_sample
from kapy.testing import on_virtual_time, plane

@on_virtual_time
async def test_minutes_take_no_time():
    async with plane(providers=["cloud"], extensions={"gate": gate.extension}) as there:
        await there.apply(class_sample())
        found = await there.until(
            Cluster,
            "capybara",
            lambda one: one.status.phase == "Provisioned",
            within=timedelta(minutes=20).total_seconds(),
        )
    assert found.spec.topology.version
    assert gate.asked == ["capybara", "capybara"]
""",
    "test_real.py": """
import json
import os
import ssl
import urllib.request

import pytest

CLUSTER = '''
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: bison, namespace: default}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: bison}
'''

def test_a_plane_in_one_line(kapy_plane):
    (stored,) = kapy_plane.apply(CLUSTER)
    assert stored["metadata"]["uid"]
    assert os.environ["KUBECONFIG"] == str(kapy_plane.kubeconfig)
    assert kapy_plane.server in kapy_plane.kubeconfig.read_text()
    context = ssl._create_unverified_context()
    with urllib.request.urlopen(f"{kapy_plane.server}/version", context=context) as answer:
        assert json.load(answer)["major"] == "1"

@pytest.mark.kapy(providers=["cloud"], gates={"MachinePool": False})
def test_it_is_as_it_is_asked_for(kapy_plane, capfd):
    namespaces = kapy_plane.run(lambda there: there.client.raw("GET", "/api/v1/namespaces"))
    assert "default" in [one["metadata"]["name"] for one in namespaces["items"]]
    assert kapy_plane.run(lambda there: there.client.raw(
        "GET", "/apis/cluster.x-k8s.io/v1beta2/clusters"))["items"] == [], "another plane"

@pytest.mark.kapy(providers=["nowhere"])
@pytest.mark.xfail(strict=True, raises=Exception, reason="there is no such module")
def test_a_mistake_is_an_error_of_the_test(kapy_plane):
    pass
""",
    "pytest.ini": """
[pytest]
addopts = --strict-markers
filterwarnings = error
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
""",
}


@pytest.mark.sockets
def test_another_project_can_test_with_planes(tmp_path: Path) -> None:
    for name, text in PROJECT.items():
        (tmp_path / name).write_text(text)
    plugins = ("-p", "kapy.testing.pytest_plugin", "-p", "pytest_asyncio.plugin")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert "3 passed, 1 xfailed" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0


def test_pytest_finds_the_plugin() -> None:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (module,) = document["project"]["entry-points"]["pytest11"].values()
    assert importlib.import_module(module).kapy_plane


def test_the_plugin_imports_no_plane_before_a_test_wants_one() -> None:
    code = (
        "import sys, kapy.testing.pytest_plugin\n"
        "names = ('kapy.apps', 'kapy.api', 'aiohttp')\n"
        "print([one for one in sys.modules if one.startswith(names)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@on_virtual_time
async def test_a_decorated_test_needs_no_plugin() -> None:
    async with plane() as there:
        await there.apply(class_sample())
        await there.until(
            Cluster, "capybara", lambda cluster: is_true(cluster.status.conditions, "Available")
        )


async def test_a_served_plane_needs_real_time() -> None:
    with pytest.raises(BadTestPlane, match="leave @on_virtual_time away"):
        async with plane(serve=True):
            pass
    async with plane() as there:
        with pytest.raises(BadTestPlane, match="serves no network"):
            _ = there.server
        with pytest.raises(BadTestPlane, match="serves no Cloud of a/v1"):
            await there.create([{"apiVersion": "a/v1", "kind": "Cloud", "metadata": {"name": "x"}}])


async def test_an_invalid_extension_is_refused() -> None:
    with pytest.raises(BadTestPlane, match="json is no kapy"):
        async with plane(extensions={"x": "json"}):
            pass
