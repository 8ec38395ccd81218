//! Strongly connected components of a directed graph, in topological order.

/// Components of the graph in which `edges[v]` lists what `v` depends on. A component comes after everything
/// that it depends on; vertices inside a component and ties between components are in index order.
pub fn components(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let n = edges.len();
    let (mut index, mut low) = (vec![UNSEEN; n], vec![0; n]);
    let (mut on_stack, mut stack, mut found) = (vec![false; n], Vec::new(), Vec::new());
    let mut counter = 0;
    // Tarjan's algorithm without recursion: chains of 10 000 subsystems must not need a deep stack.
    let mut calls: Vec<(usize, usize)> = Vec::new();
    for root in 0..n {
        if index[root] != UNSEEN {
            continue;
        }
        calls.push((root, 0));
        while let Some(&mut (v, ref mut next)) = calls.last_mut() {
            if *next == 0 {
                index[v] = counter;
                low[v] = counter;
                counter += 1;
                stack.push(v);
                on_stack[v] = true;
            }
            if let Some(&w) = edges[v].get(*next) {
                *next += 1;
                if index[w] == UNSEEN {
                    calls.push((w, 0));
                } else if on_stack[w] {
                    low[v] = low[v].min(index[w]);
                }
                continue;
            }
            calls.pop();
            if let Some(&(parent, _)) = calls.last() {
                low[parent] = low[parent].min(low[v]);
            }
            if low[v] == index[v] {
                let mut component = Vec::new();
                while let Some(w) = stack.pop() {
                    on_stack[w] = false;
                    component.push(w);
                    if w == v {
                        break;
                    }
                }
                component.sort_unstable();
                found.push(component);
            }
        }
    }
    found
}

/// Whether a component is a loop: more than one vertex, or one that depends on itself.
pub fn is_loop(component: &[usize], edges: &[Vec<usize>]) -> bool {
    component.len() > 1 || edges[component[0]].contains(&component[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_come_first_and_loops_stay_together() {
        // 0 needs 1, 1 and 2 need each other, 3 stands alone, 4 needs itself.
        let edges = vec![vec![1], vec![2], vec![1], vec![], vec![4]];
        let found = components(&edges);
        assert_eq!(found, vec![vec![1, 2], vec![0], vec![3], vec![4]]);
        assert_eq!(found.iter().map(|c| is_loop(c, &edges)).collect::<Vec<_>>(), [true, false, false, true]);
    }

    #[test]
    fn a_vertex_whose_first_edge_is_visited_again_is_not_numbered_twice() {
        // A chain of 100 000 vertices: no recursion, each numbered once.
        let n = 100_000;
        let edges: Vec<Vec<usize>> = (0..n).map(|v| if v + 1 < n { vec![v + 1] } else { vec![] }).collect();
        let found = components(&edges);
        assert_eq!(found.len(), n);
        assert_eq!(found[0], [n - 1]);
    }
}
