"""Word-frequency estimation (WFE) for fairseq: summaries that do not repeat themselves.

Importing this package registers its task, models and criterion with fairseq, and
lets torch's safe unpickler load fairseq's checkpoints.
"""

import logging

# On import, fairseq recommends packages that none of ours uses.
_disabled = logging.root.manager.disable
logging.disable(logging.INFO)

from wfe_plugin import safe_loading  # noqa: E402
from wfe_plugin.criterions import nll_wfe  # noqa: E402, F401  (registers)
from wfe_plugin.models import wfe_lstm  # noqa: E402, F401  (registers)
from wfe_plugin.tasks import summarization_wfe  # noqa: E402, F401  (registers)

logging.disable(_disabled)
safe_loading.allow_fairseq_checkpoints()
