"""ExtensionConfig: a server of runtime extensions.

This controller discovers the handlers of each server when its ExtensionConfig is new or changed and
when this program starts, and writes them into the status, which `kapy.hooks.registry` reads. Before
that it injects a CA from a Secret. A server that does not answer is retried without delaying
others; its former handlers stay registered.
"""
