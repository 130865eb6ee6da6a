# Shared by pliant.sh, test.sh and scripts/lint.sh: finds what is missing on this machine and installs it where it can.
# Sourced with bash; `root` is the folder of the repository.

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
rust_needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml")

say() { printf '%s\n' "$*" >&2; }

die() {
    say "$@"
    exit 1
}

# What a part of the program needs on Linux, and the Debian package that brings it: `library`, `command` or `driver`.
# The window's libraries are loaded when it opens, so the linker cannot tell that they are missing.
needs_of_compute="
    library libvulkan.so.1         libvulkan1
    driver  any                    mesa-vulkan-drivers
"
needs_of_window="
    library libX11.so.6            libx11-6
    library libX11-xcb.so.1        libx11-xcb1
    library libxcb.so.1            libxcb1
    library libXcursor.so.1        libxcursor1
    library libXi.so.6             libxi6
    library libxkbcommon.so.0      libxkbcommon0
    library libxkbcommon-x11.so.0  libxkbcommon-x11-0
    library libEGL.so.1            libegl1
"
needs_of_tests="
    driver  software               mesa-vulkan-drivers
    command Xvfb                   xvfb
    command xdotool                xdotool
"

is_there() { # KIND WHAT
    case $1 in
        library) grep -q "^[[:space:]]*$2 " <<<"$libraries" ;;
        command) command -v "$2" >/dev/null ;;
        driver) has_driver "$2" ;;
    esac
}

# Whether a Vulkan driver is installed; `software` asks for the one that needs no graphics card.
has_driver() {
    local name='*' folder
    [ "$1" = software ] && name='lvp_icd*'
    [ -n "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] && return
    for folder in /etc /usr/share /usr/local/share /usr/local/etc; do
        compgen -G "$folder/vulkan/icd.d/$name.json" >/dev/null && return
    done
    return 1
}

# Makes sure that the named parts (compute, window, tests) find what they need.
need() {
    [ "$(uname -s)" = Linux ] || return 0 # Metal and DirectX come with the system
    local missing packages
    look_for "$@"
    [ -n "$missing" ] || return 0
    install "$missing" $packages
    look_for "$@"
    [ -z "$missing" ] || die "Still missing after the installation: $missing."
}

# Sets `missing` (for people) and `packages`, each named once.
look_for() {
    local part table kind what package
    missing="" packages=""
    libraries=$(PATH=$PATH:/usr/sbin:/sbin ldconfig -p)
    for part in "$@"; do
        table=needs_of_$part
        while read -r kind what package; do
            if [ -n "$kind" ] && ! is_there "$kind" "$what"; then
                missing+="${missing:+, }$what ($kind)"
                case " $packages " in *" $package "*) ;; *) packages+=" $package" ;; esac
            fi
        done <<<"${!table}"
    done
}

# MISSING PACKAGE...
install() {
    local missing=$1 as_root=()
    shift
    if ! command -v apt-get >/dev/null; then
        say "Missing on this system: $missing."
        say "Only Debian and Ubuntu are set up by this script; the packages there are: $*."
        die "Install their like with the package manager of this system, then run this again."
    fi
    if [ "$(id -u)" != 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            say "Missing on this system: $missing. Install it with"
            say "    sudo apt-get update && sudo apt-get install --no-install-recommends $*"
            die "then run this again."
        fi
        as_root=(sudo -n)
    fi
    say "Installing system packages: $*"
    local log
    log=$(mktemp)
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
    # Lists of some other source that cannot be renewed need not hinder: the installation tells.
    "${apt[@]}" update </dev/null >"$log" 2>&1 || true
    if ! "${apt[@]}" install --yes --no-install-recommends "$@" </dev/null >>"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        die "The installation failed (see above). Pliant needs these packages: $*"
    fi
    rm -f "$log"
}

# Rust and a linker cannot be brought along; says where they come from.
need_rust() {
    command -v cargo >/dev/null || PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
    command -v cargo >/dev/null || die "Rust is missing: install it from https://rustup.rs (version $rust_needed or newer), then run this again."
    local version
    version=$(rustc --version | cut -d' ' -f2)
    if [ "$(printf '%s\n' "$rust_needed" "$version" | sort -V | head -n 1)" != "$rust_needed" ]; then
        die "Rust $version is too old, $rust_needed or newer is needed: run \`rustup update stable\`, then this again."
    fi
    case $(uname -s) in
        Linux) command -v cc >/dev/null || install "a C compiler, for linking" g++ ;;
        Darwin) xcode-select -p >/dev/null 2>&1 || die "Apple's command line tools are missing: run \`xcode-select --install\`, then this again." ;;
    esac
}

# Where cargo puts its results.
target_folder() {
    case ${CARGO_TARGET_DIR:-target} in
        /*) printf '%s' "$CARGO_TARGET_DIR" ;;
        *) printf '%s/%s' "$root" "${CARGO_TARGET_DIR:-target}" ;;
    esac
}
