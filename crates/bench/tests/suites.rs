//! Every suite of `powerbond bench` can be measured from the library, with overflow and debug checks on. `./test` runs all rows
//! of all suites, in release, by `powerbond bench`.

use powerbond_bench::{SUITES, Verdict};

#[test]
fn the_first_row_of_every_suite_holds() {
    for suite in SUITES {
        let first = suite.ids().swap_remove(0);
        let report = suite.run(Some(&first), |_| {}).unwrap();
        let failed =
            report.rows.iter().flat_map(|row| &row.quantities).filter(|q| q.verdict == Verdict::Fails);
        let failed: Vec<String> =
            failed.map(|q| format!("{} = {} not in {:?}..{:?}", q.name, q.measured, q.low, q.high)).collect();
        assert!(failed.is_empty(), "{} {first}:\n{}", suite.name, failed.join("\n"));
        assert!(report.passed > 0, "{} {first}", suite.name);
    }
}
