"""An extension that answers a version of a hook that goes away is told of by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

from kapy.api.extension_config import (
    ClientConfig,
    ExtensionConfig,
    ExtensionConfigSpec,
    ExtensionHandler,
    GroupVersionHook,
)
from kapy.conditions.lookup import get, message_of
from kapy.core.extensionconfig.reconcile import ConfigScope, update_status
from kapy.hooks.catalog import Catalog
from kapy.hooks.hook import Deprecation
from kapy.hooks.messages.lifecycle import BEFORE_CLUSTER_CREATE, BEFORE_CLUSTER_DELETE

GOING = Deprecation("v1beta1", "v1.15", "2026-11-30", "v1.17", "2027-11-30")
CATALOG = Catalog([replace(BEFORE_CLUSTER_CREATE, deprecation=GOING), BEFORE_CLUSTER_DELETE])
TYPE = "HookVersionsUpToDate"


@dataclass
class Caller:
    """A stand-in for the dependencies of a reconcile, with the parts that the status reads."""

    catalog: Catalog

    @property
    def caller(self) -> Caller:
        return self


@dataclass
class Draft:
    object: ExtensionConfig


def handler(name: str, hook: Any) -> ExtensionHandler:
    version = GroupVersionHook(api_version=hook.api_version, hook=hook.name)
    return ExtensionHandler(name=name, request_hook=version)


def test_a_condition_names_handler_replacement_and_last_release() -> None:
    config = ExtensionConfig(spec=ExtensionConfigSpec(client_config=ClientConfig()))
    now = datetime(2026, 1, 1, tzinfo=UTC)
    scope = ConfigScope(cast(Any, Caller(CATALOG)), cast(Any, Draft(config)), now)
    deleted_handler = handler("delete.ext", BEFORE_CLUSTER_DELETE)
    config.status.handlers = [handler("create.ext", BEFORE_CLUSTER_CREATE), deleted_handler]
    update_status(scope)
    assert message_of(config.status.conditions, TYPE) == (
        "* handler create.ext answers BeforeClusterCreate of "
        "hooks.runtime.cluster.x-k8s.io/v1alpha1, which is deprecated since v1.15: use v1beta1 "
        "instead; v1.17 is the last release that calls it"
    )
    config.status.handlers = [deleted_handler]
    update_status(scope)
    assert get(config.status.conditions, TYPE) is None
