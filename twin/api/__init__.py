"""The API face of the embedded cluster: the Kubernetes API subset that we use, over the engine's
store.

`Router` is a pure, synchronous function from request to response; the HTTP server and the
in-process adapter share it, so both speak the same API.
"""
