"""python -m benchmarks"""

from benchmarks.quiet import silence_fairseq

silence_fairseq()

from benchmarks.command import main  # noqa: E402

main()
