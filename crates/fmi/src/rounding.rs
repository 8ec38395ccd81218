//! The floating-point mode of the thread: an FMU that changes it must not change its neighbours' numbers.

/// Rounding, flush-to-zero, denormals-are-zero and the masks of exceptions; the flags of past operations do not count.
#[cfg(target_arch = "x86_64")]
const CONTROL: u32 = 0xFFC0;

/// Round to nearest, denormals as they are, no traps.
#[cfg(target_arch = "x86_64")]
const DEFAULT: u32 = 0x1F80;

/// Whether results are rounded to nearest and small ones are kept, seen from four additions.
///
/// Reading the control register waits for all arithmetic before it, 9 ns, as long as a light step; additions with known results run
/// beside everything else, 1 ns. With ε = 2⁻⁵² and the smallest normal number m: 1 + ε/4 is 1 unless results are rounded up;
/// 1 + 3ε/4 is 1 + ε unless they are rounded down or to zero; (5m/4 − m) + m is 5m/4 unless denormal results or operands are zero.
/// Traps of exceptions are not seen: see [`restore`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn is_default() -> bool {
    const M: f64 = f64::MIN_POSITIVE;
    let (mut up, mut down, mut small) = (1.0f64, 1.0f64, 1.25 * M);
    // Safety: additions of numbers in registers. No FMI rule: no FMU is called.
    unsafe {
        std::arch::asm!(
            "addsd {up}, {quarter}",
            "addsd {down}, {three}",
            "subsd {small}, {m}",
            "addsd {small}, {m}",
            up = inout(xmm_reg) up,
            down = inout(xmm_reg) down,
            small = inout(xmm_reg) small,
            quarter = in(xmm_reg) 0.25 * f64::EPSILON,
            three = in(xmm_reg) 0.75 * f64::EPSILON,
            m = in(xmm_reg) M,
            options(nomem, nostack, preserves_flags),
        );
    }
    let wrong = (up.to_bits() ^ 1f64.to_bits())
        | (down.to_bits() ^ (1.0 + f64::EPSILON).to_bits())
        | (small.to_bits() ^ (1.25 * M).to_bits());
    wrong == 0
}

/// Brings the default mode back if something changed it, traps included; whether it did.
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
pub fn is_default() -> bool {
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
        assert!(is_default() && !restore());
        for bits in [0x2000, 0x4000, 0x6000, 0x8000, 0x0040, 0x8040] {
            let mode = DEFAULT | bits;
            // Safety: a valid mode, undone below.
            unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &mode, options(nostack, preserves_flags)) };
            let seen = !is_default();
            assert!(restore() && is_default() && seen, "{bits:x}");
        }
    }
}
