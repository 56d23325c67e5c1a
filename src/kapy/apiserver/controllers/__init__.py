"""What a server does by itself while it runs: garbage collection, and emptying namespaces."""
