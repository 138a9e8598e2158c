"""Speed and memory of WFE beside stock fairseq: `make bench`.

Random data, so that no corpus is needed; every model, criterion, optimizer and
generator is built by fairseq from a command line, as users build theirs.
"""
