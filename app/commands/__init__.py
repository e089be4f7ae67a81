"""The commands of ``vllm-di``: one file a command."""
