"""Serves other wires in front of the model: PORT SETTINGS.

Ends when its standard input does, so it cannot outlive whoever started it.
"""

import os
import sys
import threading


def end_with_input():
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=end_with_input, daemon=True).start()

# Prices are not fetched, and a key that everybody knows is enough on this machine.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"

from litellm import run_server  # noqa: E402  the settings above are read when it is imported

port, settings = sys.argv[1], sys.argv[2]
sys.argv = ["litellm", "--config", settings, "--host", "127.0.0.1", "--port", port, "--telemetry", "False"]
run_server()
