#!/usr/bin/env bash
# Runs all tests and does all the set-up before: ./test.sh, or ./test.sh ARGUMENT... for `cargo test` to pick some.
# With CI=true the lints as well. The last line counts.
source "$(dirname "${BASH_SOURCE[0]}")/scripts/common.sh"

need_rust
need compute window tests
cd "$root"

# Tests leave nothing in the user's folders.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -m 700 "$scratch/run"
export XDG_RUNTIME_DIR=$scratch/run XDG_CONFIG_HOME=$scratch/config XDG_STATE_HOME=$scratch/state XDG_DATA_HOME=$scratch/data

failures=()
attempt() { # WHAT COMMAND...
    local what=$1
    shift
    "$@" || failures+=("$what")
}
cargo_test() { cargo test --release --locked --no-fail-fast "$@" 2>&1 </dev/null | tee -a "$scratch/log"; }
# Scenes with known answers once more on the device; it does not have all solvers, and one test names the CPU.
contacts_on_the_device() {
    PLIANT_TEST_BACKEND=gpu cargo_test --test suite -- attachments:: collision_surface:: edges:: incline:: objects:: --skip all_solvers --skip residuals_touch_with_it_too
}

if [ $# -gt 0 ]; then
    attempt tests cargo_test "$@"
else
    # Nothing is built twice there.
    [ "${CI:-}" != true ] || export CARGO_INCREMENTAL=0
    attempt formatting scripts/lint.sh format
    # The quick ones first.
    attempt "unit tests" cargo_test --lib --bins
    attempt "suite" cargo_test --test '*'
    attempt "contacts on the device" contacts_on_the_device
    attempt "examples in the documentation" cargo_test --doc
    [ "${CI:-}" != true ] || attempt lints scripts/lint.sh lints
fi

# Each test program says "test result: ok. 3 passed; 0 failed; 1 ignored; ...".
count() { awk -v word="$1" '/^test result: /{ for (i = 2; i <= NF; i++) if ($i ~ "^" word) n += $(i - 1) } END { print n + 0 }' "$scratch/log"; }
passed=$(count passed) failed=$(count failed) skipped=$(count ignored)
[ ${#failures[@]} = 0 ] || say "Failed: $(printf '%s, ' "${failures[@]}" | sed 's/, $//')."
# Something that fails before it counts, such as the compiler, is one failure.
[ ${#failures[@]} = 0 ] || [ "$failed" != 0 ] || failed=1
summary="$passed passed, $failed failed"
[ "$skipped" = 0 ] || summary+=", $skipped skipped"
echo "$summary"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
