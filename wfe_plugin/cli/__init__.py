"""Command-line programs of the plugin."""
