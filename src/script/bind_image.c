#include <lauxlib.h>
#include <lua.h>
#include <math.h>

#include "base/mem.h"
#include "data/base64.h"
#include "data/flac.h"
#include "data/noise_image.h"
#include "data/wav.h"
#include "script/bind_class.h"
#include "script/bind_data.h"
#include "script/files.h"
#include "script/reach.h"
#include "script/vm_impl.h"

/* stoke.noise_image(width, height)  -> image     [-0, +1, v]
 * image:url(rng)                    -> data URL  [-0, +1, v]
 * image:video(rng, frames)           -> data URL  [-0, +1, v]
 * d:media(path)        -> data URL | nil, why    [-0, +(1|2), v]
 * d:media_type(path)   -> type | nil, why        [-0, +(1|2), v]
 * d:audio(path)        -> bytes, type, seconds | nil, why
 *                                                [-0, +(2|3), v] */

#define IMAGE_MT "stoke.noise_image"

/* A video of this size is a body of some 110 MB. */
enum { VIDEO_PIXELS = 1 << 27 };

struct image {
  struct noise_image *noise;
  double pixels;
  struct buf file, url;
};

/* Bytes of it, none of which is in the Lua heap. */
static size_t size_of(const struct image *x)
{
  size_t noise = x->noise ? noise_image_size(x->noise) : 0;
  return noise + x->file.cap + x->url.cap;
}

static void begin_url(struct buf *url, const char *type)
{
  buf_reset(url);
  buf_addf(url, "data:%s;base64,", type);
}

/* ---- noise ---- */

static unsigned check_side(lua_State *L, int i)
{
  double x = luaL_checknumber(L, i);
  luaL_argcheck(L, x >= 1 && x <= NOISE_IMAGE_SIDE && x == (double)(unsigned)x,
                i, "a side of an image is 1 to 8192 pixels");
  return (unsigned)x;
}

static int noise_image_l(lua_State *L)
{
  struct vm *vm = vm_of(L);
  unsigned width = check_side(L, 1), height = check_side(L, 2);
  struct image *x;
  vm_room_outside(L);
  x = lua_newuserdata(L, sizeof *x);
  *x = (struct image){.pixels = (double)width * height};
  luaL_getmetatable(L, IMAGE_MT);
  lua_setmetatable(L, -2);
  vm_guard(vm);
  x->noise = noise_image_new(width, height, vm_seed(vm));
  vm->outside += size_of(x);
  vm_unguard(vm);
  return 1;
}

static void add_picture(struct image *x, struct rng *r)
{
  buf_reset(&x->file);
  noise_image_deal(x->noise, r, &x->file);
  base64_encode(&x->url, buf_str(&x->file));
}

/* So many pictures with commas between as a data URL, pushed. [-0, +1, v] */
static int push_pictures(lua_State *L, struct image *x, const char *type,
                         double n)
{
  struct vm *vm = vm_of(L);
  struct rng *r = check_rng(L, 2);
  vm_room_outside(L);
  vm_guard(vm);
  vm->outside -= size_of(x);
  begin_url(&x->url, type);
  for (double i = 1; i <= n; i++) {
    if (i > 1)
      buf_add(&x->url, ",", 1);
    add_picture(x, r);
  }
  vm->outside += size_of(x);
  vm_unguard(vm);
  lua_pushlstring(L, x->url.p, x->url.len);
  return 1;
}

static int url_l(lua_State *L)
{
  return push_pictures(L, bind_self(L, 1, IMAGE_MT), "image/jpeg", 1);
}

/* A video without a codec, as vLLM reads it: JPEGs with commas between. */
static int video_l(lua_State *L)
{
  struct image *x = bind_self(L, 1, IMAGE_MT);
  double frames;
  check_rng(L, 2); /* arguments are told in their order */
  frames = luaL_checknumber(L, 3);
  luaL_argcheck(L, frames >= 1 && frames == floor(frames), 3,
                "a video has 1 frame and more");
  luaL_argcheck(L, frames * x->pixels <= VIDEO_PIXELS, 3,
                "a video has at most 2^27 pixels");
  return push_pictures(L, x, "video/jpeg", frames);
}

static int gc_l(lua_State *L)
{
  struct image *x = bind_self(L, 1, IMAGE_MT);
  struct vm *vm = vm_of(L);
  vm_guard(vm);
  vm->outside -= size_of(x);
  noise_image_free(x->noise);
  buf_free(&x->file);
  buf_free(&x->url);
  vm_unguard(vm);
  return 0;
}

/* ---- files beside a data file ---- */

#define NO_MEDIA "neither picture nor sound nor video"

/* By its first bytes: a picture, sound or video, or NULL. A script cannot have
 * anything else read to it this way. */
static const char *media_type(struct str s)
{
  static const struct {
    size_t at;
    const char *bytes, *type;
  } kinds[] = {
      {0, "\xff\xd8\xff", "image/jpeg"},
      {0, "\x89PNG\r\n", "image/png"},
      {0, "GIF8", "image/gif"},
      {8, "WEBP", "image/webp"},
      {8, "WAVE", "audio/wav"},
      {0, "fLaC", "audio/flac"},
      {0, "ID3", "audio/mpeg"},
      {0, "\xff\xfb", "audio/mpeg"},
      {0, "OggS", "audio/ogg"},
      {4, "ftyp", "video/mp4"},
      {0, "\x1a\x45\xdf\xa3", "video/webm"},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    struct str from = {s.p + kinds[i].at, s.len - kinds[i].at};
    if (s.len > kinds[i].at && str_starts(from, str_of(kinds[i].bytes)))
      return kinds[i].type;
  }
  return NULL;
}

/* The folder of a data file that the script may see; owned by the caller. */
static char *folder_of(const struct vm *vm, const char *data, char why[128])
{
  char *real = reach(vm, data, why);
  if (real)
    *strrchr(real, '/') = '\0';
  return real;
}

/* Enough to tell what a file is. */
enum { HEAD = 16, ALL = 0 };

/* Into the VM's scratch, at most `most` bytes or ALL. 0, or -1 and why. */
static int read_beside(struct vm *vm, const char *data, const char *name,
                       size_t most, char why[128])
{
  char *folder = folder_of(vm, data, why), *path, *real;
  int status = -1;
  if (!folder)
    return -1;
  path = name[0] == '/' ? mem_strdup(name) : files_join(folder, name);
  real = files_real(path);
  buf_reset(&vm->scratch);
  if (!real)
    snprintf(why, 128, "no such file");
  else if (!files_inside(real, folder))
    snprintf(why, 128, "does not lie in the folder of the data file");
  else if (most == ALL)
    status = files_read(real, &vm->scratch, why);
  else
    status = files_peek(real, most, &vm->scratch, why);
  mem_free(real);
  mem_free(path);
  mem_free(folder);
  return status;
}

/* The file that d:media and the like name, in the VM's scratch: its type, which
 * begins with `kind`. NULL: nil and why have been pushed. [-0, +(0|2), v] */
static const char *read_media(lua_State *L, size_t most, const char *kind,
                              const char *other)
{
  struct vm *vm = vm_of(L);
  const struct data_view *v = data_to_view(L, 1);
  const char *name = luaL_checkstring(L, 2), *type = NULL;
  char why[128];
  luaL_argcheck(L, v, 1, "a data file is wanted");
  snprintf(why, sizeof why, "is %s", other);
  vm_guard(vm);
  if (read_beside(vm, data_info(v->file).shown, name, most, why) == 0)
    type = media_type(buf_str(&vm->scratch));
  vm_unguard(vm);
  if (type && str_starts(str_of(type), str_of(kind)))
    return type;
  lua_pushnil(L);
  lua_pushfstring(L, "%s: %s", name, why);
  return NULL;
}

int data_media_l(lua_State *L)
{
  struct vm *vm = vm_of(L);
  const char *type = read_media(L, ALL, "", NO_MEDIA);
  if (!type)
    return 2;
  vm_guard(vm);
  begin_url(&vm->extra, type);
  base64_encode(&vm->extra, buf_str(&vm->scratch));
  vm_unguard(vm);
  lua_pushlstring(L, vm->extra.p, vm->extra.len);
  return 1;
}

int data_media_type_l(lua_State *L)
{
  const char *type = read_media(L, HEAD, "", NO_MEDIA);
  if (!type)
    return 2;
  lua_pushstring(L, type);
  return 1;
}

int data_audio_l(lua_State *L)
{
  struct vm *vm = vm_of(L);
  const char *type = read_media(L, ALL, "audio/", "no sound");
  double seconds;
  if (!type)
    return 2;
  seconds = wav_seconds(buf_str(&vm->scratch)) +
            flac_seconds(buf_str(&vm->scratch)); /* one of them, or none */
  lua_pushlstring(L, vm->scratch.p, vm->scratch.len);
  lua_pushstring(L, type);
  if (seconds > 0)
    lua_pushnumber(L, seconds);
  else
    lua_pushnil(L);
  return 3;
}

void bind_image(lua_State *L)
{
  static const luaL_Reg methods[] = {
      {"url", url_l}, {"video", video_l}, {NULL, NULL}};
  bind_class(L, &(struct bind_class){
                    .name = IMAGE_MT, .methods = methods, .gc = gc_l});
  lua_pushcfunction(L, noise_image_l);
}
