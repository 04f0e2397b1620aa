//! Which lane of a branch holds which rank: a permutation in one word.
//!
//! Entries stay in the lane they were put in, and only the word says which comes first. Inserting in
//! the middle then moves no entry, and whoever remembers a lane may go on doing so. Nibble r
//! of the word is the lane of rank r; behind the used ones stand the free ones, the last freed
//! first.
//!
//! Source: the permuter of Y. Mao, E. Kohler, R. Morris, "Cache Craftiness for Fast Multicore Key-Value
//! Storage", EuroSys 2012.

/// Bits per rank.
const BITS: u32 = 4;
/// One in every nibble.
const ONES: u64 = 0x1111_1111_1111_1111;

/// Most ranks an order has.
pub(crate) const MAX_LANES: usize = 16;

/// The lanes in use, by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    lanes: u64,
    /// One bit per lane in use.
    used: u16,
    len: u8,
}

impl Order {
    pub(crate) const EMPTY: Order = Order { lanes: 0xfedc_ba98_7654_3210, used: 0, len: 0 };

    /// The first lanes, each at the rank of its number.
    pub(crate) const fn first(len: usize) -> Order {
        Order { used: (1 << len) - 1, len: len as u8, ..Order::EMPTY }
    }

    pub(crate) const fn len(self) -> usize {
        self.len as usize
    }

    /// Returns the lanes in use, one bit each.
    pub(crate) const fn used(self) -> u32 {
        self.used as u32
    }

    /// Returns the lane of a rank below the length.
    pub(crate) const fn lane(self, rank: usize) -> usize {
        (self.lanes >> (rank as u32 * BITS)) as usize % MAX_LANES
    }

    /// Returns the rank of a lane in use.
    pub(crate) const fn rank(self, lane: usize) -> usize {
        // The nibble that equals the lane becomes zero, and the lowest zero nibble is the lowest
        // one to borrow.
        let differing = self.lanes ^ (ONES * lane as u64);
        let zero = differing.wrapping_sub(ONES) & !differing & (ONES << (BITS - 1));
        (zero.trailing_zeros() / BITS) as usize
    }

    /// Gives a free lane the rank and moves up those at and after it. Returns the lane.
    pub(crate) const fn insert(&mut self, rank: usize) -> usize {
        let lane = self.lane(self.len());
        let below = below(rank);
        let moving = !below & through(self.len());
        self.lanes = self.lanes & !moving
            | (self.lanes & moving) << BITS & moving
            | (lane as u64) << (rank as u32 * BITS);
        self.used |= 1 << lane;
        self.len += 1;
        lane
    }

    /// Frees the lanes from a rank on.
    pub(crate) const fn truncate(&mut self, rank: usize) {
        while self.len() > rank {
            self.len -= 1;
            self.used &= !(1 << self.lane(self.len()));
        }
    }

    /// Moves the lane of a rank to another one, and those between by one.
    pub(crate) const fn shift(&mut self, from: usize, to: usize) {
        let lane = self.lane(from) as u64;
        let rest = self.lanes & below(from) | self.lanes >> BITS & !below(from);
        self.lanes = rest & below(to) | (rest & !below(to)) << BITS | lane << (to as u32 * BITS);
    }

    /// Frees the lane of a rank and moves down those after it. Returns the lane.
    pub(crate) const fn remove(&mut self, rank: usize) -> usize {
        let lane = self.lane(rank);
        self.len -= 1;
        let moving = !below(rank) & through(self.len());
        self.lanes = self.lanes & !moving
            | (self.lanes & moving) >> BITS & moving
            | (lane as u64) << (self.len as u32 * BITS);
        self.used &= !(1 << lane);
        lane
    }
}

/// The nibbles of the ranks before this one.
const fn below(rank: usize) -> u64 {
    (1 << (rank as u32 * BITS)) - 1
}

/// The nibbles of the ranks up to this one.
const fn through(rank: usize) -> u64 {
    u64::MAX >> (u64::BITS - BITS - rank as u32 * BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// Every way to insert up to five and to remove one, and all lanes of a full word.
    #[test]
    fn an_order_is_a_list_of_lanes() {
        fn check(order: Order, list: &[usize]) {
            assert_eq!(order.len(), list.len());
            assert_eq!(order.used(), list.iter().map(|lane| 1 << lane).sum::<u32>());
            for (rank, &lane) in list.iter().enumerate() {
                assert_eq!((order.lane(rank), order.rank(lane)), (lane, rank), "{list:?}");
            }
        }
        fn go(order: Order, list: &[usize], depth: usize) {
            check(order, list);
            for rank in 0..list.len() {
                let (mut order, mut list) = (order, Vec::from(list));
                assert_eq!(order.remove(rank), list.remove(rank));
                check(order, &list);
                if list.len() + 1 < depth {
                    go(order, &list, 0);
                }
            }
            for from in 0..list.len() {
                for to in 0..list.len() {
                    let (mut order, mut list) = (order, Vec::from(list));
                    order.shift(from, to);
                    let lane = list.remove(from);
                    list.insert(to, lane);
                    check(order, &list);
                }
            }
            for rank in 0..=list.len() {
                if list.len() < depth {
                    let (mut order, mut list) = (order, Vec::from(list));
                    let lane = order.insert(rank);
                    assert!(!list.contains(&lane));
                    list.insert(rank, lane);
                    go(order, &list, depth);
                }
            }
        }
        go(Order::EMPTY, &[], 5);

        let (mut order, mut list) = (Order::EMPTY, Vec::new());
        for step in 0..MAX_LANES {
            let rank = step * 7 % (step + 1);
            list.insert(rank, order.insert(rank));
            check(order, &list);
        }
        for step in 0..MAX_LANES {
            let lane = list.remove(step * 5 % MAX_LANES);
            list.insert(step * 3 % MAX_LANES, lane);
            order.shift(step * 5 % MAX_LANES, step * 3 % MAX_LANES);
            check(order, &list);
        }
        for step in (0..MAX_LANES).rev() {
            let rank = step * 5 % (step + 1);
            assert_eq!(order.remove(rank), list.remove(rank));
            check(order, &list);
        }
    }
}
