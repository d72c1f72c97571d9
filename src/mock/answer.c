/* Answers that are no generation: a body that is known at once. */
#include <stdio.h>

#include "mock/server.h"

void mock_answer_body(struct mock_exchange *x, int status,
                      struct str content_type, uint64_t now)
{
  x->fixed = true;
  x->status = status;
  x->content_type = content_type;
  x->after_head = MOCK_BODY;
  x->state = MOCK_HEAD;
  x->due = now + x->plan.slow_headers_ns;
}

void mock_answer_failure(struct mock_exchange *x, int status,
                         const char *message, const char *param, uint64_t now)
{
  buf_reset(&x->body);
  mock_reply_failure(status, message, param, &x->body);
  mock_answer_body(x, status, STR("application/json"), now);
}

void mock_answer_text(struct mock_exchange *x, int status, const char *text,
                      struct str content_type, uint64_t now)
{
  buf_reset(&x->body);
  buf_adds(&x->body, text);
  mock_answer_body(x, status, content_type, now);
}

/* A plan that cannot be understood is the tester's mistake: say so. */
static bool plan_is_bad(struct mock_exchange *x, struct err *e, uint64_t now)
{
  struct buf text = {0};
  if (!e->count)
    return false;
  json_escape(&text, str_trim(str_of(err_text(e))));
  mock_answer_failure(x, 400, buf_cstr(&text), "mock", now);
  buf_free(&text);
  err_free(e);
  return true;
}

/* ---- in place of an answer ---- */

static void answer_status(struct mock_exchange *x, uint64_t now)
{
  char text[64];
  snprintf(text, sizeof text, "mock: status %d was asked for",
           (int)x->plan.status);
  mock_answer_failure(x, (int)x->plan.status, text, NULL, now);
}

static void answer_garbage(struct mock_exchange *x)
{
  buf_adds(&x->conn->out, "\x16\x03\x01 this is not HTTP\r\n\r\n");
  x->record.end = "cut";
  x->close = true;
  x->state = MOCK_DRAIN;
}

static void hang_up(struct mock_exchange *x)
{
  bool reset = x->plan.instead == MOCK_RESET;
  x->record.end = reset ? "rst" : "cut";
  mock_conn_close(x->conn, reset ? MOCK_RST : MOCK_FIN);
}

/* Returns false when the plan wants an ordinary answer. */
static bool answer_instead(struct mock_exchange *x, uint64_t now)
{
  if (x->plan.only_reused && x->conn->requests < 2)
    return false;
  switch (x->plan.instead) {
  case MOCK_ANSWER: return false;
  case MOCK_STATUS: answer_status(x, now); break;
  case MOCK_REDIRECT:
    mock_answer_text(x, (int)x->plan.status, "", (struct str){NULL, 0}, now);
    break;
  case MOCK_JSON_ERROR:
    mock_answer_failure(x, 500, "mock: an error was asked for", NULL, now);
    x->status = 200;
    break;
  case MOCK_HTML:
    mock_answer_text(x, 200, "<html><body>mock: a page</body></html>\n",
                     STR("text/html; charset=utf-8"), now);
    break;
  case MOCK_GARBAGE: answer_garbage(x); break;
  case MOCK_EMPTY_BODY:
    mock_answer_text(x, 200, "",
                     x->record.stream ? STR("text/event-stream; charset=utf-8")
                                      : STR("application/json"),
                     now);
    break;
  case MOCK_EMPTY_STREAM:
    x->status = 200;
    x->record.stream = true;
    x->after_head = MOCK_DONE;
    x->state = MOCK_HEAD;
    x->due = now + x->plan.slow_headers_ns;
    break;
  case MOCK_HANG: break; /* MOCK_QUEUED for ever */
  case MOCK_CLOSE:
  case MOCK_RESET: hang_up(x); break;
  }
  return true;
}

bool mock_answer_plan(struct mock_exchange *x, struct err *e, uint64_t now)
{
  return plan_is_bad(x, e, now) || answer_instead(x, now);
}
