"""Command-line entry points of the WFE plugin."""
