#!/usr/bin/env python3
"""Compare the demo's two systems: ROUGE, repetition and some outputs."""

import argparse
from collections import Counter
from pathlib import Path

from wfe_plugin.evaluation.repetition import repetition
from wfe_plugin.evaluation.rouge import rouge
from wfe_plugin.evaluation.significance import paired_bootstrap

METRICS = ("rouge-1", "rouge-2", "rouge-l")


def repeats(text: str) -> bool:
    return any(count > 1 for count in Counter(text.split()).values())


def mark_repeats(text: str) -> str:
    """Put _underscores_ around words that were said before."""
    seen, marked = set(), []
    for word in text.split():
        marked.append(f"_{word}_" if word in seen else word)
        seen.add(word)
    return " ".join(marked)


def table(systems, references) -> str:
    """ROUGE F1 and repetition of each system, and repetition of the references."""
    lines = [f"{'':12}{'ROUGE-1':>9}{'ROUGE-2':>9}{'ROUGE-L':>9}{'repeat a word':>16}{'a bigram':>10}{'words':>8}"]
    results = {name: rouge(outputs, [[reference] for reference in references]) for name, outputs in systems.items()}
    for name, outputs in {**systems, "references": references}.items():
        scores = f"{'':27}"
        if name in results:
            scores = "".join(f"{results[name].headline(m).value:9.2f}" for m in METRICS)
        rates = repetition(outputs)
        lines.append(f"{name:12}{scores}{rates.any_word:14.1f} %{rates.bigram:8.1f} %{rates.mean_length:8.1f}")
    baseline, wfe = results.values()
    lines.append("")
    for metric in METRICS:
        test = paired_bootstrap(
            wfe.headline_sentence_scores(metric),
            baseline.headline_sentence_scores(metric),
        )
        lines.append(
            f"{metric.upper()}: {test.difference:+.2f} with WFE (95 % interval {test.low:+.2f} to {test.high:+.2f})"
        )
    lines.append(f"ROUGE F1 by {wfe.implementation}.")
    return "\n".join(lines)


def examples(articles, references, baseline, wfe) -> str:
    """Some articles where EncDec repeats itself, and one with a rightful repeat."""
    rows = list(zip(articles, references, baseline, wfe))
    chosen = [row for row in rows if repeats(row[2]) and not repeats(row[1]) and not repeats(row[3])][:3]
    chosen += [row for row in rows if repeats(row[1]) and repeats(row[3])][:1]
    lines = []
    for article, reference, encdec, bounded in chosen:
        lines += [
            f"article:    {article}",
            f"reference:  {mark_repeats(reference)}",
            f"EncDec:     {mark_repeats(encdec)}",
            f"EncDec+WFE: {mark_repeats(bounded)}",
            "",
        ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("articles", "references", "baseline", "wfe"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    files = vars(parser.parse_args())
    texts = {name: path.read_text(encoding="utf-8").splitlines() for name, path in files.items()}
    systems = {"EncDec": texts["baseline"], "EncDec+WFE": texts["wfe"]}
    print(f"\nTest set: {len(texts['references'])} SYNTHETIC pairs, beam 5\n")
    print(table(systems, texts["references"]))
    print("\nOutputs (words said before are _marked_):\n")
    print(examples(*texts.values()))


if __name__ == "__main__":
    main()
