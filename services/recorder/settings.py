"""Settings of the recorder."""

from __future__ import annotations

from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from schemas.model import DataModel

FOLDER_VARIABLE = "FORESAIL_RECORDINGS"
"""Environment variable that names the folder instead of the settings: where a container has its volume."""


class RecorderSettings(DataModel):
    """Sealed recordings of the whole log, one after another, and what becomes of them."""

    folder: str | None = None
    """Folder of the recordings, made if needed; unset: nothing is recorded this way."""
    bucket: str | None = None
    """Where sealed recordings are copied to, as `s3://BUCKET/PREFIX`, with the keys of `AWS_ACCESS_KEY_ID` and
    `AWS_SECRET_ACCESS_KEY` (or what else the machine gives it); unset: nowhere."""
    bucket_endpoint: str | None = None
    """Address of an S3-compatible server that is not Amazon's, such as `https://minio.example:9000`."""
    bucket_region: str = "us-east-1"
    """Region of the bucket."""
    roll_seconds: float = Field(default=3600.0, ge=1, le=86_400)
    """Recorded time that one recording covers; it begins and ends at multiples of it, in UTC."""
    max_age_seconds: float = Field(default=30 * 86_400.0, ge=60)
    """Age after which a recording is removed from the folder; where a bucket is set, only once it is there, too."""
    max_bytes: int = Field(default=20 * 1024**3, ge=1024**2)
    """Bytes of all recordings in the folder; above, the oldest are removed, uploaded or not."""
    least_free_bytes: int = Field(default=256 * 1024**2, ge=0)
    """Free space that is left on the folder's disk: with less, recording waits, so that the log goes on."""
    retry_seconds: float = Field(default=30.0, gt=0, le=3600)
    """Wall time after which a full disk is tried again, and at most between two tries of an upload."""

    @model_validator(mode="after")
    def _check_bucket(self) -> Self:
        if self.bucket is not None and self.folder is None:
            raise ValueError("a bucket needs folder, where recordings are made")
        if self.bucket is not None:
            parts = urlsplit(self.bucket)
            if parts.scheme != "s3" or not parts.netloc:
                raise ValueError("write bucket as s3://BUCKET or s3://BUCKET/PREFIX")
        if self.bucket_endpoint is not None:
            parts = urlsplit(self.bucket_endpoint)
            if parts.scheme not in {"http", "https"} or not parts.netloc:
                raise ValueError("write bucket_endpoint as http://HOST:PORT or https://HOST")
        return self
