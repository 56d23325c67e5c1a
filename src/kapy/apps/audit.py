"""The audit log of a plane."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kapy._aio.clock import Clock
from kapy.apiserver.server import Server
from kapy.apps.settings import AuditLog


@contextmanager
def write_audit_log(server: Server, audit_log: AuditLog | None, clock: Clock) -> Iterator[None]:
    """Write the audit log of a server while the context is open; the server's `run` must end before
    that.

    Raises BadPolicy and CannotWrite, with messages for users.
    """
    if audit_log is None:
        yield
        return
    from kapy.apiserver.audit.auditor import Auditor
    from kapy.apiserver.audit.log import (
        STANDARD_OUTPUT,
        LogFile,
        LogQueue,
        Rotation,
        to_standard_output,
    )
    from kapy.apiserver.audit.policy import EVERYTHING, read_policy

    policy = EVERYTHING if audit_log.policy is None else read_policy(audit_log.policy)
    counts = server.context.metrics.audit
    with ExitStack() as stack:
        write = to_standard_output
        if audit_log.path != STANDARD_OUTPUT:
            rotation = Rotation(audit_log.megabytes, audit_log.days, audit_log.backups)
            file = LogFile(Path(audit_log.path).absolute(), rotation, clock)
            stack.callback(file.close)
            write = file.write
        log = LogQueue(write, lost=counts.count_lost)
        stack.callback(log.close)
        server.audit = Auditor(policy, log, clock=clock, counts=counts, rng=server.context.rng)
        yield
