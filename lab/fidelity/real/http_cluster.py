"""A real API server, asked over one connection that is kept open."""

from __future__ import annotations

import http.client
import json
import ssl

from lab.fidelity.cluster import JSON, Object

TIMEOUT_SECONDS = 20.0


class HttpCluster:
    """Asks an API server on loopback whose certificate is its own."""

    def __init__(self, port: int, token: str) -> None:
        """Connect with the first request."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False  # the server on loopback signs for itself
        context.verify_mode = ssl.CERT_NONE
        self._connection = http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=TIMEOUT_SECONDS, context=context
        )
        self._token = token

    def request(
        self, method: str, path: str, body: Object | None = None, content_type: str = JSON
    ) -> tuple[int, Object]:
        """Send one request; see `Cluster.request`. Asks once more when the connection was cut."""
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Accept": JSON,
            "Content-Type": content_type,
        }
        text = None if body is None else json.dumps(body)
        try:
            self._connection.request(method, path, text, headers)
            response = self._connection.getresponse()
        except (http.client.HTTPException, ConnectionError):
            self._connection.close()
            self._connection.request(method, path, text, headers)
            response = self._connection.getresponse()
        raw = response.read()
        try:
            answer = json.loads(raw)
        except ValueError:
            answer = {"message": raw.decode(errors="replace")}
        return response.status, answer

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()
