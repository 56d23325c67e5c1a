"""The Runtime SDK: messages, catalog, caller and extension server."""
