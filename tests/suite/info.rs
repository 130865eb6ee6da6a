//! What the program says of itself and of the machine, where there is no desktop.

use std::process::Command;

/// Mesa's layer that selects a device would complain on stderr.
#[test]
#[cfg(target_os = "linux")]
fn without_a_desktop_nothing_complains() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_pliant"));
    for name in ["XDG_RUNTIME_DIR", "NODEVICE_SELECT", "MESA_VK_DEVICE_SELECT", "DRI_PRIME", "DISPLAY", "WAYLAND_DISPLAY"] {
        program.env_remove(name);
    }
    let output = program.arg("info").output().unwrap();
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success() && out.contains("--backend auto uses"), "{out}");
    assert_eq!(err, "");
}
