"""Training criteria with a WFE loss."""
