//! Places for so many at a time, of which no address takes all.
//!
//! An address may hold three places for each that is free: three quarters of all where it is alone, as a rack behind one
//! address is; the fewer the more others there are. However many want all they can get, a few places stay free for who has none.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

/// Places that one address may hold for each that is free.
const FOR_EACH_FREE: usize = 3;

/// The places; a clone is another handle on the same ones.
#[derive(Clone)]
pub(crate) struct Places(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// A place may have become free.
    vacancy: Notify,
}

struct State {
    free: usize,
    /// Of the free ones those that are kept for whoever comes next.
    kept: usize,
    /// By address; who holds none is not there.
    held: HashMap<IpAddr, usize>,
    /// In the order in which they came.
    waiting: VecDeque<Waiter>,
}

struct Waiter {
    peer: IpAddr,
    turn: oneshot::Sender<Place>,
}

/// A place that is held; it is given back when this is dropped.
pub(crate) struct Place {
    places: Places,
    peer: IpAddr,
}

/// A free place that is kept for whoever comes next; it is for everybody again when this is dropped.
pub(crate) struct Vacancy {
    places: Places,
    is_kept: bool,
}

impl State {
    /// Takes a place for an address that may hold one more.
    fn take(&mut self, peer: IpAddr) -> bool {
        let held = self.held.get(&peer).copied().unwrap_or_default();
        let may = self.free > self.kept && held < self.free.saturating_mul(FOR_EACH_FREE);
        if may {
            self.free -= 1;
            self.held.insert(peer, held + 1);
        }
        may
    }

    fn give_back(&mut self, peer: IpAddr) {
        self.free += 1;
        if let Some(held) = self.held.get_mut(&peer) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&peer);
            }
        }
    }

    /// Takes places for those who wait and may have one now.
    fn call(&mut self) -> Vec<Waiter> {
        let (mut called, mut rest) = (Vec::new(), VecDeque::new());
        for waiter in std::mem::take(&mut self.waiting) {
            if waiter.turn.is_closed() {
                continue;
            }
            if self.take(waiter.peer) {
                called.push(waiter);
            } else {
                rest.push_back(waiter);
            }
        }
        self.waiting = rest;
        called
    }
}

impl Places {
    pub(crate) fn new(count: usize) -> Self {
        let state = State { free: count.max(1), kept: 0, held: HashMap::new(), waiting: VecDeque::new() };
        Self(Arc::new(Shared { state: Mutex::new(state), vacancy: Notify::new() }))
    }

    /// A free place for whoever comes next, as soon as there is one.
    pub(crate) async fn vacancy(&self) -> Vacancy {
        loop {
            {
                let mut state = self.0.state.lock();
                if state.free > state.kept {
                    state.kept += 1;
                    return Vacancy { places: self.clone(), is_kept: true };
                }
            }
            self.0.vacancy.notified().await;
        }
    }

    /// A place for an address, as soon as it may have one; `None`: it had to wait for too long.
    pub(crate) async fn take(&self, peer: IpAddr, patience: Duration) -> Option<Place> {
        let turn = {
            let mut state = self.0.state.lock();
            if state.take(peer) {
                return Some(self.place(peer));
            }
            // Who waits no more is forgotten, also where nobody leaves.
            state.waiting.retain(|waiter| !waiter.turn.is_closed());
            let (sender, turn) = oneshot::channel();
            state.waiting.push_back(Waiter { peer, turn: sender });
            turn
        };
        timeout(patience, turn).await.ok()?.ok()
    }

    fn place(&self, peer: IpAddr) -> Place {
        Place { places: self.clone(), peer }
    }

    /// Has places for those who wait after a change that may have made one free.
    fn after(&self, change: impl FnOnce(&mut State)) {
        let called = {
            let mut state = self.0.state.lock();
            change(&mut state);
            state.call()
        };
        for Waiter { peer, turn } in called {
            // Who has gone this moment gives it back by dropping it.
            drop(turn.send(self.place(peer)));
        }
        self.0.vacancy.notify_one();
    }
}

impl Vacancy {
    /// The place for an address, if that may hold one more.
    pub(crate) fn give(mut self, peer: IpAddr) -> Option<Place> {
        let taken = {
            let mut state = self.places.0.state.lock();
            state.kept -= 1;
            let taken = state.take(peer);
            if !taken {
                state.kept += 1;
            }
            taken
        };
        self.is_kept = !taken;
        taken.then(|| self.places.place(peer))
    }
}

impl Drop for Vacancy {
    fn drop(&mut self) {
        if self.is_kept {
            self.places.after(|state| state.kept -= 1);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.after(|state| state.give_back(self.peer));
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Places").finish_non_exhaustive()
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("peer", &self.peer).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn peer(number: u8) -> IpAddr {
        Ipv4Addr::new(192, 0, 2, number).into()
    }

    /// A place for an address, if it may have one now.
    fn try_take(places: &Places, number: u8) -> Option<Place> {
        let taken = places.0.state.lock().take(peer(number));
        taken.then(|| places.place(peer(number)))
    }

    /// All places that an address can have.
    fn all(places: &Places, number: u8) -> Vec<Place> {
        std::iter::from_fn(|| try_take(places, number)).collect()
    }

    #[test]
    fn no_address_takes_all_and_a_rack_behind_one_has_most() {
        for (count, expected) in [(1, 1), (2, 2), (3, 3), (4, 3), (8, 6), (400, 300), (16_384, 12_288)] {
            assert_eq!(all(&Places::new(count), 1).len(), expected, "of {count}");
        }
        let places = Places::new(400);
        let mut held: Vec<_> = (1..=4).map(|number| all(&places, number)).collect();
        assert_eq!(held.iter().map(Vec::len).collect::<Vec<_>>(), [300, 75, 19, 5]);
        // Who comes fifth has a place all the same, and what the first gives back is for those who have fewer.
        let fifth = try_take(&places, 5).unwrap();
        held[0].truncate(250);
        assert!(try_take(&places, 1).is_none());
        assert_eq!(all(&places, 6).len(), 38);
        drop((held, fifth));
        assert_eq!(places.0.state.lock().free, 400);
        assert!(places.0.state.lock().held.is_empty(), "who holds none is forgotten");
    }

    #[tokio::test]
    async fn a_vacancy_is_nobodys_until_it_is_given() {
        let places = Places::new(2);
        let (first, second) = (places.vacancy().await, places.vacancy().await);
        assert!(try_take(&places, 1).is_none());
        let third = tokio::spawn({
            let places = places.clone();
            async move { places.vacancy().await }
        });
        let held = first.give(peer(1)).unwrap();
        tokio::task::yield_now().await;
        assert!(!third.is_finished() && try_take(&places, 2).is_none());
        // Nobody came for it: it is for whoever waits.
        drop(second);
        let third = third.await.unwrap();
        assert_eq!(third.give(peer(2)).unwrap().peer, peer(2));
        drop(held);
        let most = all(&places, 3);
        assert_eq!(most.len(), 2);
        drop(most);

        // Who has its share gets none, and takes it from nobody.
        let places = Places::new(4);
        let _most = all(&places, 1);
        assert!(places.vacancy().await.give(peer(1)).is_none());
        assert!(places.vacancy().await.give(peer(2)).is_some());
        let state = places.0.state.lock();
        assert_eq!((state.free, state.kept), (1, 0));
    }

    /// Waits until so many wait.
    async fn waiting(places: &Places, count: usize) {
        let live = || places.0.state.lock().waiting.iter().filter(|waiter| !waiter.turn.is_closed()).count();
        while live() < count {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn who_waits_has_a_turn_in_order_unless_it_has_gone() {
        let places = Places::new(1);
        let first = try_take(&places, 1).unwrap();
        assert!(places.take(peer(2), Duration::from_millis(1)).await.is_none());
        let wait = |number| {
            let places = places.clone();
            tokio::spawn(async move { places.take(peer(number), Duration::from_secs(60)).await })
        };
        let gone = wait(2);
        waiting(&places, 1).await;
        assert_eq!(places.0.state.lock().waiting.len(), 1, "who waits no more is forgotten");
        let (next, last) = (wait(3), wait(4));
        waiting(&places, 3).await;
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        drop(first);
        let place = next.await.unwrap().unwrap();
        assert!(try_take(&places, 2).is_none());
        drop(place);
        assert_eq!(last.await.unwrap().unwrap().peer, peer(4));
        assert_eq!(places.0.state.lock().free, 1);
    }
}
