"""A BART of some numbers, in files of the names and formats of those that fairseq distributes."""

import json
import random

import torch
from fairseq import options
from fairseq.data.encoders.gpt2_bpe_utils import bytes_to_unicode, get_encoder
from fairseq.tasks.denoising import DenoisingTask

WORDS = "the cat sat on a mat with dog and sun".split()
LONG = 2000  # characters; of more, BART has no positions for the pieces


def sizes():
    return [
        option
        for side in ("encoder", "decoder")
        for name, value in (("embed-dim", 8), ("ffn-embed-dim", 8), ("layers", 1), ("attention-heads", 2))
        for option in (f"--{side}-{name}", str(value))
    ]


def write_bart(folder) -> None:
    """encoder.json and vocab.bpe, GPT-2's pieces; dict.txt, the model's; model.pt."""
    folder.mkdir()
    letters = bytes_to_unicode()
    blank = letters[ord(" ")]
    merges = [("t", "h"), ("th", "e"), (blank, "a"), (blank, "the")]
    pieces = [*letters.values(), *("".join(merge) for merge in merges)]
    (folder / "encoder.json").write_text(json.dumps({piece: number for number, piece in enumerate(pieces)}))
    (folder / "vocab.bpe").write_text("#version: 0.2\n" + "".join(f"{one} {other}\n" for one, other in merges))
    numbers = [f"{number} {1000 - number}\n" for number in range(len(pieces))]
    (folder / "dict.txt").write_text("".join(numbers) + "madeupword0000 0\n")
    arguments = [str(folder), "--task", "denoising", "--arch", "bart_base", *sizes()]
    args = options.parse_args_and_arch(options.get_training_parser("denoising"), arguments)
    torch.manual_seed(0)
    model = DenoisingTask.setup_task(args).build_model(args)
    history = {"criterion_name": "CrossEntropyCriterion", "optimizer_name": "FairseqAdam", "num_updates": 3}
    state = {"args": args, "model": model.state_dict(), "last_optimizer_state": None}
    state["optimizer_history"] = [{**history, "lr_scheduler_state": {}}]
    state["extra_state"] = {"train_iterator": {"epoch": 1}, "val_loss": 1.0}
    torch.save(state, folder / "model.pt")


def write_text(folder) -> None:
    """Sets of sources and summaries, as text and as GPT-2's pieces."""
    encoder = get_encoder(folder / "bart/encoder.json", folder / "bart/vocab.bpe")
    rng = random.Random(0)
    for name, number in (("train", 39), ("valid", 5), ("test", 4)):
        sources = [rng.choices(WORDS, k=rng.randint(3, 9)) for _ in range(number)] + [["dog"] * (LONG // 4 + 1)]
        for side, step in (("source", 1), ("target", 2)):
            lines = [" ".join(words[::step][: LONG // step**9]) + " ." for words in sources]
            pieces = [" ".join(map(str, encoder.encode(line))) for line in lines]
            (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))
            (folder / f"{name}.bpe.{side}").write_text("".join(f"{line}\n" for line in pieces))
