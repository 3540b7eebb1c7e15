"""TLS on loopback: a certificate authority of the twin's own, and a server certificate from it.

kubectl and every other client-go program send a bearer token only over TLS. The authority lives as
long as the twin's folder, so the kubeconfig files of an earlier start stay valid; the server
certificate is made anew at each start for the addresses that are listened on.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from twin.api.tokens import write_secret

VALID = timedelta(days=3_650)
AUTHORITY_FILE = "twin-ca.pem"
SERVER_FILE = "twin-server.pem"
SIGNING_FILE = "twin-accounts.pem"
LOCAL = ("127.0.0.1", "::1", "localhost")
"""Names that every server certificate holds."""


@dataclass(frozen=True, slots=True)
class Authority:
    """A key and its own certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def pem(self) -> bytes:
        """The certificate that clients trust."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a server needs, and what its clients do."""

    server_file: Path
    """Key and certificate in one PEM file that only its owner can read."""
    authority_pem: bytes
    signing_key: ec.EllipticCurvePrivateKey
    """By which tokens of service accounts are signed."""


def prepare(folder: Path, names: Iterable[str], wall_seconds: float, *, keep: bool) -> Credentials:
    """Write a server certificate for host names and addresses into `folder`.

    With `keep` the authority of an earlier start in the same folder is reused.
    """
    now = datetime.fromtimestamp(wall_seconds, UTC)
    path = folder / AUTHORITY_FILE
    authority = _read_authority(path, now) if keep else None
    if authority is None:
        authority = _authority(now)
        write_secret(path, _private_pem(authority.key) + authority.pem)
    server = folder / SERVER_FILE
    write_secret(server, _issue_certificate(authority, (*LOCAL, *names), now))
    return Credentials(server, authority.pem, _signing_key(folder / SIGNING_FILE, keep=keep))


def _signing_key(path: Path, *, keep: bool) -> ec.EllipticCurvePrivateKey:
    """Return the key of tokens; with `keep` that of an earlier start, so that its tokens live on."""
    if keep and path.is_file():
        with suppress(ValueError, TypeError, UnsupportedAlgorithm):
            key = serialization.load_pem_private_key(path.read_bytes(), None)
            if isinstance(key, ec.EllipticCurvePrivateKey):
                return key
    key = ec.generate_private_key(ec.SECP256R1())
    write_secret(path, _private_pem(key))
    return key


def _authority(now: datetime) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "foresail-twin-ca")])
    made = (
        _certificate_builder(name, name, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return Authority(key, made.sign(key, hashes.SHA256()))


def _issue_certificate(authority: Authority, names: Iterable[str], now: datetime) -> bytes:
    """Return key and certificate of a server."""
    key = ec.generate_private_key(ec.SECP256R1())
    alternatives = [_alternative_name(name) for name in dict.fromkeys(names)]
    usage = ExtendedKeyUsageOID.SERVER_AUTH
    made = _end_builder(authority, "foresail-twin", key, usage, now).add_extension(
        x509.SubjectAlternativeName(alternatives), critical=False
    )
    return _signed_pem(authority, key, made)


def _end_builder(
    authority: Authority,
    name: str,
    key: ec.EllipticCurvePrivateKey,
    usage: x509.ObjectIdentifier,
    now: datetime,
) -> x509.CertificateBuilder:
    """Return a certificate that is none of an authority, not yet signed."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    return (
        _certificate_builder(subject, authority.certificate.subject, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(signer, critical=False)
    )


def _signed_pem(
    authority: Authority, key: ec.EllipticCurvePrivateKey, made: x509.CertificateBuilder
) -> bytes:
    signed = made.sign(authority.key, hashes.SHA256())
    return _private_pem(key) + signed.public_bytes(serialization.Encoding.PEM)


def _certificate_builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))  # clocks of containers differ a little
        .not_valid_after(now + VALID)
    )


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _read_authority(path: Path, now: datetime) -> Authority | None:
    """Return a kept authority; None for none, a damaged one, or one that has run out."""
    try:
        data = path.read_bytes()
        key = serialization.load_pem_private_key(data, None)
        certificate = x509.load_pem_x509_certificate(data)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm):
        return None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        return None
    return Authority(key, certificate) if certificate.not_valid_after_utc > now else None
