"""The requests that our server and vLLM's own must answer alike."""

from tests.engine.corpus.chats import ANSWERED, BATCHES, STRUCTURED, TEMPLATED
from tests.engine.corpus.completions import COMPLETIONS
from tests.engine.corpus.messages import MESSAGES
from tests.engine.corpus.pooling import EMBEDDINGS, POOLED, SCORES
from tests.engine.corpus.refusals import BODIES, VALUES
from tests.engine.corpus.responses import RESPONSES
from tests.engine.corpus.sample import Sample
from tests.engine.corpus.scoring import DECISIONS, INVOCATIONS, SCORINGS
from tests.engine.corpus.tokens import SERVER, TOKENS

SAMPLES: list[Sample] = [
    *ANSWERED,
    *TEMPLATED,
    *STRUCTURED,
    *BATCHES,
    *VALUES,
    *BODIES,
    *COMPLETIONS,
    *RESPONSES,
    *MESSAGES,
    *SCORINGS,
    *DECISIONS,
    *INVOCATIONS,
    *EMBEDDINGS,
    *SCORES,
    *POOLED,
    *TOKENS,
    *SERVER,
]

__all__ = ["SAMPLES", "Sample"]
