//! Names of subsystems: those of nested systems are paths.

/// What stands between a system and its parts in the name of a subsystem.
pub const SEPARATOR: char = '/';

/// The name of a subsystem below the system at `parent` (empty: the outermost one). A dot in a name of an element is a step of a path,
/// too: in `subsystem.variable` the first dot ends the subsystem.
pub fn path_name(parent: &str, element: &str) -> String {
    let own = element.replace('.', "/");
    if parent.is_empty() { own } else { format!("{parent}{SEPARATOR}{own}") }
}

#[cfg(test)]
mod tests {
    use super::path_name;

    #[test]
    fn names_of_nested_elements_are_paths() {
        assert_eq!(path_name("", "motor"), "motor");
        assert_eq!(path_name("drive", "motor.left"), "drive/motor/left");
    }
}
