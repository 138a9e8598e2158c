"""Tasks; fairseq imports every file of this folder."""
