# Fuzzers (clang's libFuzzer): `make fuzz T=60` runs each for T seconds, from
# the seeds in tests/data and from what earlier runs found (build/fuzz/corpus).
# A crash leaves its input in build/fuzz/crash-*: reproduce it with
# `build/fuzz/fuzz_wire build/fuzz/crash-…`, and keep it as a unit test.

T    ?= 60
FUZZ := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

FUZZ_CC    := clang
FUZZ_FLAGS := -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover
FUZZ_FLAGS += -fsanitize=address,undefined,fuzzer-no-link
FUZZ_LIB   := $(wildcard src/base/*.c src/net/wire*.c src/net/dialect*.c)
FUZZ_LIB   += $(wildcard src/stats/*.c)
FUZZ_LIB   += $(patsubst %,src/net/%.c,joiner kept ndjson sse)
FUZZ_LIB   += $(wildcard src/data/*.c)
FUZZ_OBJ   := $(FUZZ_LIB:%.c=build/fuzz/%.o)

FUZZ_RUNS := $(FUZZ:build/fuzz/fuzz_%=fuzz-%)
fuzz: $(FUZZ_RUNS)                    ## each fuzzer for T=60 seconds

$(FUZZ_RUNS): fuzz-%: build/fuzz/fuzz_%
	@case $* in \
	  sse|wire) seeds=tests/data/streams;; \
	  data) seeds=tests/data/datasets;; \
	  json|walk) seeds=tests/data/fuzz/json;; \
	  *) seeds=tests/data/fuzz/$*;; \
	esac; test -d $$seeds || seeds=; \
	mkdir -p build/fuzz/corpus/$*; \
	echo "  FUZZ  $* ($(T) s)"; \
	$< -max_total_time=$(T) -timeout=10 -max_len=8192 \
	  -print_final_stats=1 -artifact_prefix=build/fuzz/ \
	  build/fuzz/corpus/$* $$seeds >build/fuzz/$*.log 2>&1 \
	  || { tail -n 40 build/fuzz/$*.log; exit 1; }; \
	sed -n 's/stat::number_of_executed_units: */        $*: inputs /p' \
	  build/fuzz/$*.log

build/fuzz/fuzz_%: build/fuzz/tests/fuzz/fuzz_%.o $(FUZZ_OBJ)
	@echo '  LINK  $@'
	@$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

build/fuzz/%.o: %.c
	@mkdir -p $(@D)
	@echo '  CC    $< (fuzz)'
	@$(FUZZ_CC) $(CPPFLAGS) -Itests/unit $(CFLAGS) $(FUZZ_FLAGS) -MMD -MP \
	  -c -o $@ $<

.PHONY: fuzz $(FUZZ_RUNS)
-include $(shell find build/fuzz -name '*.d' 2>/dev/null)
