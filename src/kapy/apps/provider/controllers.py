"""Adds the controllers of a custom provider to a runtime."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from kapy._aio.services import Service
from kapy.engine.runtime import Runtime
from kapy.kube.errors import KapyError
from kapy.sdk.provider import Provider

_log = logging.getLogger(__name__)


class CannotAdd(KapyError):
    """The provider's own code failed while its controllers were added."""


def add_provider(provider: Provider, runtime: Runtime) -> Mapping[str, Service]:
    """Add the controllers; returns the services to run beside them. Raises CannotAdd."""
    try:
        return {f"{provider.label}: {key}": item for key, item in _services(provider, runtime)}
    except KapyError:
        raise
    except Exception as error:
        _log.debug("add_to of %s failed", provider.label, exc_info=True)
        raise CannotAdd(
            f"the controllers of {provider.label} cannot be added: its add_to raised "
            f"{type(error).__name__}: {error}"
        ) from error


def _services(provider: Provider, runtime: Runtime) -> list[tuple[str, Service]]:
    return list((provider.add_to(runtime) or {}).items())
