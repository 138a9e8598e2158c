"""Random combinations of models, batches and options of decoding, none of which may break the search.

    python tests/stress/search_under_fire.py [--cases 2000] [--first 0]

Every case follows from its number. Whatever the combination, each sentence gets an output that
ends, with finite scores, within its budgets and the other options' terms. Failing cases are
printed with their number and settings; the counts tell how often each option was tried.
"""

import argparse
import math
import random
import sys
import time
import traceback
from argparse import Namespace
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Optional

TESTS = Path(__file__).resolve().parents[1]
sys.path[0:0] = [str(TESTS), str(TESTS.parent)]

import torch
from fairseq.token_generation_constraints import pack_constraints

from helpers.families import FAMILIES, toy_of
from helpers.literal_search import LiteralSearch
from helpers.toy import FIRST_WORD, FixedEstimates, toy_batch, toy_sources, toy_task
from helpers.toy import estimates as model_estimates
from wfe_plugin.errors import UserError
from wfe_plugin.models.wfe_model import ESTIMATORS

INF = float("inf")
BOS, PAD, EOS = 0, 1, 2

# Options of decoding that belong to the task, with values to try: a further one needs a line here,
# and a check in `check_hypothesis` if it promises something of the output.
TASK_OPTIONS = {
    "wfe_decoding": ["full", "full", "strict", "bound", "gate", "oracle", "off"],
    "wfe_bound_eos": [False, False, True],
    "word_cap": [0, 0, 0, 1, 2],
    "repetition_penalty": [1.0, 1.0, 1.0, 1.3, 1000.0],
    "frequency_penalty": [0.0, 0.0, 0.0, 0.7],
    "wfe_shortlist": [0, 0, 0, 1, 5, 50],
    "presence_penalty": [0.0, 0.0, 0.0, 2.0],
    "coverage_penalty": [0.0, 0.0, 0.0, 0.5],
    "gnmt_length_penalty": [None, None, None, 0.0, 1.0],
}
# Likewise, fairseq's own.
FAIRSEQ_OPTIONS = {
    "temperature": [1.0, 1.0, 0.3, 3.0],
    "unkpen": [0.0, 0.0, 5.0, -5.0],
    "lenpen": [1.0, 0.0, 2.5],
    "unnormalized": [False, True],
    "no_repeat_ngram_size": [0, 0, 1, 2, 3],
    "print_alignment": [None, None, None, "hard", "soft"],
}
SEARCHES = {
    "beam": lambda rng, case: {},
    "sampling": lambda rng, case: {"sampling": True},
    "top-k": lambda rng, case: {"sampling": True, "sampling_topk": rng.randint(1, case.vocabulary)},
    "top-p": lambda rng, case: {"sampling": True, "sampling_topp": rng.choice([0.01, 0.5, 0.9, 1.0])},
    "diverse groups": lambda rng, case: {"diverse_beam_groups": 2, "diverse_beam_strength": 0.5},
    "diversity rate": lambda rng, case: {"diversity_rate": 0.5},
    "constraints": lambda rng, case: {"constraints": rng.choice(["ordered", "unordered"])},
}
# Whose estimates a search has to live with.
HEADS = ["random", "random", "few words", "one word", "nothing", "everything", "closed gates", "extreme"]


@dataclass
class Case:
    number: int
    words: int
    models: int
    weight_scale: float
    dtype: str
    head: str
    sources: list[list[int]]
    max_len: int
    min_len: int
    beam: int
    search: str
    task: dict
    options: dict
    family: str = "lstm"
    estimator: str = "paper"
    prefix: Optional[list[list[int]]] = None  # a row a sentence, filled with PAD
    constraints: list[list[list[int]]] = field(default_factory=list)

    @property
    def vocabulary(self) -> int:
        return FIRST_WORD + self.words


def numbered(number: int) -> Case:
    return draw(random.Random(number), number)


def draw(rng: random.Random, number: int) -> Case:
    """A case; its models are random ones with a seed that follows from the number."""
    words = rng.choice([1, 2, 5, 8, 8, 8, 20, 60])
    max_len = rng.choice([0, 1, 2, 5, 8, 8, 15, 30])
    case = Case(
        number=number,
        words=words,
        models=rng.choice([1, 1, 1, 2, 3]),
        weight_scale=rng.choice([0.05, 0.5, 1.0, 3.0, 10.0]),
        dtype=rng.choice(["float32"] * 6 + ["float16", "bfloat16"]),
        head=rng.choice(HEADS),
        sources=toy_sources(rng.randint(1, 6), words, number, longest=rng.choice([1, 7, 40])),
        max_len=max_len,
        min_len=rng.randint(0, max_len) if rng.random() < 0.5 else 0,
        beam=rng.choice([1, 2, 3, 5, 10, FIRST_WORD + words]),
        search=rng.choice(list(SEARCHES) + ["beam", "beam"]),
        task={name: rng.choice(values) for name, values in TASK_OPTIONS.items()},
        options={name: rng.choice(values) for name, values in FAIRSEQ_OPTIONS.items()},
    )
    case.options.update(SEARCHES[case.search](rng, case))

    def some_words(least, most):
        return [rng.randrange(FIRST_WORD, case.vocabulary) for _ in range(rng.randint(least, most))]

    if case.search == "constraints":
        case.constraints = [[some_words(1, 3) for _ in range(rng.randint(0, 2))] for _ in case.sources]
        longest = max(sum(map(len, wishes)) for wishes in case.constraints)
        case.max_len = max(case.max_len, longest + 1)
    elif rng.random() < 0.25:
        rows = [some_words(0, 4) + [EOS] * rng.randint(0, 1) for _ in case.sources]
        width = max(1, *map(len, rows))
        case.prefix = [row + [PAD] * (width - len(row)) for row in rows]
    if rng.random() < 0.5:
        case.family = rng.choice(FAMILIES)
    if rng.random() < 0.2:
        make_comparable(case)
    elif case.head == "random":
        case.estimator = rng.choice(list(ESTIMATORS))
    adapt(case)
    return case


def make_comparable(case: Case) -> None:
    """As the paper has it: what was drawn at random is rarely so."""
    case.models, case.head, case.dtype, case.prefix, case.constraints = 1, "random", "float32", None, []
    case.weight_scale = min(case.weight_scale, 1.0)
    if case.search != "beam":
        for name in SEARCHES[case.search](random.Random(0), case):
            del case.options[name]
        case.search = "beam"
    case.options.update(temperature=1.0, unkpen=0.0)
    if case.task["wfe_decoding"] in ("oracle", "off"):
        case.task["wfe_decoding"] = "full"
    case.task.update(
        wfe_shortlist=0, wfe_bound_eos=False, repetition_penalty=1.0, frequency_penalty=0.0, presence_penalty=0.0
    )


def adapt(case: Case) -> None:
    """What fairseq itself does not promise, or cannot do, is not asked of the search."""
    case.beam = min(case.beam, case.vocabulary - 1)  # as fairseq does without telling
    off = case.task["wfe_decoding"] == "off"
    if off or case.search in ("diversity rate", "constraints"):
        case.beam = min(case.beam, case.vocabulary // 2)  # they take the best 2 * beam words
    if off:
        # fairseq's own search: only what the plugin changes in it is of interest.
        if case.search in ("diverse groups", "constraints"):
            case.search, case.constraints = "beam", []
            for name in ("diverse_beam_groups", "diverse_beam_strength", "constraints"):
                case.options.pop(name, None)
        case.prefix = None
        case.max_len = max(1, case.max_len)
        case.options["print_alignment"] = None
        case.options["no_repeat_ngram_size"] = 0 if case.min_len else case.options["no_repeat_ngram_size"]
    if off or case.constraints:
        case.task["wfe_shortlist"] = 0  # refused
    if case.search == "diverse groups":
        case.beam = max(2, case.beam - case.beam % 2)
    # Larger than any output it would be refused.
    case.options["no_repeat_ngram_size"] = min(case.options["no_repeat_ngram_size"], case.max_len)


def estimates(case: Case, generator: torch.Generator):
    """r and g of each sentence, (sentences, vocabulary); None: what the random models say."""
    shape = len(case.sources), case.vocabulary
    r, g = torch.zeros(shape), 3 * torch.randn(shape, generator=generator)
    if case.head == "random":
        return None
    if case.head == "everything":
        return torch.full(shape, INF), torch.full(shape, INF)
    if case.head == "closed gates":
        return 3 * torch.rand(shape, generator=generator), torch.full(shape, -120.0)
    if case.head == "extreme":
        scale = 10.0 ** torch.randint(-30, 31, shape, generator=generator)
        return scale * torch.randn(shape, generator=generator), scale * torch.randn(shape, generator=generator)
    some = {"few words": 3, "one word": 1, "nothing": 0}[case.head]
    for row in r:
        chosen = FIRST_WORD + torch.randperm(case.words, generator=generator)[:some]
        row[chosen] = 2 * torch.rand(len(chosen), generator=generator)
    return r, g


def search(case: Case):
    """Task, models, batch, its sentences' numbers in the batch's order, and each sentence's hypotheses."""
    task = toy_task(case.words, **case.task)
    generator = torch.Generator().manual_seed(case.number)
    mode = case.task["wfe_decoding"]
    no_head = mode in ("off", "oracle") and case.number % 2 == 0
    models = [
        toy_of(
            case.family,
            task,
            case.number + i,
            weight_scale=case.weight_scale,
            without_wfe=no_head,
            wfe_estimator=case.estimator,
        )
        for i in range(case.models)
    ]
    given = None if no_head else estimates(case, generator)
    if given is not None:
        for model in models:
            model.wfe_head = FixedEstimates(*(tensor.tolist() for tensor in given))
    models = [model.to(getattr(torch, case.dtype)) for model in models]
    targets = toy_sources(len(case.sources), case.words, case.number + 1) if mode == "oracle" else None
    batch = toy_batch(task, case.sources, targets)
    order = batch["id"].tolist()
    constraints = None
    if case.search == "constraints":
        constraints = pack_constraints([[torch.tensor(w) for w in case.constraints[n]] for n in order])
    torch.manual_seed(case.number)
    settings = Namespace(beam=case.beam, max_len_b=case.max_len, min_len=case.min_len, **case.options)
    hypotheses = task.inference_step(
        task.build_generator(models, settings), models, batch,
        prefix_tokens=None if case.prefix is None else torch.tensor(case.prefix), constraints=constraints,
    )  # fmt: skip
    return task, models, batch, order, [hypotheses[order.index(n)] for n in range(len(order))]


def budgets(case: Case, task, models, batch, place: int):
    """r̂ of one sentence of the batch by word, by other means than the search's; None: no bound."""
    mode = case.task["wfe_decoding"]
    if mode in ("off", "gate"):
        return None
    if mode == "oracle":
        target = batch["target"][place].tolist()
        return [float(target.count(word)) for word in range(case.vocabulary)]
    r_hats, g_hats = [], []
    for model in models:
        with torch.no_grad():
            r, g = (tensor[place].tolist() for tensor in model_estimates(model, batch))
        r_hats.append([max(0.0, x) if case.estimator == "paper" else 1.0 + softplus(x) for x in r])
        g_hats.append([1 / (1 + math.exp(-x)) if x > -700 else 0.0 for x in g])
    r_hat, g_hat = ([sum(column) / len(rows) for column in zip(*rows)] for rows in (r_hats, g_hats))
    if mode == "strict":
        return [min(r, max(1.0, r * g)) for r, g in zip(r_hat, g_hat)]
    return r_hat


def softplus(x: float) -> float:
    return x if x > 30 else math.log1p(math.exp(x))


def run(case: Case) -> Counter:
    """Search and check; returns what was counted. Raises if anything is wrong."""
    try:
        task, models, batch, order, found = search(case)
    except UserError:
        # Activations beyond what half precision can hold: no search can help, but it has been told.
        if case.dtype == "float32" or case.weight_scale <= 1:
            raise
        return Counter({"overflow told": 1})
    seen = Counter(sentences=len(found), hypotheses=sum(map(len, found)))
    for sentence, hypotheses in enumerate(found):
        place = order.index(sentence)
        assert 0 < len(hypotheses) <= case.beam, f"{len(hypotheses)} hypotheses"
        scores = [hypothesis["score"].item() for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True), scores
        r_hat = budgets(case, task, models, batch, place)
        literal = None
        if comparable(case):
            literal = LiteralSearch(task, models[0], case.sources[sentence], case.task["wfe_decoding"])
        for hypothesis in hypotheses:
            words = check_hypothesis(case, hypothesis, sentence, place, r_hat)
            seen["words"] += len(words)
            if literal:
                expected, total = literal.score(words), hypothesis["positional_scores"].sum().item()
                assert math.isclose(expected, total, rel_tol=1e-3, abs_tol=1e-2), (expected, total)
                seen["scores compared with Figure 1"] += 1
    if case.number % 10 == 0:
        again = search(case)[-1]
        same = [[h["tokens"].tolist() for h in left] for left in found] == [
            [h["tokens"].tolist() for h in right] for right in again
        ]
        assert same, "a second search found something else"
        seen["searched twice"] += 1
    for name, value in {
        **case.task,
        **case.options,
        "head": case.head,
        "dtype": case.dtype,
        "family": case.family,
        "estimator": case.estimator,
    }.items():
        seen[f"{name}={value}"] += 1
    seen[f"search: {case.search}"] += 1
    seen["prefixes"] += case.prefix is not None
    seen["ensembles"] += case.models > 1
    return seen


def penalties(case: Case) -> bool:
    return case.task["repetition_penalty"] != 1.0 or any(
        case.task[f"{name}_penalty"] for name in ("frequency", "presence")
    )


def comparable(case: Case) -> bool:
    """Whether the literal search of the paper can score what was found."""
    return (
        case.models == 1 and case.head == "random" and case.estimator == "paper" and case.dtype == "float32" and case.prefix is None
        and case.search == "beam" and case.options["temperature"] == 1.0
        and case.options["unkpen"] == 0.0 and case.task["wfe_shortlist"] == 0 and case.task["wfe_decoding"] in ("full", "strict", "bound", "gate")
        and not case.task["wfe_bound_eos"] and case.weight_scale <= 1.0 and not penalties(case)
    )  # fmt: skip


def check_hypothesis(case: Case, hypothesis, sentence: int, place: int, r_hat) -> list[int]:
    tokens = hypothesis["tokens"].tolist()
    assert math.isfinite(hypothesis["score"].item()), hypothesis["score"]
    assert torch.isfinite(hypothesis["positional_scores"]).all(), hypothesis["positional_scores"]
    assert tokens[-1] == EOS and EOS not in tokens[:-1] and PAD not in tokens, tokens
    words = tokens[:-1]
    assert len(words) <= case.max_len, words

    forced: list[int] = []
    if case.prefix is not None:
        forced = [word for word in case.prefix[place] if word not in (PAD, EOS)][: case.max_len]
        assert words[: len(forced)] == forced, (words, forced)
        if EOS in case.prefix[place]:
            assert words == forced, (words, forced)
    wishes = case.constraints[sentence] if case.constraints else []
    check_constraints(words, wishes, case.options.get("constraints"))
    if r_hat is not None:
        free = {word for wish in wishes for word in wish}
        if "bart" in case.family:  # whose outputs may begin with <s>
            free.add(BOS)
        for word in set(words) - free:
            allowed = max(r_hat[word], forced.count(word))
            assert words.count(word) < allowed + 1.001, (word, words, r_hat[word])
    size = case.options["no_repeat_ngram_size"]
    if size and not forced and not wishes:
        grams = [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]
        assert len(grams) == len(set(grams)), words
    cap = case.task["word_cap"]
    if cap and not forced and not wishes:
        assert all(words.count(word) <= cap for word in words), words
    short_list = case.task["wfe_shortlist"] > 0  # other words were no choice
    if len(words) < case.min_len and not (size or cap or forced or wishes or case.prefix or short_list):
        assert r_hat is not None, words
        for word in range(case.vocabulary):
            if word not in (PAD, EOS):
                assert r_hat[word] - words.count(word) < 1e-3, f"too short, although {word} was possible: {words}"
    return words


def check_constraints(words: list[int], wishes: list[list[int]], kind: Optional[str]) -> None:
    start = 0
    for wish in wishes:
        places = [i for i in range(start, len(words)) if words[i : i + len(wish)] == wish]
        assert places, (words, wishes)
        if kind == "ordered":
            start = places[0] + len(wish)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    args = parser.parse_args()
    begun, seen, failures = time.monotonic(), Counter(), []
    for number in range(args.first, args.first + args.cases):
        try:
            seen += run(numbered(number))
        except Exception:
            failures.append(number)
            print(f"FAILED: {asdict(numbered(number))}\n{traceback.format_exc()}", flush=True)
        if number % 100 == 99:
            print(f"up to case {number}: {len(failures)} failed", flush=True)
    for name, count in sorted(seen.items()):
        print(f"{count:8} {name}")
    print(f"{args.cases} cases in {time.monotonic() - begun:.0f} s, {len(failures)} failed: {failures}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
