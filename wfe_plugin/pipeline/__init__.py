"""From text pairs to scored summaries: the Python side of the top-level scripts."""
