"""The former name of UserError."""

from wfe_plugin.errors import UserError as EvaluationError  # noqa: F401
