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
FUZZ_LIB   += $(patsubst %,src/net/%.c,joiner ndjson paths sse walk)
FUZZ_OBJ   := $(FUZZ_LIB:%.c=build/fuzz/%.o)

fuzz: $(FUZZ)                         ## each fuzzer for T=60 seconds
	@for f in $(FUZZ); do \
	  name=$${f##*/}; name=$${name#fuzz_}; \
	  case $$name in \
	    sse|wire) seeds=tests/data/streams;; \
	    json|walk) seeds=tests/data/fuzz/json;; \
	    *) seeds=tests/data/fuzz/$$name;; \
	  esac; test -d $$seeds || seeds=; \
	  mkdir -p build/fuzz/corpus/$$name; \
	  echo "  FUZZ  $$name ($(T) s)"; \
	  $$f -max_total_time=$(T) -timeout=10 -max_len=8192 \
	    -print_final_stats=1 -artifact_prefix=build/fuzz/ \
	    build/fuzz/corpus/$$name $$seeds >build/fuzz/$$name.log 2>&1 \
	    || { tail -n 40 build/fuzz/$$name.log; exit 1; }; \
	  sed -n 's/stat::number_of_executed_units: */        inputs: /p' \
	    build/fuzz/$$name.log; \
	done

build/fuzz/fuzz_%: build/fuzz/tests/fuzz/fuzz_%.o $(FUZZ_OBJ)
	@echo '  LINK  $@'
	@$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

build/fuzz/%.o: %.c
	@mkdir -p $(@D)
	@echo '  CC    $< (fuzz)'
	@$(FUZZ_CC) $(CPPFLAGS) -Itests/unit $(CFLAGS) $(FUZZ_FLAGS) -MMD -MP \
	  -c -o $@ $<

.PHONY: fuzz
-include $(shell find build/fuzz -name '*.d' 2>/dev/null)
