"""What can be done to a resource: one module for each kind of verb.

Each verb is an async function of the server's parts (`Plane`) and one `Ask`, and answers with a
Reply or raises an ApiError.
"""
