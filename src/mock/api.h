/* api.h -- the APIs that the mock answers to with what it generates. */
#ifndef STOKE_MOCK_API_H
#define STOKE_MOCK_API_H

enum mock_api {
  MOCK_API_COMPLETIONS,   /* /v1/completions */
  MOCK_API_CHAT,          /* /v1/chat/completions */
  MOCK_API_TRANSCRIPTION, /* /v1/audio/transcriptions */
  MOCK_API_TRANSLATION,   /* /v1/audio/translations */
  MOCK_API_RESPONSES,     /* /v1/responses */
  MOCK_API_MESSAGES,      /* /v1/messages, Anthropic's */
  MOCK_API_OLLAMA,        /* /api/chat */
  MOCK_API_GENERATE,      /* /api/generate, Ollama's too */
  MOCK_API_EMBEDDINGS,    /* /v1/embeddings; no tokens are made */
  MOCK_API_RERANK,        /* /rerank, /v1/rerank, /v2/rerank; none either */
};

/* Spoken in reply.c; the others in foreign.c. */
#define MOCK_IS_OPENAI(api) ((api) <= MOCK_API_TRANSLATION)
/* Asked by forms, with a recording. */
#define MOCK_IS_FORM(api)                                                      \
  ((api) == MOCK_API_TRANSCRIPTION || (api) == MOCK_API_TRANSLATION)
/* A stream of JSON lines, not of server-sent events. */
#define MOCK_IS_NDJSON(api)                                                    \
  ((api) == MOCK_API_OLLAMA || (api) == MOCK_API_GENERATE)
#define MOCK_IS_POOLING(api) ((api) >= MOCK_API_EMBEDDINGS)

#endif
