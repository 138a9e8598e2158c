"""Word-frequency bounds for models of Hugging Face's transformers; docs/huggingface.md shows how.

Needs the extra `hf`: `pip install '.[hf]'`. Nothing here needs fairseq.
"""

import importlib.machinery
import importlib.util
import sys
import types


def replace_broken_torchaudio() -> None:
    """Let transformers do without a torchaudio that does not load.

    fairseq asks for torchaudio, and the one that pip finds is built for CUDA: beside a torch without, importing it
    fails, and with it every model of transformers. Neither needs it for text, so an empty module will do.
    """
    if importlib.util.find_spec("torchaudio") is None:
        return
    try:
        import torchaudio  # noqa: F401
    except (ImportError, OSError):
        module = types.ModuleType("torchaudio", "Empty: the installed one does not load.")
        module.__spec__ = importlib.machinery.ModuleSpec("torchaudio", loader=None)
        sys.modules["torchaudio"] = module


replace_broken_torchaudio()

from wfe_plugin.huggingface.head import FrequencyHead  # noqa: E402
from wfe_plugin.huggingface.processor import WFELogitsProcessor  # noqa: E402

__all__ = ["FrequencyHead", "WFELogitsProcessor"]
