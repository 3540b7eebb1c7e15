"""Recordings: the log as one portable file that says its version, proves its content and opens offline.

```
frame 1   header line, message lines, trailer line
frame 2   message lines, trailer line            each frame: zstd with content checksum, at most
...                                              one second of recorded time or 1 MiB
frame n   footer line                            only in a sealed recording
```

Every line is compact JSON. A trailer holds the messages so far, the last position, the SHA-256 of
the frame's lines and a chain of all these hashes so far. A killed writer loses at most its open
frame; the whole frames before it stay readable and say that the recording is not sealed.
"""

from __future__ import annotations

from bus.recording.reader import Recording, open_recording
from bus.recording.writer import RecordingWriter

__all__ = ["Recording", "RecordingWriter", "open_recording"]
