"""The model of the embedded default: it quotes, and writes nothing of its own."""
