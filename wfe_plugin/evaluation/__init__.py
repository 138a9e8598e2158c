"""Judging summaries: ROUGE, repetition, frequency estimates and significance."""
