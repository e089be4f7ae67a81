"""Every error this project raises, in one tree.

::

    ServingError
    ├── SettingsError              a key in config.yaml (or Settings) is wrong
    ├── SourceError                a model's weights or tokenizer cannot be had
    ├── VllmMismatchError          the installed vLLM is not one we know
    ├── ChatTemplateError          a chat template is wrong
    ├── InjectionError             a constructor argument is missing its loaded object
    ├── GraphError                 the declared graph cannot be started
    ├── StartError                 a resource did not start
    ├── StopError                  resources did not stop cleanly (an ExceptionGroup)
    ├── NotReadyError              an object was asked for before it was loaded
    ├── UnknownModelError          a request names a model that nobody serves
    ├── UnsupportedTaskError       a request asks a model for what it cannot do
    ├── AdapterError               a LoRA adapter cannot be loaded while serving
    └── CassetteError              a cassette has no answer, or cannot be used

Attributes carry the data, ``str()`` the sentence: what is wrong, where, and what to do.
"""

from containers.errors.cassettes import CassetteError
from containers.errors.lifecycle import (
    GraphError,
    InjectionError,
    NotReadyError,
    StartError,
    StopError,
)
from containers.errors.requests import (
    AdapterError,
    UnknownModelError,
    UnsupportedTaskError,
)
from containers.errors.serving_error import ServingError
from containers.errors.settings import (
    ChatTemplateError,
    SettingsError,
    SourceError,
    VllmMismatchError,
)

__all__ = [
    "AdapterError",
    "CassetteError",
    "ChatTemplateError",
    "GraphError",
    "InjectionError",
    "NotReadyError",
    "ServingError",
    "SettingsError",
    "SourceError",
    "StartError",
    "StopError",
    "UnknownModelError",
    "UnsupportedTaskError",
    "VllmMismatchError",
]
