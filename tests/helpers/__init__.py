"""What several tests need: toy models, literal searches, tiny trainings, spoilt files."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # the repository
