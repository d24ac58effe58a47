//! A peer that answers every statement and procedure of a workload by its name, and keeps what was asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use fathom_sql::database::Database;
use fathom_sql::script::Script;
use fathom_sql::session::Session;
use fathom_sql::texts::Texts;

use super::call::Called;
use super::tls::Encrypts;
use super::{Peer, Request, database, finished, transaction};

/// What was asked, by the name of its statement or procedure, in order.
pub type Calls = Vec<(String, Called)>;

/// Such a peer, for those statements and any procedure; `answer` gets the name and the call.
pub fn recorded(
    encrypts: Encrypts,
    statements: &Script,
    mut answer: impl FnMut(&str, &Called) -> Option<Vec<u8>> + Send + 'static,
) -> (Peer, Arc<Mutex<Calls>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let named: BTreeMap<&str, &str> = statements.blocks().map(|(name, text)| (text, name)).collect();
    let keep = move |name: &str, called: Called| {
        kept.lock().expect("nobody panicked with it").push((name.to_owned(), called));
    };
    let nothing = || Called { name: String::new(), parameters: Vec::new() };
    let peer = Peer::encrypted(encrypts, move |asked| match asked.request {
        Request::Transaction => {
            let begins = asked.transaction() == 5;
            keep(if begins { "begin" } else { "commit" }, nothing());
            Some(transaction(if begins { 8 } else { 9 }))
        }
        Request::Batch => {
            if asked.batch().starts_with("IF @@TRANCOUNT > 0 ROLLBACK") {
                keep("rollback", nothing());
            }
            Some(finished(None))
        }
        Request::Call => {
            let called = asked.call();
            let name = match called.name.as_str() {
                "sp_executesql" => named.get(called.text("@stmt")).copied().unwrap_or("other"),
                procedure => procedure,
            };
            let name = name.to_owned();
            let answered = answer(&name, &called);
            keep(&name, called);
            answered
        }
        Request::Bulk => panic!("no bulk copy"),
    });
    (peer, seen)
}

/// What a session's work comes to on such a peer, and what was asked for.
pub fn carried_out<T>(
    encrypts: Encrypts,
    texts: &Texts,
    answer: impl FnMut(&str, &Called) -> Option<Vec<u8>> + Send + 'static,
    work: impl FnOnce(&mut dyn Session) -> T,
) -> (T, Calls) {
    let (peer, seen) = recorded(encrypts, &texts.statements, answer);
    let database = database(&peer);
    let mut session = database.connect().expect("the peer lets everybody in");
    session.batch(texts.session.expect("it has one")).expect("set");
    let done = work(&mut *session);
    drop(session);
    peer.end();
    let seen = std::mem::take(&mut *seen.lock().expect("nobody panicked with it"));
    (done, seen)
}

/// The parameters that the definition of a procedure names.
pub fn defined(definitions: &Script, name: &str) -> Vec<&'static str> {
    let text = definitions.get(name);
    let head = text.split_once("CREATE PROCEDURE").and_then(|(_, rest)| rest.split_once("\nAS\n"));
    let words = head.expect("a head").0.split_whitespace();
    words.filter_map(|word| word.find('@').map(|at| &word[at..])).collect()
}

/// The types that the text of a statement declares, and that it is sent with a value for each.
pub fn declares_what_it_sends(name: &str, called: &Called) {
    let line = called.text("@stmt").lines().next().and_then(|line| line.strip_prefix("-- "));
    assert_eq!(Some(called.text("@params")), line, "{name}");
    assert_eq!(called.parameters.len(), 2 + called.text("@params").matches("@P").count(), "{name}");
}
