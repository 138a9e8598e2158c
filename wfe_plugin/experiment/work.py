"""Sharing items among workers, one process for each model, and telling how far they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from wfe_plugin.experiment.commands import Command, cores, run_all, threads_each
from wfe_plugin.experiment.plan import slug
from wfe_plugin.experiment.progress import say
from wfe_plugin.experiment.worker import step_of
from wfe_plugin.whole_files import write_json


def shares(items: Sequence[dict], at_once: int) -> list[list[dict]]:
    """Items by model; where there are fewer models than workers, the largest shares are cut in two."""
    by_model: dict[str, list[dict]] = {}
    for item in items:
        by_model.setdefault(item["model"], []).append(item)
    found = list(by_model.values())
    while found and len(found) < at_once and max(map(len, found)) > 1:
        largest = max(found, key=len)
        half = len(largest) // 2
        found.remove(largest)
        found += [largest[:half], largest[half:]]
    return found


def do(
    items: Sequence[dict],
    purpose: str,
    data: Path,
    out: Path,
    at_once: int = 1,
    done: Callable[[dict], None] = lambda item: None,
) -> None:
    """Let workers do all items; `done` is called for each as soon as it is done, in a thread of its own."""
    if not items:
        return
    groups = shares(items, at_once)
    threads = threads_each(at_once, len(groups))
    models = len({item["model"] for item in items})
    say(f"{purpose}: {len(items)} to do, with {models} model{'s' if models > 1 else ''}")
    folder = out / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    commands, waiting = [], {}
    for number, group in enumerate(groups, start=1):
        file = folder / f"{slug(purpose)}-{number}.json"
        write_json(file, {"data": str(data), "threads": threads, "items": group})
        command = Command(f"{purpose}, worker {number}", ["worker", str(file)], file.with_suffix(".log"))
        commands.append(command)
        waiting[command.name] = list(group)
    count = 0
    # Threads are enough for what follows, since ROUGE's work is done by Perl.
    with ThreadPoolExecutor(cores()) as pool:
        results = []

        def watch(command: Command, *_: float) -> None:
            nonlocal count
            left = waiting[command.name]  # in the order in which they are done
            while left and is_done(left[0]):
                item = left.pop(0)
                count += 1
                say(f"{purpose}: {count} of {len(items)}: {item['name']}")
                results.append(pool.submit(done, item))

        run_all(commands, at_once, watch, watch)
        for result in results:
            result.result()


def is_done(item: dict) -> bool:
    return all(step_of(one).is_finished() for one in item.get("files", [item]))
