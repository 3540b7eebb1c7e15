"""What the API server warns of in an object that it accepts: old fields, and what does not do what it seems to.

The sentences are a real server's; clients get them in `Warning` headers, kubectl prints them.
"""

from twin.advice.kinds import advice_of

__all__ = ["advice_of"]
