"""Word-frequency estimation (WFE) for fairseq: summaries that do not repeat themselves.

Importing this package registers its task, models and criterion with fairseq, and
lets torch's safe unpickler load fairseq's checkpoints.
"""

from wfe_plugin import safe_loading
from wfe_plugin.criterions import nll_wfe  # noqa: F401  (registers)
from wfe_plugin.models import wfe_lstm  # noqa: F401  (registers)
from wfe_plugin.tasks import summarization_wfe  # noqa: F401  (registers)

safe_loading.allow_fairseq_checkpoints()
