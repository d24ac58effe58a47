//! A pool before and while it is open.

use std::cell::RefCell;
use std::rc::Rc;

use fathom_volume::{Env, Result};

use super::live::Live;
use super::open::open;
use super::parts::Parts;
use crate::opening::Opening;
use crate::tap::Owner;

/// One pool of a stack.
pub struct Node {
    name: String,
    opening: Opening<Live>,
}

/// Every pool of one stack.
#[derive(Default)]
struct Pools(RefCell<Vec<Rc<Node>>>);

/// Every pool of this stack, each after the volumes below it.
pub fn pools(env: &Env) -> Vec<Rc<Node>> {
    env.shared::<Pools>("pools", Pools::default).0.borrow().clone()
}

/// A pool that opens as soon as the executor runs.
pub(super) fn join(env: &Env, parts: Parts, owner: Owner<Live>) -> Rc<Node> {
    let node = Rc::new(Node { name: parts.name.clone(), opening: Opening::default() });
    env.shared::<Pools>("pools", Pools::default).0.borrow_mut().push(Rc::clone(&node));
    let joined = Rc::clone(&node);
    env.context.spawn(async move {
        let live = open(parts).await.map(Rc::new);
        if let Ok(live) = &live {
            let _ = owner.set(Rc::downgrade(live));
            live.start();
        }
        joined.opening.give(live);
    });
    node
}

impl Node {
    /// The pool's name in the settings.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The open pool.
    ///
    /// # Errors
    /// Why it could not be opened, with the remedy.
    pub(super) async fn live(&self) -> Result<Rc<Live>> {
        self.opening.get().await
    }

    /// The pool, if it is open by now.
    pub(super) fn now(&self) -> Option<Rc<Live>> {
        self.opening.now()
    }

    /// Waits until the pool is open.
    ///
    /// # Errors
    /// Why it could not be opened, with the remedy.
    pub async fn ready(&self) -> Result<()> {
        self.live().await.map(drop)
    }

    /// What is worth knowing before a start, of a pool [for reading](Env::for_reading).
    ///
    /// # Errors
    /// Why a start is refused, with the remedy.
    pub async fn check(&self) -> Result<Vec<String>> {
        let live = self.live().await?;
        Ok(if live.is_to_be_made() {
            vec!["it was not made yet; its first start makes it".to_owned()]
        } else {
            Vec::new()
        })
    }

    /// Waits until nothing is left to move.
    ///
    /// # Errors
    /// If it could not be opened.
    pub async fn balanced(&self) -> Result<()> {
        let live = self.live().await?;
        fathom_runtime::until(&live.changed, || (!live.moves.get()).then_some(())).await;
        Ok(())
    }
}
