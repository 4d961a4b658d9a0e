//! An installation folder, as an operator and a designer would write it.

use crate::connectors;
use std::path::Path;
use tempfile::TempDir;

/// What callers of verified hooks present; the host finds it in its secrets folder under the name `hook`.
pub const HOOK_SECRET: &str = "the-secret-of-the-hooks";

/// A flow `NAME` with the verified hook `/hooks/NAME`, whose event key is `body.order.id`. `steps` is TOML.
pub fn orders(name: &str, steps: &str) -> String {
    format!(
        "name = \"{name}\"\ntitle = \"Orders\"\n\n[trigger.webhook]\npath = \"{name}\"\n\
         verify = {{ scheme = \"bearer\", secret = \"hook\" }}\nkey = \"{{{{ body.order.id }}}}\"\n\n\
         [context]\norder = \"{{{{ body.order.id }}}}\"\n\n{steps}\n"
    )
}

/// A folder that grows until it is applied.
pub struct Folder(TempDir);

impl Default for Folder {
    fn default() -> Self {
        Self::new()
    }
}

impl Folder {
    /// With the connectors `http` and `puppet`.
    ///
    /// # Panics
    /// The folder cannot be made.
    pub fn new() -> Folder {
        Folder::empty().connector("http").connector("puppet")
    }

    /// Without anything.
    ///
    /// # Panics
    /// The folder cannot be made.
    pub fn empty() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, relative to the folder.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn write(&self, path: &str, content: &[u8]) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Adds one more connector of the host's own.
    pub fn connector(self, name: &str) -> Folder {
        self.write(&format!("connectors/{name}.wasm"), &connectors::wasm(name));
        self
    }

    /// Adds, or replaces, a connection.
    pub fn connection(self, connection: &Connection) -> Folder {
        let path = format!("connections/{}.toml", connection.name);
        self.write(&path, connection.toml().as_bytes());
        self
    }

    /// Adds, or replaces, a flow.
    pub fn flow(self, name: &str, toml: &str) -> Folder {
        self.write(&format!("flows/{name}.toml"), toml.as_bytes());
        self
    }
}

/// A connection to a service of the scripted destination. The constructors know nothing of keys and lookups; the rest
/// says what the operator approves.
#[derive(Clone, Debug)]
pub struct Connection {
    name: String,
    connector: &'static str,
    action: &'static str,
    origin: String,
    account: String,
    timeout: String,
    settings: String,
    trust: String,
    requests: String,
    probe: String,
    concurrency: u32,
    rate: String,
}

impl Connection {
    /// Through the first-party connector, action `send`.
    pub fn http(name: &str, origin: &str) -> Connection {
        Connection::new(name, "http", "send", origin)
    }

    /// Through the hostile guest, action `do`.
    pub fn puppet(name: &str, origin: &str) -> Connection {
        Connection::new(name, "puppet", "do", origin)
    }

    fn new(name: &str, connector: &'static str, action: &'static str, origin: &str) -> Connection {
        Connection {
            name: name.to_owned(),
            connector,
            action,
            origin: origin.to_owned(),
            account: "test".to_owned(),
            timeout: "10s".to_owned(),
            settings: String::new(),
            trust: String::new(),
            requests: String::new(),
            probe: String::new(),
            concurrency: 16,
            rate: String::new(),
        }
    }

    /// The read that tells whether the credentials work.
    pub fn probe(self, path: &str) -> Connection {
        let probe = format!("[probe]\npath = \"{path}\"\n\n");
        Connection { probe, ..self }
    }

    /// Attempts at the same time.
    pub fn concurrency(self, concurrency: u32) -> Connection {
        Connection { concurrency, ..self }
    }

    /// Our own pace, such as `10/s`.
    pub fn rate(self, rate: &str) -> Connection {
        let rate = format!("rate = \"{rate}\"\n");
        Connection { rate, ..self }
    }

    /// The same under another name.
    pub fn named(self, name: &str) -> Connection {
        let name = name.to_owned();
        Connection { name, ..self }
    }

    /// Another account at the same destination.
    pub fn account(self, account: &str) -> Connection {
        let account = account.to_owned();
        Connection { account, ..self }
    }

    /// Grants another action of the same connector.
    pub fn action(self, action: &'static str) -> Connection {
        Connection { action, ..self }
    }

    /// The time limit of one exchange.
    pub fn timeout(self, timeout: &str) -> Connection {
        Connection {
            timeout: timeout.to_owned(),
            ..self
        }
    }

    /// Lines of `[settings]`.
    pub fn settings(mut self, toml: &str) -> Connection {
        self.settings += toml;
        self.settings += "\n";
        self
    }

    /// Lines of `[trust.actions.ACTION]`.
    pub fn trust(mut self, toml: &str) -> Connection {
        self.trust += toml;
        self.trust += "\n";
        self
    }

    /// One more request that changes something, such as `POST /contacts`.
    pub fn writes(self, request: &str) -> Connection {
        self.request(request, "write")
    }

    /// One more request that only reads.
    pub fn reads(self, request: &str) -> Connection {
        self.request(request, "read")
    }

    fn request(mut self, request: &str, kind: &str) -> Connection {
        let (method, path) = request.split_once(' ').unwrap();
        let action = self.action;
        self.requests += &format!(
            "[[trust.actions.{action}.requests]]\nmethod = \"{method}\"\npath = \"{path}\"\nkind = \"{kind}\"\n"
        );
        self
    }

    /// The destination honours `Idempotency-Key` for so long.
    pub fn keyed(self, window: &str) -> Connection {
        self.trust(&format!(
            "dedup = {{ kind = \"header\", name = \"Idempotency-Key\", window = \"{window}\" }}"
        ))
    }

    /// The destination shows a contact under our key, so long after the request at the latest. For `http`.
    pub fn asked(self, after: &str) -> Connection {
        self.settings("lookup = { path = \"/contacts/by-key/{key}\", pointer = \"/key\", reference = \"/id\" }")
            .trust(&format!("lookup_after = \"{after}\"\nabsent_on = [404]"))
            .reads("GET /contacts/by-key/{key}")
    }

    /// The scripted CRM: honours keys for a day and can be asked.
    pub fn crm(origin: &str) -> Connection {
        Connection::http("crm", origin)
            .writes("POST /contacts")
            .keyed("24h")
            .asked("10s")
    }

    /// The scripted mailer: honours keys for a day, cannot be asked.
    pub fn mailer(origin: &str) -> Connection {
        Connection::http("mail", origin).writes("POST /messages").keyed("24h")
    }

    /// The scripted chat: neither.
    pub fn chat(origin: &str) -> Connection {
        Connection::http("chat", origin).writes("POST /messages")
    }

    /// The file.
    pub fn toml(&self) -> String {
        let Connection {
            name,
            connector,
            action,
            origin,
            account,
            timeout,
            settings,
            trust,
            requests,
            probe,
            concurrency,
            rate,
        } = self;
        format!(
            "name = \"{name}\"\nconnector = \"{connector}\"\naccount = \"{account}\"\nflows = [\"*\"]\n\n\
             [endpoints]\napi = \"{origin}\"\nplain_http = true\nallow_addresses = [\"127.0.0.1/32\"]\n\n\
             [auth]\nkind = \"none\"\n\n{probe}[limits]\nconcurrency = {concurrency}\n{rate}timeout = \"{timeout}\"\n\n\
             [settings]\n{settings}\n[trust.actions.{action}]\n{trust}\n{requests}"
        )
    }
}
