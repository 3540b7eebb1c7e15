"""The recorder: the whole log as one sealed recording after another, in a folder and, if wanted, a bucket.

Reads: every event. Publishes: `run.error.recorder` when it cannot write or upload. Keeps: nothing but its files, from
which it knows where to go on. Touches: the folder, and an S3-compatible bucket.
"""
