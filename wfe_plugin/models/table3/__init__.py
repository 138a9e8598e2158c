"""The other systems of the paper's Table 3: ABS, RAS and lvt."""

from wfe_plugin.models.table3 import abs, lvt, ras  # noqa: F401  (which registers them)
