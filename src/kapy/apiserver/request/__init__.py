"""Parts of a request: its parsed path and parameters, its body, and the media type of its
response.
"""
