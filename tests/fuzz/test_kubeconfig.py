"""Kubeconfig files: a client, or one ConfigError that names the file."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.errors import InputError
from services.official_client import OfficialClientTransport
from tests.fuzz.mutation import FUZZ, broken_encodings, mutated_bytes

KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "current-context": "c",
}


@FUZZ
@given(
    broken_encodings(KUBECONFIG)
    | mutated_bytes(b"clusters:\n- name: c\n  cluster: {server: x}\ncontexts: &a [*a]\n")
    | st.just(b"")
    | st.just(b"a: !!python/object:os.system x")
    | st.just(b"\xff\xfe")
)
async def test_a_kubeconfig_of_any_form(content: bytes) -> None:
    """InputError is the only refusal of a kubeconfig."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "config"
        path.write_bytes(content)
        try:
            transport = OfficialClientTransport(path)
        except InputError as error:
            assert_names(error, path)
            return
        await transport.close()


def assert_names(error: InputError, path: Path) -> None:
    """Check that the refusal is one line that names the file."""
    assert str(path) in str(error)
    assert "\n" not in str(error)


async def test_a_sound_kubeconfig_is_read(tmp_path: Path) -> None:
    """The example that the others are broken from is accepted."""
    path = tmp_path / "config"
    path.write_text(json.dumps(KUBECONFIG))
    await OfficialClientTransport(path).close()


async def test_a_missing_kubeconfig_is_named(tmp_path: Path) -> None:
    """A file that is not there is a wrong input, too."""
    with pytest.raises(InputError, match="kubeconfig"):
        OfficialClientTransport(tmp_path / "nowhere")
