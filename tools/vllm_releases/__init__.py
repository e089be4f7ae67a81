"""Reads releases of vLLM from their wheels, without installing or importing any."""
