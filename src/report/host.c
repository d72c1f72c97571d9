#include "report/host.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

static void write_text(struct json_writer *w, const char *key, const char *text)
{
  json_key(w, key);
  json_string(w, str_of(text));
}

/* "model name" of the first processor; empty where the system has no such
 * file or line. */
static void cpu_model(char *out, size_t size)
{
  FILE *f = fopen("/proc/cpuinfo", "r");
  char line[256];
  out[0] = '\0';
  while (f && fgets(line, sizeof line, f)) {
    struct str value = str_of(line), key = str_trim(str_split(&value, ':'));
    value = str_trim(value);
    if (str_eq(key, STR("model name"))) {
      snprintf(out, size, "%.*s", STR_ARG(value));
      break;
    }
  }
  if (f)
    fclose(f);
}

static void write_count(struct json_writer *w, const char *key, double n)
{
  json_key(w, key);
  if (n > 0)
    json_integer(w, (int64_t)n);
  else
    json_null(w);
}

void host_write(struct json_writer *w)
{
  struct utsname u = {0};
  char model[256], system[sizeof u.sysname + sizeof u.release + 1];
  double page = (double)sysconf(_SC_PAGESIZE);
  uname(&u);
  cpu_model(model, sizeof model);
  snprintf(system, sizeof system, "%s %s", u.sysname, u.release);
  json_begin_object(w);
  write_text(w, "name", u.nodename);
  write_text(w, "system", system);
  write_text(w, "machine", u.machine);
  write_count(w, "cpus", (double)sysconf(_SC_NPROCESSORS_ONLN));
  json_key(w, "cpu_model");
  if (model[0])
    json_string(w, str_of(model));
  else
    json_null(w);
  write_count(w, "memory_bytes", page * (double)sysconf(_SC_PHYS_PAGES));
  json_end_object(w);
}
