#include <lauxlib.h>
#include <lua.h>
#include <math.h>

#include "script/bind_class.h"
#include "script/bindings.h"
#include "script/vm_impl.h"
#include "script/words.h"

/* All [-0, +1, v]:
 * rng:uniform([lo, hi])       a number, [0, 1) by default
 * rng:int(lo, hi)             a whole number, both ends included
 * rng:normal([mean, sd])
 * rng:lognormal(median, sigma)
 * rng:exp(mean)
 * rng:gamma(shape, scale)     its mean is shape * scale
 * rng:zipf(n, s)              1..n, weight k^-s
 * rng:bool([p])               true with probability p, 0.5 by default
 * rng:pick(list)              one item
 * rng:weighted(weights)       a key, by its weight (or an index)
 * rng:shuffle(list)           the list itself, shuffled in place
 * rng:hex(n)                  n hexadecimal digits
 * rng:words(n[, list])        n words with blanks between them */

#define RNG_MT "stoke.rng"

struct rng *check_rng(lua_State *L, int i)
{
  return bind_self(L, i, RNG_MT);
}

struct rng *rng_push(lua_State *L)
{
  struct rng *r = lua_newuserdata(L, sizeof *r);
  rng_init(r, 0, RNG_SETUP, 0);
  luaL_getmetatable(L, RNG_MT);
  lua_setmetatable(L, -2);
  return r;
}

/* A finite number. */
static double check_finite(lua_State *L, int i)
{
  double x = luaL_checknumber(L, i);
  luaL_argcheck(L, isfinite(x), i, "a finite number is wanted");
  return x;
}

static double opt_finite(lua_State *L, int i, double otherwise)
{
  return lua_isnoneornil(L, i) ? otherwise : check_finite(L, i);
}

static double check_not_below(lua_State *L, int i, double lowest,
                              const char *why)
{
  double x = check_finite(L, i);
  luaL_argcheck(L, x >= lowest, i, why);
  return x;
}

static size_t check_count(lua_State *L, int i, size_t most)
{
  double x = check_not_below(L, i, 0, "must not be negative");
  luaL_argcheck(L, x <= (double)most, i, "too many");
  return (size_t)x;
}

static int uniform_l(lua_State *L)
{
  struct rng *r = check_rng(L, 1);
  double lo = opt_finite(L, 2, 0), hi = opt_finite(L, 3, 1);
  luaL_argcheck(L, lo <= hi, 3, "lo must not be above hi");
  lua_pushnumber(L, rng_uniform(r, lo, hi));
  return 1;
}

static int int_l(lua_State *L)
{
  struct rng *r = check_rng(L, 1);
  double lo = ceil(check_finite(L, 2)), hi = floor(check_finite(L, 3));
  luaL_argcheck(L, lo <= hi, 3, "lo must not be above hi");
  luaL_argcheck(L, lo >= -0x1p53 && hi <= 0x1p53, 3,
                "beyond what a number holds exactly");
  lua_pushnumber(L, (lua_Number)rng_int(r, (int64_t)lo, (int64_t)hi));
  return 1;
}

static int normal_l(lua_State *L)
{
  struct rng *r = check_rng(L, 1);
  double mean = opt_finite(L, 2, 0), sd = opt_finite(L, 3, 1);
  luaL_argcheck(L, sd >= 0, 3, "sd must not be negative");
  lua_pushnumber(L, rng_normal(r, mean, sd));
  return 1;
}

static int lognormal_l(lua_State *L)
{
  struct rng *r = check_rng(L, 1);
  double median = check_finite(L, 2);
  double sigma = check_not_below(L, 3, 0, "sigma must not be negative");
  luaL_argcheck(L, median > 0, 2, "the median must be above 0");
  lua_pushnumber(L, rng_lognormal(r, log(median), sigma));
  return 1;
}

static int exp_l(lua_State *L)
{
  struct rng *r = check_rng(L, 1);
  double mean = check_not_below(L, 2, 0, "the mean must not be negative");
  lua_pushnumber(L, rng_exp(r, mean));
  return 1;
}

static int gamma_l(lua_State *L)
{
  struct rng *r = check_rng(L, 1);
  double shape = check_finite(L, 2);
  double scale = check_not_below(L, 3, 0, "the scale must not be negative");
  luaL_argcheck(L, shape > 0, 2, "the shape must be above 0");
  lua_pushnumber(L, rng_gamma(r, shape, scale));
  return 1;
}

static int zipf_l(lua_State *L)
{
  struct rng *r = check_rng(L, 1);
  double n = floor(check_not_below(L, 2, 1, "n must be at least 1"));
  double s = check_not_below(L, 3, 0, "s must not be negative");
  luaL_argcheck(L, n <= 0x1p53, 2, "too many");
  lua_pushnumber(L, (lua_Number)rng_zipf(r, (uint64_t)n, s));
  return 1;
}

static int bool_l(lua_State *L)
{
  struct rng *r = check_rng(L, 1);
  double p = opt_finite(L, 2, 0.5);
  luaL_argcheck(L, p >= 0 && p <= 1, 2, "a probability is from 0 to 1");
  lua_pushboolean(L, rng_bool(r, p));
  return 1;
}

static int pick_l(lua_State *L)
{
  struct rng *r = check_rng(L, 1);
  size_t n;
  luaL_checktype(L, 2, LUA_TTABLE);
  n = lua_objlen(L, 2);
  luaL_argcheck(L, n > 0, 2, "the list is empty");
  lua_rawgeti(L, 2, (int)rng_below(r, n) + 1);
  return 1;
}

static double check_weight(lua_State *L)
{
  double w = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : -1;
  if (!(w >= 0) || !isfinite(w))
    luaL_argerror(L, 2, "weights are numbers from 0 up");
  return w;
}

/* { 1, 2, 5 } gives an index. */
static int weighted_index(lua_State *L, struct rng *r, int n)
{
  double sum = 0, x;
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, 2, i);
    sum += check_weight(L);
    lua_pop(L, 1);
  }
  luaL_argcheck(L, sum > 0, 2, "all weights are 0");
  x = rng_double(r) * sum;
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, 2, i);
    x -= lua_tonumber(L, -1);
    lua_pop(L, 1);
    if (x < 0 || i == n) {
      lua_pushinteger(L, i);
      break;
    }
  }
  return 1;
}

/* { short = 3, long = 1 } gives a key. The order in which a table's keys come
 * is not the same everywhere, so the draw must not depend on it: of an
 * exponential with rate w for each key the smallest wins with probability
 * w / sum, and the variate of a key comes from its own name. */
static int weighted_key(lua_State *L, struct rng *r)
{
  uint64_t draw = rng_u64(r);
  double best = INFINITY;
  lua_pushnil(L);
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    double w = check_weight(L), x;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    struct rng own;
    size_t len;
    const char *key;
    if (lua_type(L, -2) != LUA_TSTRING)
      return luaL_argerror(L, 2, "give a list of weights, or names with one");
    key = lua_tolstring(L, -2, &len);
    for (size_t i = 0; i < len; i++)
      hash = (hash ^ (unsigned char)key[i]) * UINT64_C(0x100000001b3);
    rng_init(&own, draw, RNG_REQUEST, hash);
    x = w > 0 ? rng_exp(&own, 1 / w) : INFINITY;
    lua_pop(L, 1);
    if (x < best) {
      best = x;
      lua_pushvalue(L, -1);
      lua_replace(L, -3);
    }
  }
  luaL_argcheck(L, !lua_isnil(L, -1), 2, "all weights are 0, or none is there");
  return 1;
}

static int weighted_l(lua_State *L)
{
  struct rng *r = check_rng(L, 1);
  int n;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  n = (int)lua_objlen(L, 2);
  return n ? weighted_index(L, r, n) : weighted_key(L, r);
}

static int shuffle_l(lua_State *L)
{
  struct rng *r = check_rng(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  for (int i = (int)lua_objlen(L, 2); i > 1; i--) {
    int j = (int)rng_below(r, (uint64_t)i) + 1;
    lua_rawgeti(L, 2, i);
    lua_rawgeti(L, 2, j);
    lua_rawseti(L, 2, i);
    lua_rawseti(L, 2, j);
  }
  return 1;
}

static int hex_l(lua_State *L)
{
  struct rng *r = check_rng(L, 1);
  size_t n = check_count(L, 2, 1 << 20);
  luaL_Buffer b;
  uint64_t bits = 0;
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < n; i++) {
    if (i % 16 == 0)
      bits = rng_u64(r);
    luaL_addchar(&b, "0123456789abcdef"[bits & 15]);
    bits >>= 4;
  }
  luaL_pushresult(&b);
  return 1;
}

/* n words of the list at 3. */
static int words_of_list(lua_State *L, struct rng *r, size_t n)
{
  size_t of = lua_objlen(L, 3);
  luaL_Buffer b;
  luaL_argcheck(L, of > 0 || n == 0, 3, "the list is empty");
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < n; i++) {
    if (i)
      luaL_addchar(&b, ' ');
    lua_rawgeti(L, 3, (int)rng_below(r, of) + 1);
    if (!lua_isstring(L, -1))
      luaL_argerror(L, 3, "a list of strings is wanted");
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  return 1;
}

static int words_l(lua_State *L)
{
  struct rng *r = check_rng(L, 1);
  size_t n = check_count(L, 2, 1 << 24);
  luaL_Buffer b;
  if (!lua_isnoneornil(L, 3)) {
    luaL_checktype(L, 3, LUA_TTABLE);
    return words_of_list(L, r, n);
  }
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < n; i++) {
    if (i)
      luaL_addchar(&b, ' ');
    luaL_addstring(&b, words[rng_below(r, words_count)]);
  }
  luaL_pushresult(&b);
  return 1;
}

void bind_rng(lua_State *L)
{
  static const luaL_Reg methods[] = {
      {"uniform", uniform_l},     {"int", int_l},         {"normal", normal_l},
      {"lognormal", lognormal_l}, {"exp", exp_l},         {"gamma", gamma_l},
      {"zipf", zipf_l},           {"bool", bool_l},       {"pick", pick_l},
      {"weighted", weighted_l},   {"shuffle", shuffle_l}, {"hex", hex_l},
      {"words", words_l},         {NULL, NULL},
  };
  bind_class(L, &(struct bind_class){.name = RNG_MT, .methods = methods});
}
