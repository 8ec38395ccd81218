//! Every suite of the papers holds: no quantity fails. Known deviations are listed by `powerbond bench`.

use powerbond::bench::SUITES;

#[test]
fn no_quantity_of_any_suite_fails() {
    for suite in SUITES {
        let report = suite.run(None, |_| {}).unwrap();
        let failed: Vec<String> = report
            .rows
            .iter()
            .flat_map(|row| row.quantities.iter().filter(|q| q.pass == Some(false)).map(move |q| (row, q)))
            .map(|(row, q)| {
                format!("{} {} = {} not in {:?}..{:?}", row.id, q.name, q.measured, q.low, q.high)
            })
            .collect();
        assert!(failed.is_empty(), "{}:\n{}", suite.name, failed.join("\n"));
        assert!(report.passed > 0);
    }
}
