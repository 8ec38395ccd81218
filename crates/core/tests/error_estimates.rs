use powerbond_core::estimator::BigStep;
use powerbond_core::models::error_study::*;

#[test]
fn explore() {
    let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    for split in [Split::Dd, Split::Fd] {
        for k in 0..3 {
            let mut last = 0.0;
            for n in 0..7 {
                let h = 4e-3 / 2f64.powi(n);
                let l = local_errors(split, k, 0.2, h).unwrap();
                let e = norm(&l.error);
                let r = |v: &[f64]| v.iter().zip(&l.error).map(|(a, b)| format!("{:.4}", a / b)).collect::<Vec<_>>().join(" ");
                println!("{split:?} k{k} h {h:.2e} err {e:.3e} slope {:.4} | {} | {} | {}", slope(last, e), r(&l.rich), r(&l.published), r(&l.modified));
                last = e;
            }
        }
    }
    for split in [Split::Dd, Split::Fd] {
        for k in 0..3 {
            let mut last = 0.0;
            for n in [500, 1000, 2000, 4000] {
                let r = constant_run(split, k, 3.0, n).unwrap();
                println!("{split:?} k{k} n {n} rms {:.3e} slope {:.4}", r.rms, slope(last, r.rms));
                last = r.rms;
            }
            for big in [BigStep::Classic, BigStep::Modified] {
                for tol in [1e-3, 1e-4] {
                    let a = adaptive_run(split, k, 3.0, tol, big).unwrap();
                    let c = constant_steps_for(split, k, 3.0, a.rms).unwrap();
                    println!("{split:?} k{k} {big:?} tol {tol} {a:?} const {c}");
                }
            }
        }
    }
}
