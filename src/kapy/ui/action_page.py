"""Pages of actions: show the plan and the command of an action, then execute it by a form."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.kube import Document, Key
from kapy.kube.digits import parse_digits
from kapy.kube.errors import KapyError
from kapy.kube.patch.merge_patch import apply as apply_merge_patch
from kapy.ui.actions import MOST_REPLICAS, Action, actions_of
from kapy.ui.objects import ClusterObjects, read_cluster
from kapy.ui.page import PageContext
from kapy.ui.web import WebError, WebResponse, cluster_url, redirect

MOST_OFFERED: Final = 300
"""Actions that a page offers: those of the cluster first, then those of its Machines."""


async def allowed_actions(context: PageContext, objects: ClusterObjects) -> list[Action]:
    """Return the actions that the session asks for and the rights of the viewer allow."""
    if not context.session.allow_actions:
        return []
    actions = actions_of(objects, context.now)[:MOST_OFFERED]
    rights = context.viewer.rights
    answers = await bounded_gather([partial(rights.has, action.right) for action in actions])
    return [action for action, is_allowed in zip(actions, answers, strict=True) if is_allowed]


async def preview_action(context: PageContext, namespace: str, name: str) -> WebResponse:
    """Return the page with the plan and the command of an action."""
    key = Key(namespace, name)
    action, number = await _chosen_action(context, key, context.request.query)
    document, text, problem = dict[str, Any](), "", ""
    client, planned = context.viewer.client, [_planned_object(action, number)]
    if (plan := context.options.plan) is not None:
        try:
            document, text = await plan(client, planned, namespace, deletes=action.is_deletion)
        except KapyError as error:
            problem = f"The plan cannot be computed: {error}"
    return await context.page(
        "action.html",
        title=action.title,
        key=key,
        action=action,
        number=number,
        plan=document,
        plan_text=text,
        problem=problem,
        command=action.command(number, context.session.kubeconfig.flags("--context")),
    )


async def do_action(context: PageContext, namespace: str, name: str) -> WebResponse:
    """Execute the action of a form, unless the previewed object was replaced meanwhile."""
    key = Key(namespace, name)
    action, number = await _chosen_action(context, key, context.request.form)
    uid = context.request.form.get("uid", "")
    if uid != action.document["metadata"]["uid"]:
        raise WebError(409, "the object was replaced meanwhile: look at its new plan first")
    client = context.viewer.client
    if action.is_deletion:
        await client.delete(action.resource, action.key, uid=uid)
    else:
        # A patch replaces a list: concurrent changes of it must not be lost.
        version = context.request.form.get("version", "")
        patch = action.patch_for(number)
        metadata = {**patch.get("metadata", {}), "uid": uid, "resourceVersion": version}
        await client.patch(action.resource, action.key, {**patch, "metadata": metadata})
    return redirect(cluster_url(key))


async def _chosen_action(
    context: PageContext, key: Key, values: Mapping[str, str]
) -> tuple[Action, int | None]:
    """Return the action that a query or form names, if it is possible and allowed. Raises
    WebError.
    """
    if not context.session.allow_actions:
        raise WebError(403, "this session is read-only: `kapy ui --allow-actions` prints a link")
    objects = await read_cluster(context.viewer, key, show_all=True)
    actions = {action.id: action for action in actions_of(objects, context.now)}
    action = actions.get(values.get("action", ""))
    if action is None:
        raise WebError(409, "this action is not possible (any more): look at the cluster again")
    if not await context.viewer.rights.has(action.right):
        raise WebError(403, f"your rights do not allow this: {action.right.verb} {action.key}")
    return action, _number(action, values.get("number", ""))


def _number(action: Action, text: str) -> int | None:
    if action.number is None:
        return None
    number = parse_digits(text)
    if number is None or number > MOST_REPLICAS:
        raise WebError(400, f"replicas is {text[:20]!r}; give a number up to {MOST_REPLICAS}")
    return number


def _planned_object(action: Action, number: int | None) -> Document:
    """Return the object after the action, without fields that the server sets."""
    document: Document = action.document
    if not action.is_deletion:
        document = apply_merge_patch(document, action.patch_for(number))
    left_out = ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation")
    metadata = {key: value for key, value in document["metadata"].items() if key not in left_out}
    return {**{k: v for k, v in document.items() if k != "status"}, "metadata": metadata}
