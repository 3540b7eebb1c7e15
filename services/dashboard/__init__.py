"""Dashboard: one page that shows the six layers live, and why each decision was made.

Reads:     every stored event of its cluster, from a few thousand events ago to the live tail.
Publishes: nothing; it only subscribes, and answers GET and HEAD alone.
Keeps:     the page's state in memory, bounded; a restart reads it again from the log.
Touches:   nothing but one listening socket, on loopback unless told otherwise.
"""
