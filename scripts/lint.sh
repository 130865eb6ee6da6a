#!/usr/bin/env bash
# Checks that are no tests: scripts/lint.sh [format] [lints] [dependencies], all of them when none is named. Silent when all is well.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

need_rust
cd "$root"
[ $# -gt 0 ] || set -- format lints dependencies

for check in "$@"; do
    case $check in
        format)
            if cargo fmt --version >/dev/null 2>&1; then
                cargo fmt --check || die "The formatting differs: run \`cargo fmt\`."
            else
                say "Formatting not checked: \`rustup component add rustfmt\` brings what it needs."
            fi
            ;;
        lints)
            if cargo clippy --version >/dev/null 2>&1; then
                cargo clippy --quiet --release --locked --all-targets -- -D warnings
                # The core alone, with its unit tests: what needs the device or the window stays behind its feature.
                cargo clippy --quiet --release --locked --no-default-features --lib --tests -- -D warnings
            else
                say "Lints not checked: \`rustup component add clippy\` brings what they need."
            fi
            ;;
        dependencies)
            # Licences are tested without it as well (tests/suite/licenses.rs).
            if cargo deny --version >/dev/null 2>&1; then
                cargo deny --log-level error check licenses bans sources
            else
                say "Dependencies not checked: \`cargo install cargo-deny\` brings what it needs."
            fi
            ;;
        *) die "scripts/lint.sh knows format, lints and dependencies, not \"$check\"." ;;
    esac
done
