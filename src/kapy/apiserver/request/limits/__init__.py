"""Limits of requests: how many run at the same time, and how long large ones occupy the loop."""
