"""Models with a WFE head, and the other systems of the paper's Table 3; fairseq imports every file of this folder."""

import wfe_plugin

wfe_plugin.register()  # this is how `--user-dir` reaches it
