"""What Kubernetes objects are made of, as one table with four readers.

Protobuf bodies, OpenAPI documents, server-side apply with strategic merge, and strict validation
need the same facts of the public API: each field's name, type, protobuf number, and how its list or
map merges. They are written once, in the `.txt` files beside this one (k8s.io/api 1.37), and everything
else is derived, so a kind that is added to `twin.kinds` has all four at once.
"""

from __future__ import annotations

from twin.api.schema.model import ANY, Field, Message, message, root_of

__all__ = ["ANY", "Field", "Message", "message", "root_of"]
