"""Chat templates for tests, each a small Jinja text of its own."""

from __future__ import annotations

CHATML = (
    "{% for message in messages %}"
    "<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""ChatML: takes any order of roles, and no tools."""

STRICT = (
    "{% if messages[0]['role'] == 'system' %}"
    "{% set head, turns = messages[0]['content'] + '\n', messages[1:] %}"
    "{% else %}{% set head, turns = '', messages %}{% endif %}"
    "{% for message in turns %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Turns must alternate: user, assistant, user, ...') }}"
    "{% endif %}"
    "<|im_start|>{{ message['role'] }}\n"
    "{{ head if loop.first }}{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""Refuses two turns of one role in a row, as many instruction models do."""

TOOL_USE = (
    "{% if tools %}<|im_start|>system\nTools:\n"
    "{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}"
    'Call one with <tool_call>{"name": ..., "arguments": ...}</tool_call>.'
    "<|im_end|>\n{% endif %}"
    "{% for message in messages %}"
    "<|im_start|>{{ message['role'] }}\n{{ message['content'] or '' }}"
    "{% for call in message['tool_calls'] or [] %}"
    "<tool_call>{{ call['function'] | tojson }}</tool_call>"
    "{% endfor %}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""ChatML that lists the tools and writes calls as vLLM's ``hermes`` parser reads."""
