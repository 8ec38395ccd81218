//! The floating-point mode of the thread: an FMU that changes it must not change its neighbours' numbers.

#[cfg(target_arch = "x86_64")]
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether sums with denormal results are slow here: see [`choose_check`].
static SUMS_ARE_SLOW: AtomicBool = AtomicBool::new(false);

/// Measures which way of looking at the mode is the quick one on this processor; both see the same. Called in the default mode.
///
/// Sums whose results are denormal are as quick as others on some processors, and a trap into microcode on others: 50 ns (Intel, from Golden
/// Cove on), where reading the control register takes 1 ns. The best of some short series, so that a break of the thread does not count.
pub fn choose_check() {
    const CHECKS: u32 = 64;
    let series = || {
        let start = Instant::now();
        (0..CHECKS).for_each(|_| {
            std::hint::black_box(sums_are_default());
        });
        start.elapsed() / CHECKS
    };
    let best = (0..4).map(|_| series()).min();
    SUMS_ARE_SLOW.store(best.is_some_and(|each| each > Duration::from_nanos(16)), Ordering::Relaxed);
}

/// Whether results are rounded to nearest and small ones are kept.
#[inline(always)]
pub fn is_default() -> bool {
    if SUMS_ARE_SLOW.load(Ordering::Relaxed) { register_is_default() } else { sums_are_default() }
}

/// Rounding, flush-to-zero, denormals-are-zero and the masks of exceptions; the flags of past operations do not count.
#[cfg(target_arch = "x86_64")]
const CONTROL: u32 = 0xFFC0;

/// Round to nearest, denormals as they are, no traps.
#[cfg(target_arch = "x86_64")]
const DEFAULT: u32 = 0x1F80;

/// Two numbers, and what is added to them in turn.
#[cfg(target_arch = "x86_64")]
#[repr(align(16))]
struct Sums([[f64; 2]; 3]);

#[cfg(target_arch = "x86_64")]
static SUMS: Sums = {
    const E: f64 = 0.75 * f64::EPSILON;
    const M: f64 = f64::MIN_POSITIVE;
    Sums([[1.0, 1.25 * M], [E, -M], [-E, M]])
};

/// [`is_default`], seen from two pairs of sums.
///
/// Reading the control register waits for all arithmetic before it, up to 9 ns, as long as a light step; sums with known results run
/// beside everything else, 1 ns, unless denormal results are slow. With ε = 2⁻⁵² and the smallest normal number m: (1 + 3ε/4) − 3ε/4 is 1 if both are rounded to
/// nearest, 1 + ε if up, 1 − ε if down and 1 − ε/2 if to zero; (5m/4 − m) + m is 5m/4 unless denormal results or operands are zero.
/// Traps of exceptions are not seen: see [`restore`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn sums_are_default() -> bool {
    let same: u32;
    // Safety: reads the three pairs, which are aligned. No FMI rule: no FMU is called.
    unsafe {
        std::arch::asm!(
            "movapd {sums}, [{table}]",
            "addpd {sums}, [{table} + 16]",
            "addpd {sums}, [{table} + 32]",
            "pcmpeqd {sums}, [{table}]",
            "pmovmskb {same:e}, {sums}",
            table = in(reg) SUMS.0.as_ptr(),
            sums = out(xmm_reg) _,
            same = lateout(reg) same,
            options(readonly, nostack, preserves_flags),
        );
    }
    same == 0xFFFF
}

/// [`is_default`], as the control register says; traps of exceptions count, too.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn register_is_default() -> bool {
    let mut mode = MaybeUninit::<u32>::uninit();
    // Safety: stores the control register into four bytes of ours, which are all of it. No FMI rule: no FMU is called.
    let mode = unsafe {
        std::arch::asm!("stmxcsr [{}]", in(reg) mode.as_mut_ptr(), options(nostack, preserves_flags));
        mode.assume_init()
    };
    mode & CONTROL == DEFAULT
}

/// Brings the default mode back if something changed it, traps included; whether it did.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn restore() -> bool {
    if register_is_default() {
        return false;
    }
    // Safety: the mode that Rust code is compiled for.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &DEFAULT, options(nostack, preserves_flags)) };
    true
}

/// Other processors are not looked after yet.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn sums_are_default() -> bool {
    true
}

/// Other processors are not looked after yet.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn register_is_default() -> bool {
    true
}

/// Other processors are not looked after yet.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn restore() -> bool {
    false
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// The bits of MXCSR: rounding down, up and to zero, flush to zero, denormals are zero.
    #[test]
    fn every_mode_but_the_default_is_seen_and_undone() {
        choose_check();
        assert!(is_default() && sums_are_default() && register_is_default() && !restore());
        for bits in [0x2000, 0x4000, 0x6000, 0x8000, 0x0040, 0x8040] {
            let mode = DEFAULT | bits;
            // Safety: a valid mode, undone below.
            unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &mode, options(nostack, preserves_flags)) };
            let seen = !is_default() && !sums_are_default() && !register_is_default();
            assert!(restore() && is_default() && seen, "{bits:x}");
        }
    }
}
