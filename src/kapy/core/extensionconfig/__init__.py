"""ExtensionConfig: a server of runtime extensions.

This controller asks each server which handlers it has, when its ExtensionConfig is new or meant to
be another and when this program starts, and writes them into the status, from where
`kapy.hooks.registry` takes them. An authority that a Secret holds is injected before that. A server
that does not answer is asked again and keeps nobody else waiting; what it said before still counts.
"""
