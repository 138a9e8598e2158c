"""Tasks; fairseq imports every file of this folder, and so reaches :func:`wfe_plugin.register`."""

import wfe_plugin

wfe_plugin.register()
