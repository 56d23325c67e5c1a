"""Requests that only a Pod's kubelet can answer: logs, exec and port-forward."""
