"""The requests that our server and vLLM's own must answer alike."""

from tests.engine.corpus.chats import ANSWERED, STRUCTURED, TEMPLATED
from tests.engine.corpus.completions import COMPLETIONS
from tests.engine.corpus.refusals import BODIES, VALUES
from tests.engine.corpus.sample import Sample
from tests.engine.corpus.tokens import SERVER, TOKENS

SAMPLES: list[Sample] = [
    *ANSWERED,
    *TEMPLATED,
    *STRUCTURED,
    *VALUES,
    *BODIES,
    *COMPLETIONS,
    *TOKENS,
    *SERVER,
]

__all__ = ["SAMPLES", "Sample"]
