"""The report of an experiment: one self-contained HTML page, and its Markdown twin."""
