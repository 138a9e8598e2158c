"""Plain text for wfe-preprocess."""

from pathlib import Path

WORDS = "the bank of japan said it will buy more bonds next year to help small firms grow".split()


def sentences(count, length, seed):
    """Different word sequences without any randomness."""
    return [" ".join(WORDS[(seed + i * (j + 3) + j * j) % len(WORDS)] for j in range(length)) for i in range(count)]


def write_sets(directory, sizes=(("train", 60), ("valid", 8), ("test", 7))):
    directory.mkdir(parents=True, exist_ok=True)
    for seed, (name, count) in enumerate(sizes):
        Path(directory, f"{name}.article").write_text("\n".join(sentences(count, 12, seed)) + "\n")
        Path(directory, f"{name}.title").write_text("\n".join(sentences(count, 5, seed + 7)) + "\n")
    return directory


def options(directory, out, *more):
    """Arguments of wfe-preprocess for these sets."""
    sets = [item for name in ("train", "valid", "test") for item in (f"--{name}", str(directory / name))]
    return [*sets, "--out", str(out), *more]
