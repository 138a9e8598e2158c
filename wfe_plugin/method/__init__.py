"""The method of Suzuki and Nagata (EACL 2017), with no dependence on fairseq.

Equation and figure numbers are those of the paper:
https://aclanthology.org/E17-2047/
"""
