//! Where subsystems run, for programs that use the library: another process has to be offered before it can be asked for.

use powerbond::System;
use powerbond::system::Site;

/// Nothing is installed in this program: a subsystem that is to be apart is not quietly run here.
#[test]
fn a_program_without_other_processes_refuses_to_use_them() {
    for site in [Site::Own, Site::Host("user@machine".to_owned())] {
        let built = System::builder()
            .model("mass", "quarter-car/chassis")
            .site("mass", site.clone())
            .input("mass.force", 1.0)
            .stop(1.0)
            .step(0.1)
            .build();
        let error = match built {
            Ok(system) => {
                assert_eq!(system.sites(), [site]);
                system.start().err().expect("refused")
            }
            Err(error) => error,
        };
        assert_eq!(error.exit_code(), 3, "{error}");
        let text = error.to_string();
        assert!(text.contains("`mass`") && text.contains("powerbond_worker::Workers"), "{text}");
    }
}
