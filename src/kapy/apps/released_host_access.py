"""Host access that a release requests: reported and allowed when the release is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kapy.clusterctl.components import Components
from kapy.clusterctl.progress import Progress
from kapy.node_agent import host_access
from kapy.node_agent.host_access import Allowed

_KINDS: Final = ("Deployment", "StatefulSet", "DaemonSet", "Job")


@contextmanager
def allow_host_access(
    folder: Path, report: Progress
) -> Iterator[Callable[[Sequence[Components]], None]]:
    """Yield a preparation step that allows the host access of the components to be installed. If
    the context fails, the previous settings are restored. folder: the folder of the plane.
    """
    before = list(host_access.read(folder))
    changed = False

    def prepare(components: Sequence[Components]) -> None:
        nonlocal changed
        result = [
            allowed
            for component in components
            for allowed in _report_host_access(component, report)
        ]
        if any(allowed.access for allowed in result) or before:
            changed = True
            host_access.allow(folder, result)

    try:
        yield prepare
    except BaseException:
        if changed:
            host_access.replace(folder, before)
        raise


def _report_host_access(components: Components, report: Progress) -> Iterator[Allowed]:
    for obj in components.objects:
        if obj.get("kind") not in _KINDS:
            continue
        meta, spec = obj["metadata"], obj["spec"]["template"]["spec"]
        access = tuple(host_access.access_of(spec))
        if access:
            report(
                f"Warning: {components.provider.label} gets access to this machine where its "
                "images run as containers",
                workload=f"{meta.get('namespace', '')}/{meta['name']}",
                access=", ".join(access),
            )
        yield Allowed(meta.get("namespace", ""), meta["name"], access)
