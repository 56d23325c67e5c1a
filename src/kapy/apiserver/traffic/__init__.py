"""What goes in and out of one server, counted for `/metrics` and bounded.

Everything is counted in plain numbers while requests are answered (`counts`, `hooks`); a scrape
turns them into families with kube-apiserver's names (`families`). `inflight` is the bound.
"""
