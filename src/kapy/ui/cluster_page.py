"""The page of one cluster: its tree, timeline, machines, topology, blockers and events."""

from __future__ import annotations

import re
import shlex
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from kapy.clusterctl.describe import waits
from kapy.clusterctl.describe.changes import follow, resources_of
from kapy.clusterctl.describe.source import NAME_LABEL
from kapy.clusterctl.describe.waiting import wait_of
from kapy.hooks.inspection import CALLS
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.plural import plural
from kapy.kube.yaml import dump
from kapy.ui.action_page import allowed_actions
from kapy.ui.blockers import blockers_of, pending_hooks_of
from kapy.ui.class_view import templates_of, variables_of
from kapy.ui.documents import name_of, text_at, without_managed_fields
from kapy.ui.events import event_row
from kapy.ui.hook_calls import HookCall
from kapy.ui.live import Subscription, change_events
from kapy.ui.machines import certificates_of, grid_of, rollouts_of
from kapy.ui.objects import ClusterObjects, read_cluster
from kapy.ui.page import PageContext
from kapy.ui.rights import PathRight
from kapy.ui.rows import row_of
from kapy.ui.timeline import WINDOWS, timeline_of, trace_of
from kapy.ui.tree_rows import conditions_of, tree_rows
from kapy.ui.viewers import run_guarded
from kapy.ui.web import PREFIX, WebError, WebResponse, cluster_url

MAX_NAME: Final = 253
_NO_KIND: Final = re.compile(
    r'customresourcedefinitions\.apiextensions\.k8s\.io "([a-z0-9.-]{1,253})" not found'
)


async def show_cluster(context: PageContext, namespace: str, name: str) -> WebResponse:
    """Return the page of a cluster."""
    key = _key(namespace, name)
    await context.viewer.fleet(context.group)  # follows the hook calls
    show_all = context.request.query.get("all") == "1"
    window = context.request.query.get("window", "")
    window = window if window in WINDOWS else "all"
    objects = await read_cluster(context.viewer, key, show_all=show_all)
    may_see_calls = await context.viewer.rights.has(PathRight("get", CALLS))
    calls = context.viewer.calls.of(key) if may_see_calls else []
    return await context.page(
        "cluster.html",
        title=f"{namespace}/{name}",
        rows=2 * len(objects.machines),
        documents=(*objects.documents(), *objects.events),
        compute_values=partial(_cluster_values, objects, calls, context.now, window),
        key=key,
        url_of=object_url,
        show_all=show_all,
        actions=await allowed_actions(context, objects),
        kubeconfig_command=kubeconfig_command(
            key, context.session.kubeconfig.flags("--kubeconfig-context")
        ),
    )


def _cluster_values(
    objects: ClusterObjects, calls: Sequence[HookCall], now: datetime, window: str
) -> dict[str, Any]:
    cluster = objects.cluster
    wait = wait_of(cluster)
    return {
        "cluster": cluster,
        "row": row_of(cluster),
        "wait": wait,
        "missing_kinds": sorted(set(_NO_KIND.findall(wait[1]))) if wait else (),
        "waits": [wait for wait in waits(objects.tree) if wait.kind != "Cluster"],
        "tree": tree_rows(objects.tree, now),
        "conditions": conditions_of(cluster, now),
        "timeline": timeline_of(objects, calls, now, window),
        "window": window,
        "windows": WINDOWS,
        "trace": trace_of(cluster),
        "blockers": blockers_of(objects, calls),
        "pending_hooks": pending_hooks_of(cluster),
        "calls": calls,
        "grid": grid_of(objects.machines),
        "rollouts": rollouts_of(objects),
        "members": [
            (name_of(machine), member)
            for machine in objects.machines
            for member in conditions_of(machine, now, "EtcdMemberHealthy")
        ],
        "certificates": certificates_of(objects.machines, now),
        "variables": variables_of(cluster),
        "templates": templates_of(objects.cluster_class) if objects.cluster_class else (),
        "cluster_class": objects.cluster_class,
        "events": list(map(event_row, objects.events)),
        "has_more_events": objects.has_more_events,
        "hidden": objects.hidden,
        **_yaml_of(cluster),
    }


def _yaml_of(document: Document) -> dict[str, str]:
    """Return the YAML of a page with the managed fields apart."""
    managed_fields = document["metadata"].get("managedFields") or []
    yaml = _dump(without_managed_fields(document))
    return {"yaml": yaml, "managed_fields": _dump(managed_fields)}


def _dump(value: Any) -> str:
    try:
        return dump(value)
    except RecursionError:
        return "It is nested too deeply to be shown: kubectl prints it as JSON (-o json)."


async def stream_cluster(context: PageContext, namespace: str, name: str) -> WebResponse:
    """Stream the changes of a cluster's objects. Raises NotFound, Forbidden."""
    key, viewer = _key(namespace, name), context.viewer
    objects = await read_cluster(viewer, key, show_all=True)
    resources = await resources_of(viewer.client, objects.tree)
    readable = [resource for resource in resources if resource.plural not in objects.hidden]

    @asynccontextmanager
    async def subscribe() -> AsyncIterator[Subscription]:
        subscription = Subscription()
        following = partial(follow, viewer.client, key, readable, subscription.changed)
        task = context.group.create_task(run_guarded(following))
        try:
            yield subscription
        finally:
            task.cancel()

    return change_events(subscribe, lambda: viewer.page_seconds.get("clusters", 0.0))


async def show_object(
    context: PageContext, group: str, version: str, plural: str, namespace: str, name: str
) -> WebResponse:
    """Show one object as YAML. The group of core kinds is `core`, cluster-scoped objects have the
    namespace `-`. Secrets are not shown."""
    if plural.partition(".")[0] == "secrets":
        raise WebError(403, "the pages show no Secrets: use kubectl")
    group = "" if group == "core" else group
    api_version = f"{group}/{version}" if group else version
    served = await context.viewer.kinds.served(api_version)
    resource = next((resource for resource in served if resource.plural == plural), None)
    if resource is None:
        raise NotFound(f"the server has no {plural} in {api_version}")
    namespace = "" if namespace == "-" else namespace
    document = await context.viewer.client.get(resource, _key(namespace, name))
    return await context.page(
        "object.html",
        title=f"{resource.kind} {name}",
        document=document,
        documents=[document],
        compute_values=partial(_yaml_of, document),
        conditions=conditions_of(document, context.now),
        cluster_url=_cluster_url(document),
        owners=_owners(document),
    )


def object_url(document: Document) -> str:
    """Return the URL of an object's page. The plural is derived from the kind, as Cluster API
    requires."""
    group, _, version = str(document["apiVersion"]).rpartition("/")
    metadata = document["metadata"]
    resource = plural(str(document["kind"]).lower())
    place = (group or "core", version, resource, metadata.get("namespace") or "-", metadata["name"])
    return f"{PREFIX}/objects/{'/'.join(quote(part, safe='') for part in place)}"


def kubeconfig_command(key: Key, flags: str) -> str:
    """Return the command that prints the kubeconfig of a cluster."""
    words = ["kapy", "get", "kubeconfig", key.name, "-n", key.namespace]
    return f"{shlex.join(words)}{flags} > {shlex.quote(f'{key.name}.kubeconfig')}"


def _cluster_url(document: Document) -> str:
    """Return the page of the cluster that an object belongs to, "" for none."""
    label = text_at(document, "metadata", "labels", NAME_LABEL)
    name = name_of(document) if document["kind"] == "Cluster" else label
    namespace = text_at(document, "metadata", "namespace")
    return cluster_url(Key(namespace, name)) if name and namespace else ""


def _owners(document: Document) -> list[tuple[str, str]]:
    namespace = document["metadata"].get("namespace")
    owners = document["metadata"].get("ownerReferences") or ()
    return [
        (
            f"{owner['kind']} {owner['name']}",
            object_url({**owner, "metadata": {"namespace": namespace, "name": owner["name"]}}),
        )
        for owner in owners
    ]


def _key(namespace: str, name: str) -> Key:
    if len(namespace) > MAX_NAME or not 0 < len(name) <= MAX_NAME or "/" in namespace + name:
        raise WebError(404, "there is no object of this name")
    return Key(namespace, name)
