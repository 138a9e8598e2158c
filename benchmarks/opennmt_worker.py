"""OpenNMT-py 3.5 as a contender: runs in an environment that has it, and not this project.

    python opennmt_worker.py '{"sizes": {...}, "batch": FILE, "threads": N}'

The file holds tensors in fairseq's numbering. Each line of standard input is a measurement, `train` or
`decode BEAM`, and is answered by a line of JSON; `quit` ends the process.
"""

import json
import resource
import sys
import warnings
from time import perf_counter

import torch
from torch import Tensor

warnings.simplefilter("ignore")
answers, sys.stdout = sys.stdout, sys.stderr  # whatever OpenNMT-py prints

import onmt.opts  # noqa: E402
import pyonmttok  # noqa: E402
from onmt.model_builder import build_model  # noqa: E402
from onmt.trainer import build_trainer  # noqa: E402
from onmt.translate import GNMTGlobalScorer, Translator  # noqa: E402
from onmt.utils import Statistics  # noqa: E402
from onmt.utils.optimizers import Optimizer  # noqa: E402
from onmt.utils.parse import ArgumentParser  # noqa: E402

UNKNOWN, PAD, START, END = range(4)  # here; words have the same numbers in both
OF_FAIRSEQ = torch.tensor([START, PAD, END, UNKNOWN])  # by fairseq's number
SYMBOLS = ["<unk>", "<blank>", "<s>", "</s>"]


def renumbered(tokens: Tensor) -> Tensor:
    return torch.where(tokens < len(SYMBOLS), OF_FAIRSEQ[tokens.clamp(max=len(SYMBOLS) - 1)], tokens)


def batch_of(tokens: dict) -> dict:
    """As OpenNMT-py's iterator makes it: no end mark in sources, padding on the right."""
    rows = [row[(row != PAD) & (row != END)] for row in renumbered(tokens["source"])]
    source = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
    target = renumbered(tokens["target"])
    start = torch.full_like(target[:, :1], START)
    return {
        "src": source.unsqueeze(-1),
        "srclen": torch.tensor([len(row) for row in rows]),
        "tgt": torch.cat((start, target), dim=1).unsqueeze(-1),
    }


def options_of(sizes: dict):
    """Sizes and optimizer as in examples/opennmt/run.sh."""
    words = "-data {} -src_vocab none -encoder_type brnn -decoder_type rnn -rnn_type LSTM -global_attention general"
    words += f" -layers {sizes['layers']} -word_vec_size {sizes['embedding']} -hidden_size {sizes['hidden']}"
    words += " -dropout 0.3 -optim adam -learning_rate 0.002 -max_grad_norm 5"
    parser = ArgumentParser()
    onmt.opts.train_opts(parser)
    options = parser.parse_args(words.split())
    options.data = {}
    ArgumentParser.update_model_opts(options)
    ArgumentParser.validate_model_opts(options)
    return options


class Contender:
    def __init__(self, sizes: dict, batch: str):
        self.sizes = sizes
        tokens = torch.load(batch)
        self.batches = {name: batch_of(tokens[name]) for name in ("train", "decode")}
        del self.batches["decode"]["tgt"]  # else it is scored
        self.vocabularies = {"data_task": "seq2seq", "decoder_start_token": "<s>"}
        for side, name in (("src", "source_words"), ("tgt", "target_words")):
            symbols = SYMBOLS + [f"w{number}" for number in range(sizes[name] - len(SYMBOLS))]
            self.vocabularies[side] = pyonmttok.build_vocab_from_tokens(symbols)
        options = options_of(sizes)
        torch.manual_seed(1)
        self.model = build_model(options, options, self.vocabularies, None, -1)
        self.optimizer = Optimizer.from_opt(self.model, options)
        self.trainer = build_trainer(options, -1, self.model, self.vocabularies, self.optimizer)

    def train(self) -> dict:
        """Seconds of the parts of a step."""
        times = []

        def timed(function):
            def run(*arguments):
                times.append(perf_counter())
                function(*arguments)
                times.append(perf_counter())

            return run

        self.model.train()
        backward, step = self.optimizer.backward, self.optimizer.step
        self.optimizer.backward, self.optimizer.step = timed(backward), timed(step)
        started = perf_counter()
        try:
            batch = self.batches["train"]
            self.trainer._gradient_accumulation([batch], len(batch["src"]), Statistics(), Statistics())
        finally:
            self.optimizer.backward, self.optimizer.step = backward, step
        return dict(
            zip(("forward", "backward", "optimizer"), (times[0] - started, times[1] - times[0], times[3] - times[2]))
        )

    def decode(self, beam: int) -> dict:
        """Seconds of a search whose outputs all have the same length."""
        length = self.sizes["output_length"]
        self.model.eval()
        scorer = GNMTGlobalScorer(0.0, 0.0, "avg", "none")
        translator = Translator(
            self.model,
            self.vocabularies,
            n_best=beam,
            beam_size=beam,
            min_length=length,
            max_length=length + 1,
            max_length_ratio=0,
            global_scorer=scorer,
        )
        started = perf_counter()
        found = translator.translate_batch(self.batches["decode"], False)
        seconds = perf_counter() - started
        lengths = sorted({len(words) - int(words[-1] == END) for best in found["predictions"] for words in best})
        return {"seconds": seconds, "lengths": lengths}


def main() -> None:
    given = json.loads(sys.argv[1])
    torch.set_num_threads(given["threads"])
    contender = Contender(given["sizes"], given["batch"])
    for line in sys.stdin:
        command, *arguments = line.split()
        if command == "quit":
            break
        answer = getattr(contender, command)(*map(int, arguments))
        peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps({**answer, "peak": peak}), file=answers, flush=True)


if __name__ == "__main__":
    main()
