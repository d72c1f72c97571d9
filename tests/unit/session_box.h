/* session_box.h -- a worker's inside without the worker: sessions of a
 * scenario in a C string, on a loop, with what became of them. */
#ifndef STOKE_TESTS_SESSION_BOX_H
#define STOKE_TESTS_SESSION_BOX_H

#include "netclient.h"
#include "rawserver.h"
#include "script_box.h"

#include "script/session.h"

#define SESSIONS_MAX 16

struct session_end_seen {
  enum session_end end;
  uint32_t turns, planned;
  uint64_t ns, think_ns;
  char reason[300];
};

struct session_stage {
  struct box box;
  struct client client;
  struct xfer_headers *headers;
  struct exchange_pool *exchanges;
  struct session_pool *pool;
  struct session_end_seen ends[SESSIONS_MAX];
  unsigned n_ends, left; /* sessions started and not yet over */
  unsigned prefilled, exhausted, stops;
  struct record records[64];
  char messages[64][300];
  unsigned n_records;
  char base_url[64];
  uint64_t restart; /* start another one from `ended`, up to this id */
  uint64_t next_id;
  struct session_config config;
};

static void stage_record(const struct record *r, void *ud)
{
  struct session_stage *g = ud;
  if (g->n_records == 64)
    return;
  snprintf(g->messages[g->n_records], 300, "%s", r->message ? r->message : "");
  g->records[g->n_records++] = *r;
}

static void stage_session(const struct session_record *s, void *ud)
{
  struct session_stage *g = ud;
  struct session_end_seen *seen = &g->ends[g->n_ends++ % SESSIONS_MAX];
  *seen = (struct session_end_seen){.end = s->end,
                                    .turns = s->turns,
                                    .planned = s->planned,
                                    .ns = s->ended_ns - s->started_ns,
                                    .think_ns = s->think_ns};
  snprintf(seen->reason, sizeof seen->reason, "%s", s->reason);
}

static void stage_prefilled(void *ud)
{
  ((struct session_stage *)ud)->prefilled++;
}

static void stage_start(struct session_stage *g, uint64_t id)
{
  struct session_item item = {
      .id = id, .due_ns = clock_ns(), .phase = PHASE_MEASURE};
  g->left++;
  g->next_id = id + 1;
  session_start(g->pool, &item);
}

static void stage_ended(const struct session_item *item, void *ud)
{
  struct session_stage *g = ud;
  (void)item;
  g->left--;
  if (g->next_id <= g->restart)
    stage_start(g, g->next_id);
  if (!g->left)
    ev_break(g->client.loop, EVBREAK_ONE); /* it would sleep first */
}

static void stage_exhausted(void *ud)
{
  ((struct session_stage *)ud)->exhausted++;
}

static void stage_stop(const char *why, void *ud)
{
  (void)why;
  ((struct session_stage *)ud)->stops++;
}

/* `port` 0: nobody is there. */
static inline void stage_open(struct session_stage *g, const char *lua,
                              unsigned port)
{
  const struct net_config nc = {.connections = 4, .proxy = ""};
  struct exchange_config ec = {.query = "", .keep_text = true};
  *g = (struct session_stage){.box = box_open(lua)};
  client_init(&g->client, &nc);
  snprintf(g->base_url, sizeof g->base_url, "http://127.0.0.1:%u",
           port ? port : 1);
  ec.net = g->client.net;
  ec.vm = g->box.vm;
  ec.base_url = g->base_url;
  ec.headers = g->headers = xfer_headers_new();
  g->exchanges = exchange_pool_new(&ec);
  g->config = (struct session_config){
      .loop = g->client.loop,
      .vm = g->box.vm,
      .exchanges = g->exchanges,
      .coroutines = scenario_has(g->box.scenario, HOOK_SESSION),
      .judged = scenario_has(g->box.scenario, HOOK_ON_RESPONSE),
      .errors = g->box.errors,
      .max_errors = 10,
      .record = stage_record,
      .session = stage_session,
      .prefilled = stage_prefilled,
      .ended = stage_ended,
      .exhausted = stage_exhausted,
      .stop = stage_stop,
      .ud = g,
  };
  g->pool = session_pool_new(&g->config);
}

static inline void stage_run(struct session_stage *g)
{
  turn_until(&g->client, &g->left);
}

static inline void stage_close(struct session_stage *g)
{
  session_pool_free(g->pool);
  client_deinit(&g->client);
  exchange_pool_free(g->exchanges);
  xfer_headers_unref(g->headers);
  box_close(&g->box);
}

/* One session of this scenario, to its end. */
static inline struct session_end_seen stage_once(const char *lua, unsigned port)
{
  struct session_stage g;
  struct session_end_seen seen;
  stage_open(&g, lua, port);
  stage_start(&g, 1);
  stage_run(&g);
  seen = g.ends[0];
  assert_int_equal(g.n_ends, 1);
  assert_int_equal(g.prefilled, 1);
  stage_close(&g);
  return seen;
}

#endif
