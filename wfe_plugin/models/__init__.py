"""Models with a WFE head, and the other systems of the paper's Table 3; fairseq imports every file of this folder."""
