# stoke: a Lua-scriptable load tester for LLM endpoints.
# `make help` lists the targets; V= picks a build variant.

V      ?= release
PREFIX ?= /usr/local
B      := build/$(V)

# Debian 12 packages: of the program, then of its tests and benches. Nothing
# below may need one of them before `make deps` ran, or `make demo` fails on
# a new machine.
DEPS := gcc libc6-dev pkg-config ca-certificates luajit libluajit-5.1-dev \
  libcurl4-openssl-dev libcjson-dev libev-dev nettle-dev node-llhttp zlib1g-dev \
  libpcre2-dev libutf8proc-dev libarchive-dev libyaml-dev libjpeg62-turbo-dev
TEST_DEPS := clang clang-format libclang-rt-14-dev libcmocka-dev lua-check \
  perl openssl procps nginx wrk gnuplot-nox python3-pytest python3-pytest-xdist \
  python3-pytest-timeout

PYTHON ?= /usr/bin/python3
PYTEST := $(PYTHON) -m pytest -q -p no:cacheprovider

# Asked when something is compiled, and then once: each replaces itself.
PKGS       := luajit libcurl libcjson nettle libpcre2-8 libutf8proc libarchive yaml-0.1 libjpeg
pkg-config  = $(or $(shell pkg-config $1 $(PKGS)),$(error try `make deps`))
pkg.cflags  = $(eval pkg.cflags := $(call pkg-config,--cflags))$(pkg.cflags)
pkg.libs    = $(eval pkg.libs := $(call pkg-config,--libs))$(pkg.libs)

CPPFLAGS += -Isrc -I/usr/share/include -D_GNU_SOURCE $(pkg.cflags)
CFLAGS   += -std=c11 -Wall -Wextra -Wshadow -Wvla
CFLAGS   += -Wstrict-prototypes -Wmissing-prototypes
LDFLAGS  += -Wl,-E
LDLIBS    = $(pkg.libs) -lev -lz -lm -lpthread

sanitize      := -O1 -g -fno-omit-frame-pointer
flags.release := -O2 -g
flags.debug   := -O0 -g3
flags.asan    := $(sanitize) -fsanitize=address,undefined -fno-sanitize-recover
flags.tsan    := $(sanitize) -fsanitize=thread
flags.cov     := -O0 -g --coverage
ifndef flags.$(V)
$(error no variant V=$(V): choose release, debug, asan, tsan or cov)
endif

LIB    := $(sort $(wildcard src/*/*.c))
LUA    := $(sort $(shell find lua scenarios -name '*.lua' 2>/dev/null))
LUA    := $(filter-out lua/types/%,$(LUA))
# The HTTP parser of the mock: C sources in a Debian package, no library.
LLHTTP := $(patsubst %,$(B)/llhttp/%.o,api http llhttp)
OBJ    := $(LIB:%.c=$(B)/%.o) $(B)/lua_modules.o $(B)/version.o $(LLHTTP)
TESTS  := $(patsubst tests/unit/%.c,$(B)/%,$(wildcard tests/unit/test_*.c))

all: $(B)/stoke                       ## build the program (the default)
ifeq ($(V),release)
all: stoke
stoke: $(B)/stoke
	@ln -f $< $@
endif

objects: $(OBJ)

define compile
@mkdir -p $(@D)
@echo '  CC    $<'
@$(CC) $(CPPFLAGS) $(CFLAGS) $(flags.$(V)) -MMD -MP -c -o $@ $<
endef
define link
@echo '  LINK  $@'
@$(CC) $(flags.$(V)) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LDLIBS)
endef

$(B)/stoke: $(B)/src/main.o $(OBJ)
	$(link)
$(B)/test_%: LDLIBS += -lcmocka
$(B)/test_%: $(B)/tests/unit/test_%.o $(OBJ)
	$(link)

# An object depends on how it is compiled, not on the rest of this file.
$(B)/%.o: %.c $(B)/flags
	$(compile)

# The packaged parser keeps to its own warnings.
$(B)/llhttp/%.o: private CFLAGS := -w
$(B)/llhttp/%.o: private CPPFLAGS += -I/usr/share/include/llhttp
$(B)/llhttp/%.o: /usr/share/llhttp/%.c $(B)/flags
	$(compile)

$(B)/lua_modules.o: $(B)/lua_modules.c $(B)/flags
	$(compile)
$(B)/lua_modules.c: src/script/embed.lua $(LUA) $(B)/lua_modules
	@echo '  EMBED $(words $(LUA)) Lua files'
	@luajit src/script/embed.lua $(LUA) >$@.tmp && mv $@.tmp $@
$(B)/version.o: $(B)/version.c $(B)/flags
	$(compile)

# Files that change only when their text does: $(call text,LINE)
text = @mkdir -p $(@D); printf '%s\n' '$1' | cmp -s - $@ || \
  printf '%s\n' '$1' >$@
$(B)/version.c: always
	@v=$$(git describe --tags --always --dirty 2>/dev/null || echo unknown); \
	mkdir -p $(@D); \
	printf '#include "base/version.h"\nconst char stoke_version[] = "%s";\n' \
	  "$$v" >$@.tmp; cmp -s $@.tmp $@ && rm $@.tmp || mv $@.tmp $@
$(B)/flags: always
	$(call text,$(CC) $(CPPFLAGS) $(CFLAGS) $(flags.$(V)))
$(B)/lua_modules: always
	$(call text,$(LUA))

# ---- tests ----

test:                                 ## install what is needed, test everything
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory -j$$(nproc) all $(TESTS)
	@$(MAKE) --no-print-directory check

check: all lint format-check unit lua oracle e2e accuracy fuzz-pairs asan-subset

unit: $(TESTS)                        ## C unit tests
	@CMOCKA_MESSAGE_OUTPUT=TAP prove -j2 --timer --exec '' $^

lua: all                              ## tests written in Lua
	@prove --timer --exec 'luajit tests/lua/run.lua' tests/lua/test_*.lua

e2e: all node_modules                 ## the program against servers
	@STOKE=$(B)/stoke $(PYTEST) -n2 tests/e2e

oracle: all node_modules              ## tokenizers, id for id, against others
	@export STOKE=$(B)/stoke; \
	tests/node.sh node tests/oracle/components.mjs && \
	tests/node.sh node tests/oracle/tokenizer.mjs

accuracy: all                         ## its numbers against known latencies
	@STOKE=$(B)/stoke $(PYTEST) -s tests/accuracy

asan tsan:                            ## the suite under a sanitizer
	@$(MAKE) --no-print-directory V=$@ unit lua e2e

asan-subset:
	@$(MAKE) --no-print-directory -j$$(nproc) V=asan all $(subst /$(V)/,/asan/,$(TESTS))
	@$(MAKE) --no-print-directory V=asan unit
	@$(MAKE) --no-print-directory V=asan e2e PYTEST='$(PYTEST) -m asan'
fuzz-pairs:
	@$(MAKE) --no-print-directory -j2 fuzz

-include tests/fuzz/fuzz.mk

soak: all                             ## 100,000 sessions, flat memory
	@$(PYTHON) tests/soak/sessions.py $(B)/stoke $(SESSIONS)

BENCH := $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/*.c))
bench: all $(BENCH)                   ## what it costs, against raw readers
	@$(PYTHON) tests/bench/run.py $(B) $(PARTS)
	$(if $(PARTS),,@$(MAKE) --no-print-directory bench-tokenizer)
bench-tokenizer: all $(BENCH) node_modules
	@tests/node.sh node tests/bench/bench_tokenizer.mjs $(B)
$(B)/bench/%: $(B)/tests/bench/%.o $(OBJ)
	@mkdir -p $(@D)
	$(link)

# ---- source ----

lint:                                 ## luacheck, include directions, C rules
	@luacheck -q --no-color $(wildcard lua scenarios tests/lua tests/lint src/script/*.lua); \
	a=$$?; luajit tests/lint/deps.lua src; \
	b=$$?; luajit tests/lint/rules.lua $$(git ls-files); \
	test $$a$$b$$? = 000

C_FILES = $(shell git ls-files '*.[ch]')
format:                               ## clang-format the tree in place
	@clang-format -i $(C_FILES)
docs:                                 ## lua/README.md from the definitions
	@luajit lua/types/reference.lua lua/types/stoke.d.lua >lua/README.md

format-check:                         ## fail where format would change a file
	@clang-format --dry-run -Werror $(C_FILES)

# ---- around ----

DEMO_MOCK := ./stoke mock --port 0 --ttft lognormal:120ms:40ms --itl normal:10ms:2ms
DEMO_RUN  := -c 16 -n 200 --max-tokens 64
demo:                                 ## a real load test, from nothing
	@$(MAKE) --no-print-directory deps TEST_DEPS=
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@echo '$$ $(DEMO_MOCK) &'; $(DEMO_MOCK) >build/demo.log 2>&1 & mock=$$!; \
	trap 'kill $$mock; wait $$mock' EXIT; \
	until url=$$(grep -so 'http://[0-9.:]*' build/demo.log); do \
	  kill -0 $$mock && sleep 0.1 || exit 1; done; \
	echo "$$ ./stoke run -u $$url $(DEMO_RUN)"; \
	./stoke run -u $$url $(DEMO_RUN)

deps:                                 ## install the Debian packages (root, sudo)
	@set -- $$(for p in $(DEPS) $(TEST_DEPS); do \
	  dpkg-query -Wf '$${db:Status-Abbrev}' $$p 2>/dev/null | grep -q ^ii \
	    || echo $$p; done); \
	test $$# = 0 && exit; \
	command -v apt-get >/dev/null || { \
	  echo "no apt-get here: please install what Debian calls $$*"; exit 1; }; \
	test $$(id -u) = 0 || root=sudo; \
	$$root apt-get -q update && $$root env DEBIAN_FRONTEND=noninteractive \
	  apt-get -qy --no-install-recommends install "$$@"

node_modules: package.json package-lock.json
	@tests/node.sh npm ci --no-progress
	@touch $@

install: all                          ## install under $(DESTDIR)$(PREFIX)
	install -D -t $(DESTDIR)$(PREFIX)/bin $(B)/stoke

clean:                                ## remove what was built
	rm -rf build stoke

help:                                 ## this list
	@awk -F ':.*## ' '/^[a-z0-9 -]+:.*## / \
	  { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo '  V=release|debug|asan|tsan|cov picks the variant (now $(V))'

.PHONY: all objects test check unit lua oracle e2e accuracy asan tsan \
  asan-subset fuzz-pairs bench soak lint format format-check docs demo deps \
  install clean help always
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
