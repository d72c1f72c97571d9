#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "script/bind_class.h"
#include "script/embed.h"
#include "script/http_table.h"
#include "script/vm_impl.h"
#include "script/wrk.h"

/* What lua/stoke/wrk.lua is handed:
 * lookup(host, service)  -> list of addresses "1.2.3.4:80"   [-0, +1, v]
 * connect(address)       -> boolean                          [-0, +1, v]
 * time_us()              -> microseconds of a clock          [-0, +1, -]
 * address(text)          this thread's server from now on    [-0, +0, v]
 * result()               -> figures for done()               [-0, +1, m]
 * Statistics: s.min, s.max, s.mean, s.stdev, s:percentile(p), s(i) -> value,
 * count; #s distinct values. */

#define SAMPLES_MT      "stoke.samples"
#define CONNECT_WAIT_MS 5000

/* ---- addresses ---- */

static void push_address(lua_State *L, const struct addrinfo *a)
{
  char host[NI_MAXHOST], port[NI_MAXSERV];
  getnameinfo(a->ai_addr, a->ai_addrlen, host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  lua_pushfstring(L, a->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
                  port);
}

static int lookup_l(lua_State *L)
{
  const char *host = luaL_checkstring(L, 1), *service = luaL_checkstring(L, 2);
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  int n = 0, status;
  vm_guard(vm_of(L));
  status = getaddrinfo(host, service, &hints, &found);
  vm_unguard(vm_of(L));
  if (status != 0)
    return luaL_error(L, "wrk.lookup(%s, %s): %s", host, service,
                      gai_strerror(status));
  lua_newtable(L);
  for (const struct addrinfo *a = found; a; a = a->ai_next) {
    push_address(L, a);
    lua_rawseti(L, -2, ++n);
  }
  freeaddrinfo(found);
  return 1;
}

static bool can_connect(const struct addrinfo *a)
{
  int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  struct pollfd p = {.fd = fd, .events = POLLOUT};
  int error = 0;
  socklen_t len = sizeof error;
  if (fd < 0)
    return false;
  if (connect(fd, a->ai_addr, a->ai_addrlen) < 0)
    error = errno;
  if (error == EINPROGRESS && poll(&p, 1, CONNECT_WAIT_MS) == 1)
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
  close(fd);
  return error == 0;
}

/* "1.2.3.4:80" or "[::1]:80" */
static int connect_l(lua_State *L)
{
  const char *text = luaL_checkstring(L, 1), *colon = strrchr(text, ':');
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
  struct addrinfo *a = NULL;
  char host[NI_MAXHOST];
  bool good;
  luaL_argcheck(L, colon, 1, "an address that wrk.lookup returned is wanted");
  if (text[0] == '[')
    snprintf(host, sizeof host, "%.*s", (int)(colon - text) - 2, text + 1);
  else
    snprintf(host, sizeof host, "%.*s", (int)(colon - text), text);
  vm_guard(vm_of(L));
  good = getaddrinfo(host, colon + 1, &hints, &a) == 0 && can_connect(a);
  if (a)
    freeaddrinfo(a);
  vm_unguard(vm_of(L));
  lua_pushboolean(L, good);
  return 1;
}

static int address_l(lua_State *L)
{
  struct vm *vm = vm_of(L);
  const char *text = luaL_checkstring(L, 1);
  vm_guard(vm);
  buf_reset(&vm->address);
  buf_addf(&vm->address, "http://%s", text);
  buf_cstr(&vm->address);
  vm_unguard(vm);
  return 0;
}

static int time_us_l(lua_State *L)
{
  lua_pushnumber(L, (lua_Number)(clock_ns() / 1000));
  return 1;
}

/* ---- statistics ---- */

static const struct samples *check_samples(lua_State *L)
{
  const struct samples **box = bind_self(L, 1, SAMPLES_MT);
  return *box;
}

static int percentile_l(lua_State *L)
{
  const struct samples *s = check_samples(L);
  lua_pushnumber(L, (lua_Number)samples_percentile(s, luaL_checknumber(L, 2)));
  return 1;
}

static int samples_index_l(lua_State *L)
{
  const struct samples *s = check_samples(L);
  const char *name = luaL_checkstring(L, 2);
  if (strcmp(name, "min") == 0)
    lua_pushnumber(L, s->n ? (lua_Number)s->list[0] : 0);
  else if (strcmp(name, "max") == 0)
    lua_pushnumber(L, s->n ? (lua_Number)s->list[s->n - 1] : 0);
  else if (strcmp(name, "mean") == 0)
    lua_pushnumber(L, samples_mean(s));
  else if (strcmp(name, "stdev") == 0)
    lua_pushnumber(L, samples_stdev(s));
  else if (strcmp(name, "percentile") == 0)
    lua_pushcfunction(L, percentile_l);
  else
    lua_pushnil(L);
  return 1;
}

static int samples_call_l(lua_State *L)
{
  const struct samples *s = check_samples(L);
  lua_Integer i = luaL_checkinteger(L, 2);
  uint64_t count = 0, value = 0;
  if (i >= 1)
    value = samples_distinct(s, (size_t)i - 1, &count);
  lua_pushnumber(L, (lua_Number)value);
  lua_pushnumber(L, (lua_Number)count);
  return 2;
}

static int samples_len_l(lua_State *L)
{
  lua_pushnumber(L, (lua_Number)samples_distinct_count(check_samples(L)));
  return 1;
}

static void push_samples(lua_State *L, const struct samples *s)
{
  static const luaL_Reg metamethods[] = {
      {"__index", samples_index_l},
      {"__call", samples_call_l},
      {"__len", samples_len_l},
      {NULL, NULL},
  };
  const struct samples **box = lua_newuserdata(L, sizeof(struct samples *));
  *box = s;
  if (luaL_newmetatable(L, SAMPLES_MT)) {
    luaL_register(L, NULL, metamethods);
    lua_pushliteral(L, "samples");
    lua_setfield(L, -2, "__metatable");
  }
  lua_setmetatable(L, -2);
}

static void set_count(lua_State *L, const char *name, uint64_t n)
{
  lua_pushnumber(L, (lua_Number)n);
  lua_setfield(L, -2, name);
}

static int result_l(lua_State *L)
{
  const struct wrk_figures *f = vm_of(L)->figures;
  if (!f)
    return luaL_error(L, "there are no figures yet");
  lua_newtable(L);
  lua_newtable(L);
  set_count(L, "duration", f->duration_us);
  set_count(L, "requests", f->requests);
  set_count(L, "bytes", f->bytes);
  lua_newtable(L);
  set_count(L, "connect", f->connect);
  set_count(L, "read", f->read);
  set_count(L, "write", f->write);
  set_count(L, "status", f->status);
  set_count(L, "timeout", f->timeout);
  lua_setfield(L, -2, "errors");
  lua_setfield(L, -2, "summary");
  push_samples(L, &f->latency);
  lua_setfield(L, -2, "latency");
  push_samples(L, &f->rate);
  lua_setfield(L, -2, "requests");
  return 1;
}

/* ---- for the adapter ---- */

static void push_headers(lua_State *L, struct str lines)
{
  lua_newtable(L);
  while (lines.len) {
    struct str value = str_split(&lines, '\n');
    struct str name = str_split(&value, ':');
    value = str_trim(value);
    lua_pushlstring(L, name.p, name.len);
    lua_pushlstring(L, value.p ? value.p : "", value.len);
    lua_settable(L, -3);
  }
}

static void push_host(lua_State *L)
{
  static const luaL_Reg functions[] = {
      {"lookup", lookup_l},   {"connect", connect_l}, {"time_us", time_us_l},
      {"address", address_l}, {"result", result_l},   {NULL, NULL},
  };
  const struct vm *vm = vm_of(L);
  lua_newtable(L);
  luaL_register(L, NULL, functions);
  lua_pushstring(L, vm->scenario->wrk_url);
  lua_setfield(L, -2, "url");
  lua_pushinteger(L, vm->threads ? (lua_Integer)vm->threads : 1);
  lua_setfield(L, -2, "threads");
  push_headers(L, str_of(vm->scenario->wrk_headers));
  lua_setfield(L, -2, "headers");
}

void wrk_push(lua_State *L)
{
  const struct embedded *code = embed_find("lua/stoke/wrk.lua");
  if (luaL_loadbufferx(L, code->source, code->len, "=lua/stoke/wrk.lua", "t"))
    lua_error(L);
  lua_call(L, 0, 1);
  lua_insert(L, -2);
  push_host(L);
}

void wrk_read(lua_State *L, struct request *out)
{
  double seconds = lua_tonumber(L, 2);
  lua_settop(L, 1);
  http_table_read(L, "request", out);
  buf_reset(&out->http);
  out->keep_body = scenario_has(vm_of(L)->scenario, HOOK_ON_RESPONSE);
  out->delay_ns = (uint64_t)(seconds * 1e9);
}

void wrk_count(struct wrk_figures *f, const uint64_t n[OUTCOME_COUNT])
{
  f->connect = n[OUTCOME_DNS] + n[OUTCOME_CONNECT] + n[OUTCOME_TLS] +
               n[OUTCOME_PROXY] + n[OUTCOME_CLIENT_RESOURCE] +
               n[OUTCOME_TIMEOUT_CONNECT];
  f->read = n[OUTCOME_RESET] + n[OUTCOME_TRUNCATED] + n[OUTCOME_MALFORMED];
  f->status = n[OUTCOME_AUTH] + n[OUTCOME_NOT_FOUND] +
              n[OUTCOME_UNPROCESSABLE] + n[OUTCOME_CONTEXT_LENGTH] +
              n[OUTCOME_RATE_LIMITED] + n[OUTCOME_HTTP_4XX] +
              n[OUTCOME_HTTP_5XX];
  f->timeout = n[OUTCOME_TIMEOUT_TTFT] + n[OUTCOME_TIMEOUT_IDLE] +
               n[OUTCOME_TIMEOUT_TOTAL];
}
