"""The paper's tables and figures for any data set: train, decode, evaluate, report."""
