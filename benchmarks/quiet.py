"""Call before fairseq is imported, which has much to say."""

import logging
import warnings


def silence_fairseq() -> None:
    """No advice on packages that nobody uses here, and none on the old interface of hydra that fairseq calls."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore", UserWarning)
