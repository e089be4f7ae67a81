"""vLLM's serving objects, built from loaded objects alone.

Each takes its tokenizer and chat template as required keyword arguments and refuses
at once what is not loaded. Importing a module of this package imports vLLM; importing
the package does not.
"""
