"""Tasks; fairseq imports every file of this folder."""

import wfe_plugin

wfe_plugin.register()  # this is how `--user-dir` reaches it
