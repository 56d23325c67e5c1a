"""Plans of YAML that somebody pastes, drops or sends with `kapy plan --open`."""

from __future__ import annotations

from typing import Any

from kapy.kube.errors import KapyError
from kapy.ui.page import PageContext
from kapy.ui.sessions import Draft
from kapy.ui.web import WebError, WebResponse


async def show_plan_form(context: PageContext) -> WebResponse:
    """Show the empty form, or the plan that the session's link brought."""
    draft = context.session.draft
    if context.request.query or draft is None:
        return await _page(context, Draft(""))
    if not draft.text:
        problem = "This change is no longer kept: run `kapy plan --open` again."
        return await _page(context, Draft(""), problem=problem)
    return await _plan(context, draft)


async def show_plan(context: PageContext) -> WebResponse:
    """Compute and show the plan of a form."""
    form = context.request.form
    text, namespace = form.get("yaml", ""), form.get("namespace", "").strip() or "default"
    if not text.strip():
        raise WebError(400, "paste the YAML of the objects that you want to apply")
    return await _plan(context, Draft(text, namespace, form.get("deletes") == "1"))


async def _plan(context: PageContext, draft: Draft) -> WebResponse:
    planner = context.options.plan
    if planner is None:
        raise WebError(404, "this server computes no plans")
    client = context.viewer.client
    try:
        plan, text = await planner(client, draft.text, draft.namespace, deletes=draft.deletes)
    except KapyError as error:
        return await _page(context, draft, problem=str(error))
    return await _page(context, draft, plan=plan, plan_text=text)


async def _page(context: PageContext, draft: Draft, **shown: Any) -> WebResponse:
    values = {"plan": None, "plan_text": "", "problem": ""} | shown
    rows = sum(len(stage["changes"]) * 5 for stage in (values["plan"] or {}).get("stages", ()))
    return await context.page("plan.html", title="Plan", rows=rows, draft=draft, **values)
