"""Word-frequency estimation (WFE) for fairseq: summaries that do not repeat themselves.

Importing this package registers its task, models and criteria with fairseq, and
lets torch's safe unpickler load fairseq's checkpoints, which are written as a whole or not at
all; in fairseq's commands, errors that a user can repair are shown as one line. The method and the evaluation
can be used where there is no fairseq.
"""

import importlib.util
import logging
import pkgutil


def _register_with_fairseq() -> None:
    from wfe_plugin import models, plain_errors, safe_loading, safe_saving
    from wfe_plugin.criterions import mrt, nll_unlikelihood, nll_wfe  # noqa: F401
    from wfe_plugin.optim import torch_adam  # noqa: F401
    from wfe_plugin.tasks import summarization_wfe  # noqa: F401

    # All of that folder, as fairseq's commands do.
    for module in pkgutil.iter_modules(models.__path__):
        importlib.import_module(f"{models.__name__}.{module.name}")
    safe_loading.allow_fairseq_checkpoints()
    safe_loading.read_options_of_checkpoints()
    safe_saving.write_whole_checkpoints()
    plain_errors.install()


if importlib.util.find_spec("fairseq") is not None:
    _disabled = logging.root.manager.disable
    logging.disable(logging.INFO)  # advice of fairseq on packages that we do not use
    try:
        _register_with_fairseq()
    finally:
        logging.disable(_disabled)
