//! Entry points of fuzz targets to parsers that are private otherwise.

use backsight_syscall_decode::TraceEvent;

/// Reads bytes as records of the kernel engine's ring, each as its length in two bytes (little-endian) and itself.
#[cfg(target_os = "linux")]
pub fn ring_records(bytes: &[u8], emit: &mut dyn FnMut(TraceEvent)) {
    crate::bpf_engine::ring_records(bytes, emit);
}

/// Reads bytes as the kernel's description of its types (BTF).
#[cfg(target_os = "linux")]
pub fn kernel_types(bytes: &[u8]) {
    crate::bpf_engine::kernel_types(bytes);
}
