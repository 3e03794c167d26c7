# The usual targets, on top of CMake's presets (see CMakePresets.json for the others).
#   make            bin/escalona
#   make test       all tests (what ./test.sh runs)
#   make bench      the benchmarks behind docs/performance.md
#   make install    program, library, headers, CMake package, man page, completion (prefix= or PREFIX=, DESTDIR=)
#   make format     clang-format on every source
#   make clean
PREFIX ?= /usr/local
prefix ?= $(PREFIX)

.PHONY: all test bench install format clean

all:
	@scripts/build.sh release escalona_program
	@mkdir -p bin && cmp -s build/release/escalona bin/escalona || cp build/release/escalona bin/escalona

test:
	@./test.sh

bench: all
	@scripts/setup.sh build bench
	@bench/run.sh

install: all
	@scripts/build.sh release escalona
	cmake --install build/release --prefix "$(prefix)"

format:
	git ls-files '*.h' '*.cc' | xargs clang-format -i

clean:
	rm -rf build bin
