"""The method of Suzuki and Nagata (EACL 2017), with no dependence on fairseq.

The alternatives that it is compared with are here as well: `ngram_blocking`,
`penalties`, `coverage` and `unlikelihood`; and minimum risk training in `risk`.

Equation and figure numbers are those of the paper:
https://aclanthology.org/E17-2047/
"""
