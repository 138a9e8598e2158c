"""Errors in the words for a user."""

from wfe_plugin.errors import UserError

PipelineError = UserError


def told(error: Exception) -> str:
    """An error in the words for a user; without Python's "[Errno 2]"."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)
