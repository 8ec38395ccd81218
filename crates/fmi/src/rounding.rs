//! The floating-point mode of the thread: an FMU that changes it must not change its neighbours' numbers.

/// Rounding, flush-to-zero, denormals-are-zero and the masks of exceptions; the flags of past operations do not count.
#[cfg(target_arch = "x86_64")]
const CONTROL: u32 = 0xFFC0;

/// Round to nearest, denormals as they are, no traps.
#[cfg(target_arch = "x86_64")]
const DEFAULT: u32 = 0x1F80;

/// Brings the default mode back if something changed it; whether it did.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn restore() -> bool {
    let mut mode = 0u32;
    // Safety: stores the control register into four bytes of ours. No FMI rule: no FMU is called.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut mode, options(nostack, preserves_flags)) };
    if mode & CONTROL == DEFAULT {
        return false;
    }
    // Safety: the mode that Rust code is compiled for.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &DEFAULT, options(nostack, preserves_flags)) };
    true
}

/// Other processors are not looked after yet.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn restore() -> bool {
    false
}
