"""Models with a WFE head; fairseq imports every file of this folder."""
