//! Quiet where there is no session of a desktop. Mesa's layer that selects a device looks for a Wayland display as soon
//! as Vulkan is opened, and its library complains on stderr where `XDG_RUNTIME_DIR` is not set. The layer does nothing
//! for us, which order adapters ourselves, and a variable turns it off; as it is read in C, it has to be there when
//! the program starts.

/// Where the layer would complain, this program starts anew without it: in the same process, with the same arguments.
/// Returns where there is nothing to be quiet about, and where that fails.
#[cfg(target_os = "linux")]
pub fn leave_out() {
    use std::os::unix::process::CommandExt;

    // A session; what turns the layer off; and who asks it for a device means it.
    let settled = ["XDG_RUNTIME_DIR", "NODEVICE_SELECT", "MESA_VK_DEVICE_SELECT", "DRI_PRIME"];
    if settled.iter().any(|name| std::env::var_os(name).is_some()) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut arguments = std::env::args_os();
    let mut again = std::process::Command::new(program);
    if let Some(name) = arguments.next() {
        again.arg0(name);
    }
    // Returns only where it fails; then the complaint is all that is wrong.
    let _failed = again.args(arguments).env("NODEVICE_SELECT", "1").exec();
}

#[cfg(not(target_os = "linux"))]
pub fn leave_out() {}
