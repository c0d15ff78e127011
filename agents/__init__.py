"""One module per agent: instructions, output, one function."""
