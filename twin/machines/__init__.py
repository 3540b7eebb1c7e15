"""Machines that come and go: what can be rented, at which price and power, and the cloud that grants it."""

from __future__ import annotations

from twin.machines.catalogue import Catalogue, Offering, catalogue_of

__all__ = ["Catalogue", "Offering", "catalogue_of"]
