#!/usr/bin/env python3
"""Compare the demo's systems: ROUGE, repetition, words that are in the article, and some outputs."""

import argparse
from pathlib import Path

from wfe_plugin.evaluation.repetition import is_content_word, repetition
from wfe_plugin.evaluation.rouge import rouge
from wfe_plugin.evaluation.significance import paired_bootstrap

METRICS = ("rouge-1", "rouge-2", "rouge-l")
EXAMPLES = 4


def content_words(text: str) -> list[str]:
    return [word for word in text.split() if is_content_word(word)]


def repeats(text: str) -> bool:
    words = content_words(text)
    return len(set(words)) < len(words)


def is_in(article: str, text: str) -> bool:
    """Whether all content words of a text are in the article."""
    return set(content_words(text)) <= set(article.split())


def mark_repeats(text: str) -> str:
    """Put _underscores_ around words that were said before."""
    seen, marked = set(), []
    for word in text.split():
        marked.append(f"_{word}_" if word in seen else word)
        seen.add(word)
    return " ".join(marked)


def table(systems: dict, references: list, articles: list) -> str:
    """ROUGE F1 and repetition of each system, and repetition of the references."""
    heads = ("ROUGE-1", "ROUGE-2", "ROUGE-L", "repeat a word", "from the article", "words")
    lines = [" " * 12 + "".join(f"{head:>{max(9, len(head) + 3)}}" for head in heads)]
    results = {name: rouge(outputs, [[reference] for reference in references]) for name, outputs in systems.items()}
    for name, outputs in {**systems, "references": references}.items():
        scores = " " * 30
        if name in results:
            scores = "".join(f"{results[name].headline(metric).value:10.2f}" for metric in METRICS)
        rates = repetition(outputs)
        grounded = 100 * sum(map(is_in, articles, outputs)) / len(outputs)
        lines.append(f"{name:12}{scores}{rates.any_word:14.1f} %{grounded:17.1f} %{rates.mean_length:9.1f}")
    baseline, *_, proposed = systems
    lines += ["", "From the article: summaries whose content words are all in it."]
    for metric in METRICS:
        test = paired_bootstrap(
            results[proposed].headline_sentence_scores(metric), results[baseline].headline_sentence_scores(metric)
        )
        interval = f"95 % interval {test.low:+.2f} to {test.high:+.2f}"
        lines.append(f"{metric.upper()}: {test.difference:+.2f} for {proposed} against {baseline} ({interval})")
    lines.append(f"ROUGE F1 by {results[baseline].implementation}.")
    return "\n".join(lines)


def choose(systems: dict, references: list, articles: list) -> list[int]:
    """Where the baseline repeats a word and the proposed system says only what is in the article."""
    baseline, *_, proposed = systems.values()
    return [
        number
        for number, article in enumerate(articles)
        if repeats(baseline[number]) and not repeats(references[number]) and is_in(article, proposed[number])
    ][:EXAMPLES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=Path, required=True)
    parser.add_argument("--references", type=Path, required=True)
    parser.add_argument(
        "--systems", nargs="+", required=True, metavar="NAME=FILE", help="baseline first, proposed last"
    )
    parser.add_argument("--explain", type=Path, required=True, help="file to write the article of the first example to")
    args = parser.parse_args()
    articles, references = (path.read_text(encoding="utf-8").splitlines() for path in (args.articles, args.references))
    pairs = (system.split("=", 1) for system in args.systems)
    systems = {name: Path(file).read_text(encoding="utf-8").splitlines() for name, file in pairs}
    names = list(systems)
    print(f"\nTest set: {len(references)} SYNTHETIC pairs, beam 5\n")
    print(table(systems, references, articles))
    chosen = choose(systems, references, articles)
    print(
        f"\nWhere {names[0]} repeats a content word, and all content words of {names[-1]} are in the article: "
        "the first examples (words said before are _marked_)\n"
        if chosen
        else f"\n{names[0]} repeats no content word where {names[-1]} keeps to the article: no examples to show."
    )
    for number in chosen:
        print(f"{'article:':12}{articles[number]}\n{'reference:':12}{mark_repeats(references[number])}")
        for name, outputs in systems.items():
            print(f"{name + ':':12}{mark_repeats(outputs[number])}")
        print()
    args.explain.write_text(articles[chosen[0] if chosen else 0] + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
