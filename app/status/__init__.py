"""How a server stands, as JSON: what its page and ``vllm-di top`` show."""
