//! The connectors that come with the host. This is the one list of them: the build of the repository reads it as well.

/// A connector that comes with the host.
#[derive(Clone, Copy)]
pub struct Builtin {
    /// Its name, and that of its folder below `plugins/`.
    pub name: &'static str,
    /// The component.
    pub bytes: &'static [u8],
}

macro_rules! builtin {
    ($($name:literal),+ $(,)?) => {
        /// Every connector that comes with the host, by name.
        pub const BUILTIN: [Builtin; [$($name),+].len()] = [$(Builtin {
            name: $name,
            bytes: include_bytes!(concat!("../../../plugins/", $name, "/built/", $name, ".wasm")),
        }),+];
    };
}

builtin!("http", "hubspot", "resend", "whatsapp");

#[cfg(test)]
mod tests;
