"""Training criteria: the WFE loss, unlikelihood, and minimum risk."""
