"""Which serving object each route needs, so that the ingress knows who can answer."""

from __future__ import annotations

PROVIDERS = {
    "/v1/chat/completions": "serving_chat",
    "/v1/chat/completions/batch": "serving_chat_batch",
    "/v1/completions": "serving_completion",
    "/v1/responses": "serving_responses",
    "/v1/responses/{response_id}": "serving_responses",
    "/v1/responses/{response_id}/cancel": "serving_responses",
    "/v1/messages": "serving_messages",
    "/v1/messages/count_tokens": "serving_messages",
    "/cohere/v2/chat": "serving_chat_v2",
    "/cohere/v2/chat/render": "serving_chat_v2",
    "/generative_scoring": "serving_generative_scoring",
    "/v1/systemone": "serving_structured_decisions",
    "/v1/embeddings": "serving_embedding",
    "/v2/embed": "serving_embedding",
    "/pooling": "serving_pooling",
    "/classify": "serving_classification",
    "/score": "serving_scores",
    "/v1/score": "serving_scores",
    "/rerank": "serving_scores",
    "/v1/rerank": "serving_scores",
    "/v2/rerank": "serving_scores",
    "/v1/audio/transcriptions": "serving_transcription",
    "/v1/audio/translations": "serving_translation",
    "/tokenize": "serving_tokenization",
    "/detokenize": "serving_tokenization",
    "/tokenizer_info": "serving_tokenization",
    "/v1/chat/completions/render": "serving_render",
    "/v1/completions/render": "serving_render",
    "/v1/messages/render": "serving_render",
    "/v1/responses/render": "serving_render",
    "/v1/chat/completions/derender": "serving_derender",
    "/v1/completions/derender": "serving_derender",
    "/inference/v1/generate": "serving_tokens",
    "/inference/v1/abort_requests": "serving_tokens",
}
"""By path; any other route needs none, or finds it by the body."""

PASSED_OVER = {
    "/invocations": 400,
    "/v1/responses/{response_id}": 404,
    "/v1/responses/{response_id}/cancel": 404,
}
"""Routes whose model shows in its answer alone: another one may not answer so."""

OF_EACH_REPLICA = frozenset({"/inference/v1/abort_requests"})
"""Routes that concern every replica, beside those for administrators."""
