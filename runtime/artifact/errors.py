"""The one error that a model file can give."""

from __future__ import annotations


class ArtifactError(ValueError):
    """A model file, or the parts of one, cannot be right. `source` names the file, `reason` says why."""

    def __init__(self, reason: str, source: str = "artifact") -> None:
        super().__init__(f"{source}: {reason}")
        self.reason = reason
        self.source = source

    def named(self, source: str) -> ArtifactError:
        """The same refusal, told of the file `source`."""
        return type(self)(self.reason, source)
