//! Names of variables as they are written.

use super::{At, Node};
use crate::Error;
use powerbond_core::network::VariableName;

/// `subsystem.variable`.
pub fn parse_name(text: &At<String>) -> Result<At<VariableName>, Error> {
    VariableName::parse(&text.value).map(|name| text.with(name)).ok_or_else(|| {
        Error::input(
            text.place(),
            format!("`{}` is not a variable; write it as \"subsystem.variable\"", text.value),
        )
    })
}

/// A variable as a key. Without quotes, TOML takes its dot as a table in a table.
pub fn parse_key(name: &At<String>, value: Node<'_>) -> Result<At<VariableName>, Error> {
    if !name.value.contains('.')
        && let Ok(inner) = value.open_table()
        && let Some((variable, _)) = inner.entries().first()
    {
        let full = format!("{}.{}", name.value, variable.value);
        return Err(Error::input(name.place(), format!("`{full}` needs quotes: write \"{full}\" = …")));
    }
    parse_name(name)
}
