"""Controllers inside the server: garbage collection, namespace deletion and others."""
