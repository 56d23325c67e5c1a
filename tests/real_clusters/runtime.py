#!/usr/bin/python3
"""An OCI runtime for machines whose root lacks capabilities: what nobody can have is not asked for.

Named in KAPY_CONTAINER_RUNTIME, or the default of a container engine.
"""

import itertools
import json
import os
import resource
import sys

NAMES = [
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
]


def lacking() -> set[str]:
    """The capabilities that this process cannot have."""
    with open("/proc/self/status") as status:
        line = next(text for text in status if text.startswith("CapBnd"))
    bounds = int(line.split()[1], 16)
    return {f"CAP_{name}" for bit, name in enumerate(NAMES) if not bounds >> bit & 1}


def lower(path: str, lacks: set[str]) -> None:
    """Take them out of a specification of a container or of a process in one."""
    with open(path) as file:
        spec = json.load(file)
    process = spec.get("process", spec)
    for kind, wanted in (process.get("capabilities") or {}).items():
        process["capabilities"][kind] = [item for item in wanted if item not in lacks]
    if "CAP_SYS_RESOURCE" in lacks and (process.get("oomScoreAdj") or 0) < 0:
        process["oomScoreAdj"] = 0
    for rlimit in (process.get("rlimits") or ()) if "CAP_SYS_RESOURCE" in lacks else ():
        highest = resource.getrlimit(getattr(resource, rlimit["type"]))[1]
        if highest != resource.RLIM_INFINITY:
            rlimit["hard"] = min(rlimit["hard"], highest)
            rlimit["soft"] = min(rlimit["soft"], rlimit["hard"])
    with open(path, "w") as file:
        json.dump(spec, file)


def main(arguments: list[str]) -> None:
    """Run runc with what is left."""
    lacks = lacking()
    for flag, value in itertools.pairwise(arguments):
        if lacks and flag in ("--bundle", "-b"):
            lower(os.path.join(value, "config.json"), lacks)
        if lacks and flag in ("--process", "-p"):
            lower(value, lacks)
    os.execvp("runc", ["runc", *arguments])


main(sys.argv[1:])
