//! The largest group of nodes of a graph that are all joined with each other.
//!
//! The exact answer takes time exponential in the number of nodes for graphs made to be hard, which hostile reports
//! could describe; so the search is given a number of steps, after which the largest group found so far stands. Graphs of
//! real networks are a few full meshes with a few links missing, and take no more steps than they have nodes.

const WORD: usize = u64::BITS as usize;

/// A set of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Nodes(Vec<u64>);

impl Nodes {
    fn empty(count: usize) -> Self {
        Self(vec![0; count.div_ceil(WORD)])
    }

    fn add(&mut self, node: usize) {
        self.0[node / WORD] |= 1 << (node % WORD);
    }

    fn remove(&mut self, node: usize) {
        self.0[node / WORD] &= !(1 << (node % WORD));
    }

    fn contains(&self, node: usize) -> bool {
        self.0[node / WORD] & (1 << (node % WORD)) != 0
    }

    fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }

    fn subtract(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
    }

    fn first(&self) -> Option<usize> {
        self.iter().next()
    }

    /// The nodes, ascending.
    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    index * WORD + bit
                })
            })
        })
    }
}

/// A graph whose edges go both ways.
#[derive(Debug)]
pub(super) struct Graph {
    neighbours: Vec<Nodes>,
}

/// Edges that each go one way.
pub(super) struct Edges {
    to: Vec<Nodes>,
}

impl Edges {
    /// Adds an edge; one from a node to itself says nothing.
    pub(super) fn add(&mut self, from: usize, to: usize) {
        if from != to {
            self.to[from].add(to);
        }
    }
}

impl Graph {
    /// The graph of the edges that go both ways.
    pub(super) fn mutual(count: usize, fill: impl FnOnce(&mut Edges)) -> Self {
        let mut edges = Edges { to: vec![Nodes::empty(count); count] };
        fill(&mut edges);
        let mut neighbours = edges.to.clone();
        for (node, own) in neighbours.iter_mut().enumerate() {
            for other in edges.to[node].iter() {
                if !edges.to[other].contains(node) {
                    own.remove(other);
                }
            }
        }
        Self { neighbours }
    }
}

/// The nodes of the largest group, ascending; of several the one with the lowest nodes. Empty without any edge.
///
/// `steps`: how long to search at the most, of which is left what was not needed; each step passes over the nodes' bits once for each
/// node that is left.
pub(super) fn largest_clique(graph: &Graph, steps: &mut usize) -> Vec<usize> {
    let count = graph.neighbours.len();
    let mut candidates = Nodes::empty(count);
    (0..count).filter(|node| graph.neighbours[*node].len() > 0).for_each(|node| candidates.add(node));
    let mut search = Search { graph, best: Vec::new(), steps };
    search.extend(&mut Vec::new(), candidates);
    search.best
}

struct Search<'g> {
    graph: &'g Graph,
    best: Vec<usize>,
    steps: &'g mut usize,
}

impl Search<'_> {
    /// Extends a group by nodes that are joined with all of it, lowest first, so that of equal groups the first found
    /// is the lowest. What can't grow past the best group is not looked at.
    fn extend(&mut self, group: &mut Vec<usize>, mut candidates: Nodes) {
        let depth = group.len();
        while let Some(node) = candidates.first() {
            if *self.steps == 0 || group.len() + self.bound(&candidates) <= self.best.len() {
                break;
            }
            *self.steps -= 1;
            candidates.remove(node);
            let joined = candidates.and(&self.graph.neighbours[node]);
            if joined == candidates {
                // Joined with all that is left: part of any largest group, so there is no need to try without it.
                group.push(node);
                continue;
            }
            group.push(node);
            self.extend(group, joined);
            group.pop();
        }
        if group.len() > self.best.len() {
            self.best.clone_from(group);
        }
        group.truncate(depth);
    }

    /// At least as many nodes as the largest group has: that many sets of which no two nodes are joined.
    fn bound(&self, candidates: &Nodes) -> usize {
        let mut left = candidates.clone();
        let mut sets = 0;
        while left.first().is_some() {
            sets += 1;
            let mut free = left.clone();
            while let Some(node) = free.first() {
                left.remove(node);
                free.remove(node);
                free.subtract(&self.graph.neighbours[node]);
            }
        }
        sets
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn largest_clique(graph: &Graph) -> Vec<usize> {
        super::largest_clique(graph, &mut 20_000)
    }

    fn graph(count: usize, edges: &[(usize, usize)]) -> Graph {
        Graph::mutual(count, |to| {
            for (a, b) in edges {
                to.add(*a, *b);
                to.add(*b, *a);
            }
        })
    }

    #[test]
    fn small_graphs() {
        assert_eq!(largest_clique(&graph(0, &[])), Vec::<usize>::new());
        assert_eq!(largest_clique(&graph(3, &[])), Vec::<usize>::new());
        assert_eq!(largest_clique(&graph(4, &[(2, 3), (0, 1)])), [0, 1]);
        assert_eq!(largest_clique(&graph(5, &[(0, 1), (2, 3), (3, 4), (2, 4)])), [2, 3, 4]);
    }

    #[test]
    fn five_hundred_hosts_in_two_halves() {
        let edges: Vec<_> = (0..500)
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .filter(|(a, b)| (*a < 240) == (*b < 240) && (a + b) % 251 != 7)
            .collect();
        let graph = graph(500, &edges);
        let found = largest_clique(&graph);
        // Among 260 hosts of which each lacks at most two links, at least half are a full mesh.
        assert!(found.len() >= 130 && found.iter().all(|node| *node >= 240), "{}", found.len());
        assert!(found.iter().all(|a| found.iter().all(|b| a == b || graph.neighbours[*a].contains(*b))));
    }

    #[test]
    fn five_hundred_hosts_that_all_reach_each_other() {
        let edges: Vec<_> = (0..500).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
        assert_eq!(largest_clique(&graph(500, &edges)).len(), 500);
    }

    proptest! {
        #[test]
        fn as_by_trying_everything(edges in prop::collection::vec((0_usize..9, 0_usize..9), 0..40)) {
            let graph = graph(9, &edges);
            let joined = |nodes: &[usize]| {
                nodes.iter().all(|a| nodes.iter().all(|b| a == b || graph.neighbours[*a].contains(*b)))
            };
            let all = (0_u32..1 << 9).map(|bits| (0..9).filter(|n| bits & (1 << n) != 0).collect::<Vec<usize>>());
            let best = all
                .filter(|nodes| nodes.len() > 1 && joined(nodes))
                .min_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)))
                .unwrap_or_default();
            prop_assert_eq!(largest_clique(&graph), best);
        }
    }
}
