"""Cluster API infrastructure provider "hosts": machines that you own, reached over SSH."""

from kapy_hosts.provider import PROVIDER

__all__ = ["PROVIDER"]
