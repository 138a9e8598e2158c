"""Beam search and sampling under the frequency bound."""
