#!/usr/bin/env bash
# Starts Pliant and does all the set-up before: ./pliant.sh [SCENE], or any other command line of `pliant`.
source "$(dirname "${BASH_SOURCE[0]}")/scripts/common.sh"

parts=(compute)
case ${1:-} in
    run | export | check | mesh | bench | verify | info | completions | man | help | -h | --help | -V | --version) ;;
    *)
        if [ "$(uname -s)" = Linux ] && [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
            say "There is no display here to open a window on (neither DISPLAY nor WAYLAND_DISPLAY is set)."
            say "Without a window:  ./pliant.sh run scenes/gallery.toml --seconds 2 --report report.json"
            say "With pictures:     ./pliant.sh run scenes/gallery.toml --seconds 2 --record frames"
            exit 1
        fi
        parts+=(window)
        ;;
esac
need_rust
need "${parts[@]}"

program=$(target_folder)/release/pliant
quiet=()
if [ -x "$program" ]; then
    changed=$(cd "$root" && find src shaders scenes assets Cargo.toml Cargo.lock -newer "$program" -print -quit)
    [ -n "$changed" ] || quiet=(--quiet)
else
    say "Building Pliant; the first time takes some minutes."
fi
(cd "$root" && cargo build --release --locked --bin pliant "${quiet[@]}") || die "Pliant could not be built (see above)."
exec "$program" "$@"
