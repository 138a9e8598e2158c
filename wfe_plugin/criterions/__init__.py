"""Training criteria: the WFE loss, and unlikelihood."""
