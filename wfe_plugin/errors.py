"""The one kind of error that is meant for users."""


class UserError(ValueError, RuntimeError):
    """A mistake that the user can repair: the message says what is wrong and what to do.

    Raised where the mistake is known. Commands show it as one line; every other exception
    is a bug and keeps its traceback. (A RuntimeError as well: for all others that leave an
    epoch, fairseq-train writes a crash.pt as large as a checkpoint.)
    """
