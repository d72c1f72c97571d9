#include "cli/default_scenario.h"

#include "base/str.h"

/* Most APIs can send what a chat asks. Here are the others. */
struct other {
  struct str endpoint; /* or the end of a path */
  const char *scenario, *words;
};

static const struct other *find(const char *endpoint)
{
  static const char audio[] =
      "bench -P dataset_name=custom_audio -P dataset_path=FILE";
  static const struct other others[] = {
      {{"embeddings", 10}, "embeddings", NULL},
      {{"embeddings_chat", 15}, "embeddings", NULL},
      {{"pooling", 7}, "embeddings", NULL},
      {{"rerank", 6}, NULL, "bench -P dataset_name=random-rerank"},
      {{"transcriptions", 14}, NULL, audio},
      {{"translations", 12}, NULL, audio},
  };
  for (size_t i = 0; endpoint && i < sizeof others / sizeof *others; i++)
    if (str_ends(str_of(endpoint), others[i].endpoint))
      return &others[i];
  return NULL;
}

const char *default_scenario(const char *endpoint)
{
  const struct other *o = find(endpoint);
  return o ? o->scenario : "chat";
}

const char *default_scenario_words(const char *endpoint)
{
  const struct other *o = find(endpoint);
  return o ? o->words : NULL;
}
