#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "files.h"
#include "report/output.h"

/* A folder of its own for each test. */
struct place {
  char dir[64], file[128];
};

static int setup(void **state)
{
  static struct place p;
  strcpy(p.dir, "/tmp/stoke-output-XXXXXX");
  assert_non_null(mkdtemp(p.dir));
  snprintf(p.file, sizeof p.file, "%s/r.json", p.dir);
  *state = &p;
  return 0;
}

/* Names in the folder. */
static int entries(const struct place *p)
{
  DIR *d = opendir(p->dir);
  int n = 0;
  while (readdir(d))
    n++;
  closedir(d);
  return n - 2;
}

static int teardown(void **state)
{
  const struct place *p = *state;
  DIR *d = opendir(p->dir);
  for (struct dirent *e; (e = readdir(d));)
    unlinkat(dirfd(d), e->d_name, 0);
  closedir(d);
  return rmdir(p->dir);
}

static void assert_contents(const struct place *p, const char *want)
{
  struct buf text = file_read(p->file);
  assert_string_equal(buf_cstr(&text), want);
  buf_free(&text);
}

static void saves_and_leaves_nothing_else(void **state)
{
  const struct place *p = *state;
  struct err e = {0};
  struct stat st;
  mode_t mask = umask(022);
  assert_int_equal(output_check(p->file, false, &e), 0);
  assert_int_equal(entries(p), 0);
  assert_int_equal(output_save(p->file, false, STR("{}\n"), &e), 0);
  assert_contents(p, "{}\n");
  assert_int_equal(entries(p), 1);
  assert_int_equal(stat(p->file, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0644);
  assert_int_equal(e.count, 0);
  umask(mask);
}

static void an_existing_file_needs_force(void **state)
{
  const struct place *p = *state;
  struct err e = {0};
  output_save(p->file, false, STR("old"), &e);
  assert_int_equal(output_check(p->file, false, &e), -1);
  assert_non_null(strstr(err_text(&e), "--force"));
  assert_int_equal(output_save(p->file, false, STR("new"), &e), -1);
  assert_contents(p, "old");
  assert_int_equal(output_check(p->file, true, &e), 0);
  assert_contents(p, "old");
  assert_int_equal(output_save(p->file, true, STR("new"), &e), 0);
  assert_contents(p, "new");
  assert_int_equal(entries(p), 1);
  err_free(&e);
}

static void x14_unwritable_places_are_told_before(void **state)
{
  const struct place *p = *state;
  struct err e = {0};
  char path[128];
  snprintf(path, sizeof path, "%s/no/such/r.json", p->dir);
  assert_int_equal(output_check(path, false, &e), -1);
  assert_non_null(strstr(err_text(&e), path));
  assert_int_equal(output_check(p->dir, true, &e), -1);
  assert_non_null(strstr(err_text(&e), "folder"));
  assert_int_equal(output_check("", false, &e), -1);
  assert_int_equal(output_check("-", false, &e), 0);
  assert_int_equal(output_check("/dev/null", false, &e), 0);
  assert_int_equal(e.count, 3);
  err_free(&e);
}

/* Runs fn in a process whose files may hold `bytes`, as on a disk that is
 * full. fn returns 0 when all was well, and must have printed the digits. */
static int with_full_disk(int (*fn)(const struct place *),
                          const struct place *p, rlim_t bytes)
{
  int status, pipes[2];
  char text[64] = {0};
  pid_t pid;
  assert_int_equal(pipe(pipes), 0);
  pid = fork();
  if (pid == 0) {
    struct rlimit limit = {bytes, bytes};
    signal(SIGXFSZ, SIG_IGN);
    dup2(pipes[1], STDOUT_FILENO); /* a pipe has no such limit */
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(fn(p));
  }
  close(pipes[1]);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(read(pipes[0], text, sizeof text - 1) >= 0);
  close(pipes[0]);
  assert_string_equal(text, "0123456789");
  return WEXITSTATUS(status);
}

static int check_when_full(const struct place *p)
{
  struct err e = {0};
  int rc = output_check(p->file, false, &e);
  return rc == -1 && strstr(err_text(&e), "cannot be written") &&
                 write(STDOUT_FILENO, "0123456789", 10) == 10
             ? 0
             : 1;
}

static int save_when_full(const struct place *p)
{
  struct err e = {0};
  int rc = output_save_or_print(p->file, true, STR("0123456789"), &e);
  return rc == -1 && strstr(err_text(&e), "standard output") ? 0 : 1;
}

static void x14_a_full_disk(void **state)
{
  const struct place *p = *state;
  struct err e = {0};
  assert_int_equal(with_full_disk(check_when_full, p, 100), 0);
  assert_int_equal(entries(p), 0);
  output_save(p->file, false, STR("old"), &e);
  assert_int_equal(with_full_disk(save_when_full, p, 5), 0);
  assert_contents(p, "old");
  assert_int_equal(entries(p), 1);
}

static void b131_lines_are_appended_whole(void **state)
{
  const struct place *p = *state;
  struct err e = {0};
  assert_int_equal(output_append(p->file, STR("{\"a\":1}"), &e), 0);
  assert_int_equal(output_append(p->file, STR("{\"a\":2}\n"), &e), 0);
  assert_contents(p, "{\"a\":1}\n{\"a\":2}\n");
  /* A run that was killed in the middle of a line spoils only that one. */
  output_save(p->file, true, STR("{\"a\":1}\n{\"a\""), &e);
  assert_int_equal(output_append(p->file, STR("{\"a\":3}"), &e), 0);
  assert_contents(p, "{\"a\":1}\n{\"a\"\n{\"a\":3}\n");
  assert_int_equal(output_append("/no/such/folder/x", STR("{}"), &e), -1);
  assert_int_equal(e.count, 1);
  err_free(&e);
}

static void x05_names_stay_in_their_folder(void **state)
{
  uint64_t at = 0;
  char *name = output_name("openai", INFINITY, 0, "org/na:me/../../x", at);
  (void)state;
  assert_null(strchr(name, '/'));
  assert_non_null(strstr(name, "openai-infqps-x-"));
  assert_non_null(strstr(name, ".json"));
  mem_free(name);
  name = output_name("openai-chat", 8, 32, "meta/llama-3", at);
  assert_non_null(strstr(name, "openai-chat-8.0qps-concurrency32-llama-3-"));
  mem_free(name);
  name = output_name("../../a", 0.5, 0, "x/..", at);
  assert_null(strchr(name, '/'));
  assert_int_equal(strncmp(name, "a-0.5qps-model-", 15), 0);
  mem_free(name);
  name = output_name("l", 50, 0, "a\nb\\c:d", at);
  assert_non_null(strstr(name, "l-50.0qps-a_b_c_d-"));
  mem_free(name);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      CASE(saves_and_leaves_nothing_else),
      CASE(an_existing_file_needs_force),
      CASE(x14_unwritable_places_are_told_before),
      CASE(x14_a_full_disk),
      CASE(b131_lines_are_appended_whole),
      CASE(x05_names_stay_in_their_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
