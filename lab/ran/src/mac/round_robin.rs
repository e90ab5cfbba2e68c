//! Equal split of a slot's PRBs.

use super::rbg::GroupSet;

/// PRBs needed by and given to a UE.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Grant {
    /// Index of the UE.
    pub ue: usize,
    /// Fewest PRBs of a transport block that carries data.
    pub min_prb: u16,
    /// PRBs that would empty its buffers.
    pub need_prb: u16,
    /// PRBs given.
    pub prb: u16,
    /// Where they are; none if that does not matter.
    pub groups: GroupSet,
}

/// Splits `budget_prb` equally among `grants` in whole RBGs. No UE gets more than it needs; the rest
/// goes to the others, an uneven remainder to the first. A UE below its minimum gets nothing.
pub fn split_equally(budget_prb: u16, rbg_prb: u16, grants: &mut [Grant]) {
    let groups = budget_prb.div_ceil(rbg_prb);
    let mut left = groups;
    for grant in grants.iter_mut() {
        let least = grant.min_prb.div_ceil(rbg_prb);
        grant.prb = if grant.need_prb > 0 && least <= left { least } else { 0 };
        left -= grant.prb;
    }
    // `prb` counts groups until the conversion below.
    loop {
        let wants = |g: &Grant| g.prb > 0 && g.prb < g.need_prb.div_ceil(rbg_prb);
        let unsatisfied = grants.iter().filter(|g| wants(g)).count() as u16;
        if unsatisfied == 0 || left == 0 {
            break;
        }
        add_share(rbg_prb, (left / unsatisfied).max(1), &mut left, grants);
    }
    let all_given = left == 0;
    for grant in grants.iter_mut() {
        grant.prb *= rbg_prb;
    }
    // The last group of the carrier may be smaller: the largest grant gets it.
    if all_given && let Some(grant) = grants.iter_mut().max_by_key(|g| g.prb) {
        grant.prb = grant.prb.saturating_sub(groups * rbg_prb - budget_prb);
    }
}

fn add_share(rbg_prb: u16, share: u16, left: &mut u16, grants: &mut [Grant]) {
    for grant in grants.iter_mut().filter(|g| g.prb > 0) {
        let missing = grant.need_prb.div_ceil(rbg_prb).saturating_sub(grant.prb);
        let more = missing.min(share).min(*left);
        grant.prb += more;
        *left -= more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(budget: u16, rbg: u16, needs: &[u16]) -> Vec<u16> {
        let mut grants: Vec<Grant> = needs
            .iter()
            .map(|need_prb| Grant { min_prb: 1, need_prb: *need_prb, ..Grant::default() })
            .collect();
        split_equally(budget, rbg, &mut grants);
        grants.iter().map(|g| g.prb).collect()
    }

    #[test]
    fn a_single_ue_gets_all_it_needs() {
        assert_eq!(split(25, 2, &[25]), [25]);
        assert_eq!(split(106, 1, &[200]), [106]);
        assert_eq!(split(25, 2, &[3]), [4], "whole groups");
    }

    #[test]
    fn equal_ues_get_equal_parts_and_leftovers_go_to_others() {
        assert_eq!(split(106, 1, &[106, 106]), [53, 53]);
        assert_eq!(split(25, 2, &[25, 25, 25]), [9, 8, 8]);
        assert_eq!(split(100, 1, &[10, 100, 100]), [10, 45, 45]);
        assert_eq!(split(3, 1, &[3, 3, 3, 3]), [1, 1, 1, 0]);
    }

    #[test]
    fn no_ue_gets_less_than_its_minimum() {
        let mut grants = [
            Grant { min_prb: 4, need_prb: 50, ..Grant::default() },
            Grant { min_prb: 4, need_prb: 50, ..Grant::default() },
        ];
        split_equally(6, 1, &mut grants);
        assert_eq!(grants.map(|g| g.prb), [6, 0]);
    }

    proptest! {
        #[test]
        fn nothing_is_given_twice_or_left_while_needed(
            budget in 1u16..276,
            rbg in 1u16..17,
            needs in prop::collection::vec(0u16..300, 1..20),
        ) {
            let got = split(budget, rbg, &needs);
            let sum: u16 = got.iter().sum();
            prop_assert!(sum <= budget);
            let satisfied = got.iter().zip(&needs).all(|(got, need)| got >= need);
            prop_assert!(satisfied || sum == budget, "{got:?}");
            for (got, need) in got.iter().zip(&needs) {
                prop_assert!(*got < need + rbg);
            }
        }
    }
}
