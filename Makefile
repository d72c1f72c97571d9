# stoke: a Lua-scriptable load tester for LLM endpoints.
# `make help` lists the targets; V= picks a build variant.

V        ?= release
PREFIX   ?= /usr/local
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
B        := build/$(V)
LLHTTP   := /usr/share/llhttp

PKGS     := luajit libcurl libcjson
CPPFLAGS += -Isrc -D_GNU_SOURCE
CPPFLAGS += $(shell pkg-config --cflags $(PKGS))
CFLAGS   += -std=c11 -Wall -Wextra -Wshadow -Wvla
CFLAGS   += -Wstrict-prototypes -Wmissing-prototypes
LDFLAGS  += -Wl,-E
LDLIBS   += $(shell pkg-config --libs $(PKGS)) -lev -lm -lpthread

sanitize      := -O1 -g -fno-omit-frame-pointer
flags.release := -O2 -g
flags.debug   := -O0 -g3
flags.asan    := $(sanitize) -fsanitize=address,undefined -fno-sanitize-recover
flags.tsan    := $(sanitize) -fsanitize=thread
flags.cov     := -O0 -g --coverage
ifndef flags.$(V)
$(error no variant V=$(V): choose release, debug, asan, tsan or cov)
endif

LIB   := $(wildcard src/*/*.c)
OBJ   := $(LIB:%.c=$(B)/%.o)
TESTS := $(patsubst tests/unit/%.c,$(B)/%,$(wildcard tests/unit/test_*.c))

objects: $(OBJ)

unit: $(TESTS)                        ## C unit tests
	@CMOCKA_MESSAGE_OUTPUT=TAP prove --timer --exec '' $^

$(B)/test_%: $(B)/tests/unit/test_%.o $(OBJ)
	@echo '  LINK  $@'
	@$(CC) $(flags.$(V)) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo '  CC    $<'
	@$(CC) $(CPPFLAGS) $(CFLAGS) $(flags.$(V)) -MMD -MP -c -o $@ $<

clean:                                ## remove build/
	rm -rf build stoke

.PHONY: objects unit clean
.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
