"""A candidate of the official client's leader election: `candidate.py NAMESPACE NAME`."""

from __future__ import annotations

import logging
import sys

from kubernetes import config
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock

space, name = sys.argv[1:]
logging.basicConfig(level=logging.INFO)
config.load_kube_config()
leaderelection.LeaderElection(
    electionconfig.Config(
        ConfigMapLock("leader", space, name),
        lease_duration=3,
        renew_deadline=2,
        retry_period=1,
        onstarted_leading=lambda: logging.info("%s leads", name),
        onstopped_leading=lambda: None,
    )
).run()
