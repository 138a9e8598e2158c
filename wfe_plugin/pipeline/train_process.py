"""fairseq-train that knows what an interrupted training has reached, and how long it may take.

    train_process.py SCORE WAITED SECONDS BEFORE OPTION...

fairseq forgets, when it is started again, the best validation score so far and
how many epochs it has waited for a better one: it would wait anew, and take
the first epoch for the best. SCORE and WAITED (or "none 0") tell it. It can stop at
a time, but in the midst of an epoch: SECONDS and BEFORE (or "none 0.0") are the
limit in whole epochs, see time_limit.py.

A file to be started by its path, by Python or by torchrun; no module to import.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

# Python has put this file's own directory here, whose modules are none of fairseq's business.
# With symbolic links as they are: fairseq compares --user-dir with where the plugin was imported from.
sys.path[0] = str(Path(os.path.abspath(__file__)).parents[2])

from fairseq_cli import train  # noqa: E402


def end_with_parent() -> None:
    """Linux: end when torchrun does, also if it is killed.

    It holds the lock of the directory. Left alone, this process would go on writing there, beside
    the next training.
    """
    if sys.platform == "linux":
        parent, set_signal = os.getppid(), 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(set_signal, signal.SIGKILL)
        if os.getppid() != parent:  # it was faster
            sys.exit(1)


def main() -> None:
    best, waited, seconds, before, *options = sys.argv[1:]
    if best != "none":
        train.should_stop_early.best = train.checkpoint_utils.save_checkpoint.best = float(best)
        train.should_stop_early.num_runs = int(waited)
    if "--distributed-no-spawn" in options:  # one of several processes that torchrun has started
        end_with_parent()
        options += ["--distributed-rank", os.environ["RANK"], "--device-id", os.environ["LOCAL_RANK"]]
    sys.argv = ["fairseq-train", *options]
    # Not before sys.argv says what program this is: the plugin shows errors of fairseq's programs in one line.
    import wfe_plugin
    from wfe_plugin.pipeline import resuming
    from wfe_plugin.pipeline.memory import keep_freed_memory
    from wfe_plugin.pipeline.time_limit import TimeLimit, stops_at

    wfe_plugin.register()
    keep_freed_memory()
    resuming.keep_bad_epochs()
    train.checkpoint_utils.load_checkpoint = resuming.with_last_score(train.checkpoint_utils.load_checkpoint)
    if seconds != "none":
        train.validate_and_save = stops_at(TimeLimit(float(seconds), float(before)), train.validate_and_save)
    train.cli_main()


if __name__ == "__main__":
    main()
