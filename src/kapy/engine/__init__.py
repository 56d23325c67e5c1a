"""Controller runtime: watches, caches, queues, controllers. Knows objects by key."""
