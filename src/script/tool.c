#include "script/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "script/embed.h"

/* host.ask(question) -> answer              JSON text in, a table out; where
 *                                            the command has a tool_ask_cb
 * host.run(args) -> status, interrupted    this program, with these arguments
 * host.sleep(seconds) -> interrupted
 * host.now() -> seconds, monotonic
 * host.decode(text) -> value | nil, message   null becomes nil
 * host.quote(text) -> JSON string
 * host.number(x) -> JSON number
 * host.mkdir(path) -> true | nil, message   one that is there is fine
 * host.lock(path) -> true | nil, message   held until this process and those
 *                             that it has started are gone
 * host.log(line)                            a line on stderr */

/* ---- JSON ---- */

static void push_value(lua_State *L, const json_value *v)
{
  luaL_checkstack(L, 4, "JSON nested too deep");
  if (json_is_object(v)) {
    lua_newtable(L);
    for (v = json_first(v); v; v = json_next(v)) {
      push_value(L, v);
      lua_setfield(L, -2, json_name(v));
    }
  } else if (json_is_array(v)) {
    int n = 0;
    lua_newtable(L);
    for (v = json_first(v); v; v = json_next(v)) {
      push_value(L, v);
      lua_rawseti(L, -2, ++n);
    }
  } else if (json_is_string(v)) {
    lua_pushstring(L, json_text(v));
  } else if (json_is_number(v)) {
    lua_pushnumber(L, json_double(v, 0));
  } else if (json_is_boolean(v)) {
    lua_pushboolean(L, json_true(v));
  } else {
    lua_pushnil(L);
  }
}

static int decode_l(lua_State *L)
{
  struct str text;
  size_t at = 0;
  json_value *v;
  text.p = luaL_checklstring(L, 1, &text.len);
  if (!(v = json_parse(text, &at))) {
    lua_pushnil(L);
    lua_pushfstring(L, "not JSON from byte %d on", (int)at);
    return 2;
  }
  push_value(L, v);
  json_free(v);
  return 1;
}

static int push_buf(lua_State *L, struct buf *b)
{
  lua_pushlstring(L, buf_cstr(b), b->len);
  buf_free(b);
  return 1;
}

static int quote_l(lua_State *L)
{
  struct buf b = {0};
  struct json_writer w = {.out = &b};
  struct str s;
  s.p = luaL_checklstring(L, 1, &s.len);
  json_string(&w, s);
  return push_buf(L, &b);
}

static int number_l(lua_State *L)
{
  struct buf b = {0};
  struct json_writer w = {.out = &b};
  json_number(&w, luaL_checknumber(L, 1));
  return push_buf(L, &b);
}

/* ---- child processes ---- */

/* The signals that are waited for rather than handled, so that none is lost
 * between two children. */
static sigset_t waited_for(void)
{
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  sigaddset(&set, SIGCHLD);
  return set;
}

/* Our arguments as an argv; the strings are Lua's. */
static char **make_argv(lua_State *L, int i)
{
  size_t n = lua_objlen(L, i);
  char **argv = mem_zalloc(n + 2, sizeof *argv);
  argv[0] = (char *)"stoke";
  for (size_t k = 1; k <= n; k++) {
    lua_rawgeti(L, i, (int)k);
    argv[k] = (char *)lua_tostring(L, -1);
    lua_pop(L, 1); /* the table holds it */
  }
  return argv;
}

/* In a group of its own: what the terminal sends reaches this process alone,
 * which hands it on once. Its table is not shown. */
static void become_child(char **argv)
{
  sigset_t set = waited_for();
  int null = open("/dev/null", O_RDWR);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  dup2(null, 0);
  dup2(null, 1);
  execv("/proc/self/exe", argv);
  _exit(127);
}

static int wait_for(pid_t child, const sigset_t *set, bool *interrupted)
{
  int status = 0;
  for (;;) {
    int sig = sigwaitinfo(set, NULL);
    if (sig == SIGCHLD && waitpid(child, &status, WNOHANG) == child)
      break;
    if (sig > 0 && sig != SIGCHLD) {
      *interrupted = true;
      kill(child, sig);
    }
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_l(lua_State *L)
{
  sigset_t set = waited_for();
  bool interrupted = false;
  int status = 127;
  char **argv;
  pid_t child;
  luaL_checktype(L, 1, LUA_TTABLE);
  argv = make_argv(L, 1);
  fflush(NULL);
  sigprocmask(SIG_BLOCK, &set, NULL);
  if ((child = fork()) == 0)
    become_child(argv);
  if (child > 0)
    status = wait_for(child, &set, &interrupted);
  mem_free(argv);
  lua_pushinteger(L, status);
  lua_pushboolean(L, interrupted);
  return 2;
}

static int sleep_l(lua_State *L)
{
  double s = luaL_checknumber(L, 1);
  sigset_t set = waited_for();
  struct timespec t = {.tv_sec = (time_t)s};
  t.tv_nsec = (long)((s - (double)t.tv_sec) * 1e9);
  sigdelset(&set, SIGCHLD);
  fflush(NULL);
  sigprocmask(SIG_BLOCK, &set, NULL);
  lua_pushboolean(L, sigtimedwait(&set, NULL, &t) > 0);
  return 1;
}

static int now_l(lua_State *L)
{
  lua_pushnumber(L, ns_to_sec(clock_ns()));
  return 1;
}

static int mkdir_l(lua_State *L)
{
  const char *path = luaL_checkstring(L, 1);
  if (mkdir(path, 0777) < 0 && errno != EEXIST) {
    lua_pushnil(L);
    lua_pushfstring(L, "%s: %s", path, strerror(errno));
    return 2;
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* What a killed one has started ends a little later. */
#define LOCK_TRIES 50
#define LOCK_PAUSE (100 * NS_PER_MS)

/* The file stays open on purpose: children inherit it, and the lock. */
static int lock_l(lua_State *L)
{
  const struct timespec pause = {.tv_nsec = LOCK_PAUSE};
  const char *path = luaL_checkstring(L, 1);
  int fd = open(path, O_RDWR | O_CREAT, 0666);
  for (int i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
      lua_pushboolean(L, 1);
      return 1;
    }
    nanosleep(&pause, NULL);
  }
  lua_pushnil(L);
  if (fd >= 0)
    lua_pushliteral(L, "another one is at work there");
  else
    lua_pushstring(L, strerror(errno));
  if (fd >= 0)
    close(fd);
  return 2;
}

static int log_l(lua_State *L)
{
  log_line("%s", luaL_checkstring(L, 1));
  return 0;
}

static const luaL_Reg host_functions[] = {
    {"run", run_l},       {"sleep", sleep_l}, {"now", now_l},
    {"decode", decode_l}, {"quote", quote_l}, {"number", number_l},
    {"mkdir", mkdir_l},   {"lock", lock_l},   {"log", log_l},
    {NULL, NULL},
};

/* Lua's print, without what a terminal would obey: names of models, words of
 * servers. */
static int print_l(lua_State *L)
{
  struct buf line = {0};
  int n = lua_gettop(L);
  for (int i = 1; i <= n; i++) {
    if (i > 1)
      buf_addc(&line, '\t');
    lua_getglobal(L, "tostring");
    lua_pushvalue(L, i);
    lua_call(L, 1, 1);
    buf_adds(&line, lua_tostring(L, -1));
  }
  buf_disarm(&line);
  puts(buf_cstr(&line));
  buf_free(&line);
  return 0;
}

/* ---- questions ---- */

struct asking {
  tool_ask_cb *ask;
  void *ud;
};

static int ask_l(lua_State *L)
{
  const struct asking *a = lua_touserdata(L, lua_upvalueindex(1));
  struct buf answer = {0};
  struct str question;
  json_value *v;
  question.p = luaL_checklstring(L, 1, &question.len);
  a->ask(question, &answer, a->ud);
  v = json_parse(buf_str(&answer), NULL);
  buf_free(&answer);
  push_value(L, v);
  json_free(v);
  return 1;
}

/* ---- modules ---- */

/* package.loaders[2], which `require` asks: the embedded files alone. */
static int searcher_l(lua_State *L)
{
  const char *name = luaL_checkstring(L, 1);
  const struct embedded *e;
  lua_pushfstring(L, "lua/%s.lua", luaL_gsub(L, name, ".", "/"));
  if (!(e = embed_find(lua_tostring(L, -1)))) {
    lua_pushfstring(L, "\n\tno embedded module '%s'", name);
    return 1;
  }
  lua_pushfstring(L, "@%s", e->path);
  if (luaL_loadbuffer(L, e->source, e->len, lua_tostring(L, -1)) != 0)
    return lua_error(L);
  return 1;
}

/* Nothing is loaded from the folder that the tool happens to stand in. */
static void open_modules(lua_State *L)
{
  lua_getglobal(L, "package");
  lua_newtable(L);
  lua_getfield(L, -2, "loaders");
  lua_rawgeti(L, -1, 1);
  lua_rawseti(L, -3, 1);
  lua_pop(L, 1);
  lua_pushcfunction(L, searcher_l);
  lua_rawseti(L, -2, 2);
  lua_setfield(L, -2, "loaders");
  lua_pop(L, 1);
}

static int traceback_l(lua_State *L)
{
  luaL_traceback(L, L, lua_tostring(L, 1), 1);
  return 1;
}

/* main(name, request, asking) -> status  [-3, +1, e] */
static int main_l(lua_State *L)
{
  lua_getglobal(L, "require");
  lua_pushfstring(L, "stoke.cmd.%s", lua_tostring(L, 1));
  lua_call(L, 1, 1);
  lua_newtable(L);
  luaL_register(L, NULL, host_functions);
  if (lua_touserdata(L, 3)) {
    lua_pushvalue(L, 3);
    lua_pushcclosure(L, ask_l, 1);
    lua_setfield(L, -2, "ask");
  }
  lua_pushcfunction(L, decode_l);
  lua_pushvalue(L, 2);
  lua_call(L, 1, 1);
  lua_call(L, 2, 1);
  return 1;
}

static int run_main(const char *name, struct str request,
                    const struct asking *asking)
{
  lua_State *L = luaL_newstate();
  int status = 1;
  if (!L)
    return 1;
  luaL_openlibs(L);
  lua_pushcfunction(L, print_l);
  lua_setglobal(L, "print");
  open_modules(L);
  lua_pushcfunction(L, traceback_l);
  lua_pushcfunction(L, main_l);
  lua_pushstring(L, name);
  lua_pushlstring(L, request.p, request.len);
  lua_pushlightuserdata(L, (void *)asking);
  if (lua_pcall(L, 3, 1, 1) == 0)
    status = (int)lua_tointeger(L, -1);
  else
    log_line("%s", lua_tostring(L, -1));
  lua_close(L);
  return status;
}

int tool_run(const char *name, struct str request)
{
  return run_main(name, request, NULL);
}

int tool_run_asking(const char *name, struct str request, tool_ask_cb *ask,
                    void *ud)
{
  const struct asking asking = {ask, ud};
  return run_main(name, request, &asking);
}
