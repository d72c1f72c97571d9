#include <lauxlib.h>
#include <lua.h>

#include "base/mem.h"
#include "data/hub.h"
#include "data/tokenizer_store.h"
#include "script/bind_class.h"
#include "script/bindings.h"
#include "script/reach.h"
#include "script/vm_impl.h"

/* stoke.tokenizer.open(path)      -> t            [-0, +1, e]
 * t:encode(text[, special])       -> ids          [-0, +1, e]
 * t:decode(ids[, leave_out])      -> text         [-0, +1, e]
 * t:count(text[, special])        -> n            [-0, +1, e]
 * t:random(rng, n[, prefix])      -> text | nil   [-0, +1, e]
 * t.path .vocab_size .special .words              [-0, +1, -] */

#define TOKENIZER_MT "stoke.tokenizer"

/* A text of so many random words in a row is counted, the others are taken
 * to be as good: their words were tried together when they were chosen. */
enum { COUNT_EVERY = 64 };

struct handle {
  struct stored_tokenizer *stored;
  const struct tokenizer *t;
  struct tokenizer_scratch *scratch;
  const struct token_text *words; /* NULL: not asked for yet */
  struct token_list ids;
  struct buf text;
  unsigned drawn; /* texts since the last that was counted */
  bool doubted;   /* one was wrong: all are counted */
};

static struct handle *check_handle(lua_State *L)
{
  return bind_self(L, 1, TOKENIZER_MT);
}

struct stored_tokenizer *tokenizer_to_stored(lua_State *L, int i)
{
  struct handle *h = lua_touserdata(L, i);
  bool is = false;
  if (h && lua_getmetatable(L, i)) {
    luaL_getmetatable(L, TOKENIZER_MT);
    is = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
  }
  return is ? h->stored : NULL;
}

void tokenizer_push(lua_State *L, struct stored_tokenizer *stored)
{
  struct vm *vm = vm_of(L);
  struct handle *h = lua_newuserdata(L, sizeof *h);
  *h = (struct handle){
      .stored = stored, .t = stored_tokenizer(stored), .text.max = 256 << 20};
  luaL_getmetatable(L, TOKENIZER_MT);
  lua_setmetatable(L, -2);
  vm_guard(vm);
  h->scratch = tokenizer_scratch_new(h->t);
  vm_unguard(vm);
}

static int gc_l(lua_State *L)
{
  struct handle *h = check_handle(L);
  vm_guard(vm_of(L));
  tokenizer_scratch_free(h->scratch);
  token_list_free(&h->ids);
  buf_free(&h->text);
  vm_unguard(vm_of(L));
  return 0;
}

/* ---- open ---- */

/* A file that the script may see, or a model in the hub's cache: of that a
 * script learns no more than its tokens. NULL with the reasons in *e. */
static struct stored_tokenizer *open_named(struct vm *vm, const char *name,
                                           struct err *e)
{
  struct stored_tokenizer *stored = NULL;
  char why[128], *real = reach(vm, name, why);
  if (!real)
    real = hub_find(name, "tokenizer.json");
  if (real)
    stored = tokenizer_store_open(vm->scenario->tokenizers, real, e);
  else if (hub_is_name(name))
    tokenizer_free(tokenizer_open(name, e));
  else
    err_add(e, "%s: %s", name, why);
  mem_free(real);
  return stored;
}

static int open_l(lua_State *L)
{
  struct vm *vm = vm_of(L);
  const char *name = luaL_checkstring(L, 1);
  struct stored_tokenizer *stored;
  struct err e = {0};
  vm_guard(vm);
  stored = open_named(vm, name, &e);
  buf_reset(&vm->scratch);
  buf_addstr(&vm->scratch, str_trim(str_of(err_text(&e))));
  buf_cstr(&vm->scratch);
  err_free(&e);
  vm_unguard(vm);
  if (!stored)
    return luaL_error(L, "%s", buf_cstr(&vm->scratch));
  tokenizer_push(L, stored);
  return 1;
}

/* ---- texts and ids ---- */

static int gave_up(lua_State *L)
{
  return luaL_error(L, "the tokenizer gave up on this text");
}

static unsigned special_flag(lua_State *L, int i, unsigned flag)
{
  return lua_toboolean(L, i) ? flag : 0;
}

static int encode_l(lua_State *L)
{
  struct handle *h = check_handle(L);
  struct vm *vm = vm_of(L);
  struct str text;
  int status;
  text.p = luaL_checklstring(L, 2, &text.len);
  h->ids.n = 0;
  vm_guard(vm);
  status = tokenizer_encode(h->t, h->scratch, text,
                            special_flag(L, 3, TOKENIZER_ADD_SPECIAL), &h->ids);
  vm_unguard(vm);
  if (status < 0)
    return gave_up(L);
  lua_createtable(L, (int)h->ids.n, 0);
  for (size_t i = 0; i < h->ids.n; i++) {
    lua_pushnumber(L, h->ids.ids[i]);
    lua_rawseti(L, -2, (int)i + 1);
  }
  return 1;
}

static int count_l(lua_State *L)
{
  struct handle *h = check_handle(L);
  struct vm *vm = vm_of(L);
  struct str text;
  size_t n;
  int status;
  text.p = luaL_checklstring(L, 2, &text.len);
  vm_guard(vm);
  status = tokenizer_count(h->t, h->scratch, text,
                           special_flag(L, 3, TOKENIZER_ADD_SPECIAL), &n);
  vm_unguard(vm);
  if (status < 0)
    return gave_up(L);
  lua_pushnumber(L, (lua_Number)n);
  return 1;
}

static void read_ids(lua_State *L, struct handle *h)
{
  size_t n = lua_objlen(L, 2);
  h->ids.n = 0;
  for (size_t i = 1; i <= n; i++) {
    double id;
    lua_rawgeti(L, 2, (int)i);
    id = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : -1;
    if (!(id >= 0 && id <= UINT32_MAX && id == (double)(uint32_t)id))
      luaL_argerror(L, 2, "a list of token ids is wanted");
    token_list_add(&h->ids, (uint32_t)id);
    lua_pop(L, 1);
  }
}

static int decode_l(lua_State *L)
{
  struct handle *h = check_handle(L);
  struct vm *vm = vm_of(L);
  int status;
  luaL_checktype(L, 2, LUA_TTABLE);
  read_ids(L, h);
  buf_reset(&h->text);
  vm_guard(vm);
  status =
      tokenizer_decode(h->t, h->scratch, h->ids.ids, h->ids.n,
                       special_flag(L, 3, TOKENIZER_SKIP_SPECIAL), &h->text);
  vm_unguard(vm);
  if (status < 0)
    return gave_up(L);
  lua_pushlstring(L, h->text.p ? h->text.p : "", h->text.len);
  return 1;
}

/* ---- random texts ---- */

static const struct token_text *words_of(struct vm *vm, struct handle *h)
{
  if (!h->words) {
    vm_guard(vm);
    h->words = stored_tokenizer_text(h->stored, h->scratch);
    vm_unguard(vm);
  }
  return h->words;
}

/* Behind what h->text holds. */
static int draw(struct handle *h, struct rng *r, size_t n)
{
  size_t start = h->text.len;
  struct rng before = *r;
  bool fine;
  if (!h->doubted && h->drawn++ % COUNT_EVERY)
    return token_text_draw(h->words, r, n, &h->text);
  if (h->doubted)
    return token_text_exact(h->words, h->t, h->scratch, r, n, &h->text);
  if (token_text_draw(h->words, r, n, &h->text) < 0)
    return -1;
  fine = token_text_is(h->t, h->scratch, buf_str(&h->text), start, n);
  if (fine)
    return 0;
  h->doubted = true;
  h->text.len = start;
  *r = before;
  return token_text_exact(h->words, h->t, h->scratch, r, n, &h->text);
}

static int random_l(lua_State *L)
{
  struct handle *h = check_handle(L);
  struct vm *vm = vm_of(L);
  struct rng *r = check_rng(L, 2);
  double n = luaL_checknumber(L, 3);
  struct str prefix = {NULL, 0};
  int status;
  luaL_argcheck(L, n >= 0 && n <= 1 << 24 && n == (double)(size_t)n, 3,
                "a whole number of tokens, 2^24 at most");
  if (!lua_isnoneornil(L, 4))
    prefix.p = luaL_checklstring(L, 4, &prefix.len);
  if (!words_of(vm, h)->n) {
    lua_pushnil(L);
    return 1;
  }
  vm_guard(vm);
  buf_reset(&h->text);
  buf_addstr(&h->text, prefix);
  status = draw(h, r, (size_t)n);
  vm_unguard(vm);
  if (status < 0)
    return luaL_error(L, "no text of exactly %d tokens could be made", (int)n);
  lua_pushlstring(L, h->text.p ? h->text.p : "", h->text.len);
  return 1;
}

/* ---- the type ---- */

static size_t count_special(struct vm *vm, struct handle *h)
{
  size_t n = 0;
  vm_guard(vm);
  tokenizer_count(h->t, h->scratch, STR(""), TOKENIZER_ADD_SPECIAL, &n);
  vm_unguard(vm);
  return n;
}

/* A method, or what is known of it; the methods are upvalue 1. */
static int index_l(lua_State *L)
{
  struct handle *h = check_handle(L);
  struct vm *vm = vm_of(L);
  const char *name = luaL_checkstring(L, 2);
  if (bind_class_method(L))
    return 1;
  if (strcmp(name, "path") == 0)
    lua_pushstring(L, stored_tokenizer_path(h->stored));
  else if (strcmp(name, "vocab_size") == 0)
    lua_pushnumber(L, tokenizer_vocab_size(h->t));
  else if (strcmp(name, "special") == 0)
    lua_pushnumber(L, (lua_Number)count_special(vm, h));
  else if (strcmp(name, "words") == 0)
    lua_pushnumber(L, (lua_Number)words_of(vm, h)->n);
  else
    return luaL_error(L, "a tokenizer has no '%s'", name);
  return 1;
}

void bind_tokenizer(lua_State *L)
{
  static const luaL_Reg methods[] = {
      {"encode", encode_l}, {"decode", decode_l}, {"count", count_l},
      {"random", random_l}, {NULL, NULL},
  };
  bind_class(L, &(struct bind_class){.name = TOKENIZER_MT,
                                     .methods = methods,
                                     .index = index_l,
                                     .gc = gc_l});
  lua_newtable(L);
  lua_pushcfunction(L, open_l);
  lua_setfield(L, -2, "open");
}
