"""An S3-compatible bucket of recordings: the only file that knows obstore, which is in the extra `s3`."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bus.errors import ConfigError, Temporary

INSTALL = "install the extra: pip install 'foresail[s3]'"
CONNECT_SECONDS = 10
ANSWER_SECONDS = 120
"""How long one request may take; an hour of a large cluster is some tens of megabytes."""
_ANSWER = re.compile(r"<Code>(?P<code>[^<]{1,80})</Code>\s*(<Message>(?P<text>[^<]{1,160}))?")
_STATUS = re.compile(r"status code: (\d{3}[^:]{0,40})")


class BucketUnavailable(Temporary):
    """The bucket did not do what it was asked; trying again may help."""


class Bucket:
    """One bucket and prefix."""

    def __init__(
        self, address: str, *, endpoint: str | None = None, region: str = "us-east-1"
    ) -> None:
        """Name it; nothing is asked of it yet.

        Args:
            address: `s3://BUCKET/PREFIX`.
            endpoint: a server that is not Amazon's.
            region: of the bucket.

        Raises:
            ConfigError: the library is missing, or what the environment says of the bucket cannot be.
        """
        try:
            import obstore  # noqa: PLC0415 - only who has a bucket needs the library
            from obstore.exceptions import BaseError  # noqa: PLC0415
            from obstore.store import S3Store  # noqa: PLC0415
        except ImportError as error:
            raise ConfigError("recorder.bucket", address, INSTALL) from error
        parts = urlsplit(address)
        plain = endpoint is not None and endpoint.startswith("http://")
        options: dict[str, Any] = {"region": region}
        if endpoint is not None:
            options["endpoint"] = endpoint
        self.address = address
        self._api = obstore
        self._errors = (BaseError, OSError, ValueError)
        try:
            self._store = S3Store(
                parts.netloc,
                prefix=parts.path.strip("/") or None,
                client_options={
                    "allow_http": plain,
                    "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
                    "timeout": timedelta(seconds=ANSWER_SECONDS),
                },
                retry_config={"max_retries": 1},
                **options,
            )
        except self._errors as error:
            raise ConfigError("recorder.bucket", address, _short_error(error)) from error

    async def sizes(self) -> dict[str, int]:
        """Return the bytes of each file by name.

        Raises:
            BucketUnavailable: it cannot be listed.
        """
        try:
            files = await self._api.list(self._store).collect_async()
        except self._errors as error:
            raise BucketUnavailable(f"{self.address}: {_short_error(error)}") from error
        return {file["path"]: file["size"] for file in files}

    async def upload(self, file: Path) -> None:
        """Store a file under its name.

        Raises:
            BucketUnavailable: it was not stored.
            OSError: the file cannot be read.
        """
        content = await asyncio.to_thread(file.read_bytes)
        try:
            await self._api.put_async(self._store, file.name, content)
        except self._errors as error:
            raise BucketUnavailable(f"{self.address}: {_short_error(error)}") from error

    async def download(self, name: str, target: Path) -> None:
        """Write a stored file to `target`.

        Raises:
            BucketUnavailable: it cannot be read.
            OSError: the target cannot be written.
        """
        try:
            answer = await self._api.get_async(self._store, name)
            content = bytes(await answer.bytes_async())
        except self._errors as error:
            raise BucketUnavailable(f"{self.address}: {_short_error(error)}") from error
        await asyncio.to_thread(target.write_bytes, content)


def _short_error(error: Exception) -> str:
    """Return what a server or the network said, on one line, without the address and its signature."""
    text = str(error)
    answer, status = _ANSWER.search(text), _STATUS.search(text)
    if answer is not None:
        said = answer["code"] + (f": {answer['text']}" if answer["text"] else "")
        return f"{status[1].strip()} {said}" if status else said
    if status is not None:
        return status[1].strip()
    for cause in ("Connection refused", "timed out", "dns error", "No such file"):
        if cause.lower() in text.lower():
            return cause.lower()
    return " ".join(text.split("\n", 1)[0].split())[:160]
