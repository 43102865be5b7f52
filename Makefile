# AttnScope: every task with one command. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.SILENT:
.NOTPARALLEL:
.DEFAULT_GOAL := help

BUILD := build/release
PREFIX := /usr/local
PICTURES := build/pictures
RECORDING := $(wildcard assets/recordings/h200.json)

# Debian packages, grouped by what needs them; only missing ones are installed
TO_BUILD := build-essential cmake ninja-build libeigen3-dev libfmt-dev nlohmann-json3-dev \
  libcli11-dev libimgui-dev libglfw3-dev libopengl-dev libegl-dev libfreetype-dev libstb-dev \
  libgtest-dev libgmock-dev
TO_DRAW := libgl1-mesa-dri libegl1 fonts-inter fonts-dejavu-core
TO_TEST := git xvfb xauth xdotool imagemagick
TO_LINT := clang-format-14 clang-tidy-14
TO_SANITIZE := clang-14 libclang-rt-14-dev

.PHONY: help deps build programs install run pictures test gpu-test gpu-sanitize bench asan tsan fuzz format lint-format lint clean
.PHONY: install-build install-draw install-test install-lint install-sanitize

help: ## list the targets
	sed -nE 's/^([a-z-]+( [a-z-]+)*):[^#]*## (.*)/  make \1\t\3/p' Makefile | expand -t 22

deps: install-build install-draw install-test ## install the Debian packages that are missing

build: install-build ## build the release: programs in build/release/
	cmake --preset release -Wno-dev
	cmake --build --preset release

programs: install-build ## build the programs alone, without the tests
	cmake --preset release -Wno-dev
	cmake --build --preset release --target programs

run: install-draw programs ## open the app; with no display, write pictures and a comparison instead
	if [[ -n "$${DISPLAY:-}$${WAYLAND_DISPLAY:-}" ]]; then
	  exec $(BUILD)/attnscope
	fi
	echo "No display: drawing pictures instead"
	$(MAKE) --no-print-directory pictures

# Each picture is SCENE:STEP, the operation under the playhead
SHOWN := default:0 default:40 default:110 flash1-64:120 standard-64:100 flash2-causal:200 flash2-1024:4000

pictures: install-draw programs ## draw the scenes without a window, and write the comparison report
	mkdir -p $(PICTURES)
	for shown in $(SHOWN); do
	  file=$(PICTURES)/$${shown/:/-step-}.png
	  $(BUILD)/attnscope render --scene "$${shown%:*}" --step "$${shown#*:}" --size 1600x900 --out "$$file"
	  echo "picture:    $$file"
	done
	if [[ -n "$(RECORDING)" ]]; then
	  $(BUILD)/attnscope-cli compare --recording $(RECORDING) --report build/comparison.md > /dev/null
	  echo "comparison: build/comparison.md (modelled beside $(RECORDING))"
	fi

install: programs ## install the programs with their assets below PREFIX (/usr/local)
	cmake --install $(BUILD) --prefix $(PREFIX)

test: install-draw install-test install-build ## build the programs, build and run every CPU and GUI test
	cmake --preset release -Wno-dev
	cmake --build --preset release --target tests
	ctest --preset release --parallel $$(($$(nproc) + 2))  # tests of a window, which count twice, mostly wait

gpu-test: install-test build ## run the tests of the kernels and counters on this machine's GPU
	ATTNSCOPE_REQUIRE_GPU=1 ctest --preset gpu

gpu-sanitize: build ## run every kernel on small problems under compute-sanitizer: memory, races, barriers
	tests/kernels/sanitize.sh $(BUILD)/attnscope-cli

bench: install-draw install-test build ## print the speed of the model and of the app's frames
	$(BUILD)/attnscope_sim_bench
	$(BUILD)/attnscope_predict_bench
	for scene in default flash2-4096-tiles; do
	  echo "app, scene $$scene:"
	  xvfb-run -a -s '-screen 0 1600x900x24' $(BUILD)/attnscope_ui_bench --scene $$scene --size 1600x900
	done
	echo "app, every step of every lesson:"
	xvfb-run -a -s '-screen 0 1600x900x24' $(BUILD)/attnscope_ui_bench --lessons --size 1600x900
	echo "app, scene flash2-4096-tiles, every field changed in turn:"
	xvfb-run -a -s '-screen 0 1600x900x24' $(BUILD)/attnscope_ui_bench --fields \
	  --scene flash2-4096-tiles --size 1600x900

asan tsan: install-draw install-test install-build install-sanitize ## run the tests under the address (thread) sanitizer
	cmake --preset $@ -Wno-dev
	cmake --build --preset $@
	ctest --preset $@

# Files, texts and commands that libFuzzer varies; findings and new inputs stay in build/fuzz/
FUZZED := npy recording trace gpu calibration scene lesson text command
FUZZ_SECONDS := 60
FUZZ_JOBS := $(shell nproc)

fuzz: install-build install-draw install-sanitize ## fuzz every parser and the commands, FUZZ_SECONDS each
	cmake --preset fuzz -Wno-dev
	cmake --build --preset fuzz
	for target in $(FUZZED); do
	  tests/fuzz/fuzz.sh build/fuzz $$target $(FUZZ_SECONDS) $(FUZZ_JOBS)
	done

OURS = git ls-files --cached --others --exclude-standard '*.h' '*.cpp' '*.c' '*.cuh'

format: install-lint ## format our sources with clang-format 14
	$(OURS) | xargs clang-format-14 -i

lint-format: install-lint ## check the format only
	$(OURS) | xargs clang-format-14 --dry-run --Werror

lint: lint-format build ## check the format, and our C++ with clang-tidy 14
	# Each file by itself: its neighbours in a unity build, or GCC's precompiled headers, which are not
	# clang's, may hide a missing include
	cmake --preset release -Wno-dev -B build/lint -DCMAKE_UNITY_BUILD=OFF \
	  -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
	run-clang-tidy-14 -quiet -p build/lint "$(CURDIR)/(reference|sim|kernels|app|tests)/.*\.cpp$$"

clean: ## remove everything that was built
	rm -rf build

# Debian packages; without root, sudo asks
define install
missing=()
if ! command -v dpkg-query > /dev/null; then
  echo "Not Debian: packages are not installed for you; their Debian names: $(1)"
  exit 0
fi
for package in $(1); do
  [[ "$$(dpkg-query -W -f='$${db:Status-Status}' $$package 2> /dev/null)" == installed* ]] ||
    missing+=($$package)
done
if (( $${#missing[@]} == 0 )); then exit 0; fi
echo "Installing: $${missing[*]}"
if (( EUID == 0 )); then as_root=(); elif command -v sudo > /dev/null; then as_root=(sudo); else
  echo "Cannot install them: neither root nor sudo. As root: apt-get install $${missing[*]}" >&2
  exit 1
fi
"$${as_root[@]}" env DEBIAN_FRONTEND=noninteractive bash -euc \
  'apt-get -q update && apt-get -q install -y --no-install-recommends "$$@"' - "$${missing[@]}"
endef

install-build: ; $(call install,$(TO_BUILD))
install-draw: ; $(call install,$(TO_DRAW))
install-test: ; $(call install,$(TO_TEST))
install-lint: ; $(call install,$(TO_LINT))
install-sanitize: ; $(call install,$(TO_SANITIZE))
