"""Cluster: one workload cluster with its infrastructure, control plane and workers.

This controller owns the referenced infrastructure and control plane, copies the endpoint and the
failure domains from them, records when each was ready for the first time (and never unsets that),
and aggregates conditions and counters. A Cluster is deleted in this order: workers, control plane,
infrastructure.
"""
