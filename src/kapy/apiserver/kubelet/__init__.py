"""Requests that only a Pod's kubelet can answer: logs, exec, attach and port-forward."""
