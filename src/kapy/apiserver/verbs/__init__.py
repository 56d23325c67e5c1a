"""Request handlers, one module for each group of API verbs.

Each handler is an async function. It takes the server's parts (`Plane`) and one request (`Ask`),
and returns a Reply or raises an ApiError.
"""
