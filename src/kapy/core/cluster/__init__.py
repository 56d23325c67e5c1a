"""Cluster: one workload cluster, made of an infrastructure, a control plane and workers.

This controller makes the referenced infrastructure and control plane the Cluster's own, takes the
endpoint and the failure domains over from them, tells when each was ready for the first time
(never taking it back), and sums up what all parts say of themselves in conditions and counters. A
Cluster goes in order: workers, control plane, infrastructure.
"""
