"""Word-frequency estimation (WFE) for fairseq: summaries that do not repeat themselves."""
