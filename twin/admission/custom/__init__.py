"""Defaults and checks of CustomResourceDefinitions, and of the objects that they define."""
