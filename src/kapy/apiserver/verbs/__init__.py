"""Request handlers, one module for each group of API verbs.

Each handler is an async function. It takes the server's parts (`ServerContext`) and one request
(`RequestContext`), and returns a Reply or raises an ApiError.
"""
