//! A run may go on in another thread than the one that began it.

use super::example;
use powerbond::Session;

#[test]
fn a_session_goes_on_in_another_thread_with_the_same_bits() {
    let begin = || -> Session {
        let mut session = example().start().expect("a session");
        session.run_until(0.5).expect("half a second");
        session
    };
    let finish = |mut session: Session| -> f64 {
        session.run_while(|now| now < 1.0).expect("another half");
        session.value("chassis.velocity").expect("a value")
    };
    let (here, there) = (begin(), begin());
    let there = std::thread::spawn(move || finish(there));
    assert_eq!(finish(here), there.join().expect("the thread"));
}
