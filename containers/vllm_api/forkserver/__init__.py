"""Engine processes forked from one that has imported vLLM already.

vLLM starts its engine core and its workers as new Python processes, each of which
imports vLLM again before it does anything. A fork server imports it once, while the
API process imports its own, and every engine process is a fork of it:
:mod:`~containers.vllm_api.forkserver.client` starts and asks it,
:mod:`~containers.vllm_api.forkserver.server` is what it runs, and
:mod:`~containers.vllm_api.forkserver.process` makes it look like the start method
``spawn``. Nothing here imports vLLM in the API process.
"""
