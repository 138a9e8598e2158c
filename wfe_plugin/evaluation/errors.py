"""The error for what a user can cause and repair."""


class EvaluationError(ValueError):
    """Bad input or a missing tool; the message names the culprit and the remedy."""
