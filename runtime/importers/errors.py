"""Why a network cannot be imported."""

from __future__ import annotations


class NetworkImportError(RuntimeError):
    """The network, or what the compiler made of it, has no faithful form as a model file."""


class CompilerUnavailableError(NetworkImportError):
    """The compiler is not installed, or is a release that the importer does not know."""
