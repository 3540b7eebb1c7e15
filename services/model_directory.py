"""Reading a model directory: everything is checked before anything is predicted.

```
<folder>/manifest.json    schemas.manifest.ModelManifest
<folder>/<booster files>  XGBoost UBJSON, each named with its SHA-256 in the manifest
<folder>/card.md          for people; not read here
```

A directory that does not hold what its manifest says is refused with one line that names the
file or the field, so that no prediction is ever made by a model other than the one it names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bus.errors import InputError
from inputs.limited_files import BadFile, read_limited
from schemas.manifest import ModelManifest
from services.model_folders import read_manifest

__all__ = ["FeatureCatalogue", "ModelDirectory", "check_features", "read_manifest", "read_model"]

BOOSTER_BYTES = 256 * 1024**2
"""Bytes of one booster; the largest trained here has four million."""


@dataclass(frozen=True, slots=True)
class FeatureCatalogue:
    """Content of a feature set in this version of the code: units by name."""

    version: int
    units: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """A checked model: its manifest, and the very bytes of its boosters that were checked."""

    manifest: ModelManifest
    boosters: tuple[bytes, ...]
    """One per `manifest.boosters`, in that order."""


def read_model(
    folder: Path, catalogues: Mapping[str, FeatureCatalogue] | None = None
) -> ModelDirectory:
    """Return the model in `folder`.

    Args:
        folder: the model directory.
        catalogues: the feature sets that this code can compute, by name; None checks no features.

    Raises:
        InputError: the manifest is missing, is no manifest, has another format or was edited; a
            booster's file is missing or has another hash; the feature set is unknown or has
            another version, or a feature is not in it or has another unit there.
    """
    manifest = read_manifest(folder)
    if catalogues is not None:
        check_features(manifest, catalogues)
    boosters = tuple(
        _booster(folder, manifest, booster.file, booster.sha256) for booster in manifest.boosters
    )
    return ModelDirectory(manifest, boosters)


def check_features(manifest: ModelManifest, catalogues: Mapping[str, FeatureCatalogue]) -> None:
    """Refuse a model whose inputs this code computes differently, or not at all.

    Raises:
        InputError: naming the feature set or the first feature that does not fit.
    """
    known = catalogues.get(manifest.feature_set)
    model = manifest.model_id
    if known is None:
        names = ", ".join(sorted(catalogues))
        raise InputError(f"{model} feature_set", manifest.feature_set, f"use one of: {names}")
    if manifest.feature_set_version != known.version:
        raise InputError(
            f"{model} feature_set_version",
            manifest.feature_set_version,
            f"this code computes version {known.version} of {manifest.feature_set}; "
            "train the model again",
        )
    for feature in manifest.features:
        unit = known.units.get(feature.name)
        if unit is None:
            raise InputError(
                f"{model} feature", feature.name, f"{manifest.feature_set} has no such feature"
            )
        if unit != feature.unit:
            raise InputError(
                f"{model} unit of {feature.name}", feature.unit, f"this code computes it in {unit}"
            )


def _booster(folder: Path, manifest: ModelManifest, file: str, sha256: str) -> bytes:
    field = f"{manifest.model_id} booster"
    try:
        if not (folder / file).is_file():
            raise InputError(field, file, "the file is missing, or no regular file")
        raw = read_limited(folder / file, BOOSTER_BYTES)
    except OSError as error:
        raise InputError(field, file, f"the file cannot be read ({error.strerror})") from error
    except BadFile as error:
        raise InputError(field, file, str(error)) from error
    sha256_found = hashlib.sha256(raw).hexdigest()
    if sha256_found != sha256:
        raise InputError(
            field,
            file,
            f"its SHA-256 is {sha256_found[:12]}..., the manifest says {sha256[:12]}...",
        )
    return raw
