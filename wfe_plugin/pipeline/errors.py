"""The error for what a user can cause and repair."""


class PipelineError(ValueError):
    """Something that the user can repair; the message says what."""
