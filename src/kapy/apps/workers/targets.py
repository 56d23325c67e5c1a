"""The names of targets and notices between a plane and a worker."""

from __future__ import annotations

from typing import Final

API: Final = "api"
CONFIGURATION: Final = "configuration"
HOOK: Final = "hook"
DIAL: Final = "dial"
DIALED: Final = "dialed/"
EXPIRY: Final = "expiry"
"""Targets in the plane: the API server; the worker's configuration; a runtime extension; a new
connection to a simulated cluster, which has a handle; such a connection, by its handle; the end of
the validity of an API server's certificate."""
METRICS: Final = "metrics"
"""The target in a worker."""

READY: Final = "ready"
LOG: Final = "log"
HANG_UP: Final = "hang-up"
"""Notices of a worker: its caches are filled, with its process id; a log record; the handle of a
connection that it does not need any more."""
SERVER: Final = "server"
PUBLISHED: Final = "published"
PROBE: Final = "probe"
"""Notices of the plane: the URL of a simulated cluster, and whether it exists; the address of a
load balancer, and where it is published; a cluster whose API server may have begun or ceased to
answer."""
