"""The demo with a model that an OpenAI-compatible host on this machine serves.

`python -m tests.egress.demo_with_a_local_model TOPIC` starts both; the host's model is the tests' office.
"""

import asyncio
import os
import sys

from tests.editorial_office import Office
from tests.scripted_openai.server import ScriptedOpenAI


async def main(topic: str) -> int:
    async with ScriptedOpenAI(Office(), models=("llama-local",)) as host:
        demo = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "demo", topic, "--yes", "--model", "openai-chat:llama-local"),
            env={**os.environ, "OPENAI_BASE_URL": host.base_url, "OPENAI_API_KEY": host.api_key},
        )
        code = await demo.wait()
        return code or int(not host.requests)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
