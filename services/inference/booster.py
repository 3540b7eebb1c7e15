"""XGBoost's own library, called without its Python package.

Importing the package brings scipy, pandas and scikit-learn with it: 165 MB and more than a second
in a process that needs one function. The library's C interface (xgboost.readthedocs.io, "C API")
is loaded from the same installation: 14 MB with a model, and the same numbers bit for bit (a test
compares them).
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bus.errors import InputError

Matrix = NDArray[np.float32]
MARGIN, CONTRIBUTIONS = 1, 2
"""Kinds of prediction, as the library numbers them."""
LIBRARIES = ("libxgboost.so", "libxgboost.dylib", "xgboost.dll")

_Sizes = ctypes.POINTER(ctypes.c_uint64)
_Floats = ctypes.POINTER(ctypes.c_float)


class Booster:
    """One booster, loaded to predict on one thread."""

    def __init__(self, raw: bytes, name: str) -> None:
        """Load a booster.

        Args:
            raw: the booster as UBJSON.
            name: what to call it when it is refused.

        Raises:
            InputError: the library is not installed, or it does not take these bytes.
        """
        self._library = _library()
        self._name = name
        self._handle = ctypes.c_void_p()
        self._call("XGBoosterCreate", None, ctypes.c_uint64(0), ctypes.byref(self._handle))
        self._call("XGBoosterSetParam", self._handle, b"nthread", b"1")
        size = ctypes.c_uint64(len(raw))
        self._call("XGBoosterLoadModelFromBuffer", self._handle, raw, size)
        features = ctypes.c_uint64()
        self._call("XGBoosterGetNumFeature", self._handle, ctypes.byref(features))
        self.features = features.value
        """Columns that it reads."""

    def __del__(self) -> None:
        """Free what the library holds."""
        if getattr(self, "_handle", None):
            self._library.XGBoosterFree(self._handle)

    @property
    def objective(self) -> str:
        """Its training objective, e.g. `binary:logistic`."""
        size, text = ctypes.c_uint64(), ctypes.c_char_p()
        self._call("XGBoosterSaveJsonConfig", self._handle, ctypes.byref(size), ctypes.byref(text))
        config = json.loads(text.value or b"{}")
        return str(config["learner"]["objective"]["name"])

    def margins(self, rows: Matrix) -> NDArray[np.float32]:
        """Return the sum of the trees' leaves for each row.

        Args:
            rows: (rows, features), C order; NaN is missing.
        """
        shape, dimensions, output = _Sizes(), ctypes.c_uint64(), _Floats()
        self._call(
            "XGBoosterPredictFromDense",
            self._handle,
            _array_interface(rows),
            _options(MARGIN),
            None,
            ctypes.byref(shape),
            ctypes.byref(dimensions),
            ctypes.byref(output),
        )
        return np.ctypeslib.as_array(output, (len(rows),)).copy()

    def contributions(self, rows: Matrix) -> Matrix:
        """Return (rows, features + 1): what each feature adds to the margin; the last is the bias.

        Args:
            rows: (rows, features), C order; NaN is missing.
        """
        data = ctypes.c_void_p()
        settings = json.dumps({"missing": float("nan"), "nthread": 1}).encode()
        self._call("XGDMatrixCreateFromDense", _array_interface(rows), settings, ctypes.byref(data))
        shape, dimensions, output = _Sizes(), ctypes.c_uint64(), _Floats()
        try:
            self._call(
                "XGBoosterPredictFromDMatrix",
                self._handle,
                data,
                _options(CONTRIBUTIONS),
                ctypes.byref(shape),
                ctypes.byref(dimensions),
                ctypes.byref(output),
            )
            return np.ctypeslib.as_array(output, (len(rows), rows.shape[1] + 1)).copy()
        finally:
            self._library.XGDMatrixFree(data)

    def _call(self, function: str, *arguments: object) -> None:
        if getattr(self._library, function)(*arguments) != 0:
            lines = self._library.XGBGetLastError().decode(errors="replace").splitlines()
            raise InputError(f"booster {self._name}", function, lines[0] if lines else "refused")


def _array_interface(rows: Matrix) -> bytes:
    """Return NumPy's array interface of a matrix, which the library reads in place."""
    if rows.dtype != np.float32 or not rows.flags.c_contiguous:
        raise TypeError("rows must be float32 in C order")
    place = {"data": (rows.ctypes.data, True), "shape": rows.shape, "typestr": "<f4", "version": 3}
    return json.dumps(place).encode()


@lru_cache(maxsize=2)
def _options(kind: int) -> bytes:
    whole_model = {"iteration_begin": 0, "iteration_end": 0}
    fixed = {"training": False, "missing": float("nan"), "strict_shape": False, "cache_id": 0}
    return json.dumps({"type": kind, **whole_model, **fixed}).encode()


def _open_library(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        remedy = f"it cannot be loaded ({error}); without inference.shadow_models none is needed"
        raise InputError("xgboost's library", path.name, remedy) from error


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    """Return the library of the installed package.

    Raises:
        InputError: it is not installed, or cannot be loaded.
    """
    spec = importlib.util.find_spec("xgboost")
    places: Sequence[str] = () if spec is None else spec.submodule_search_locations or ()
    for place in places:
        for name in LIBRARIES:
            path = Path(place) / "lib" / name
            if path.is_file():
                library = _open_library(path)
                library.XGBGetLastError.restype = ctypes.c_char_p
                return library
    raise InputError("xgboost", "not installed", "install it to predict with a trained model")
