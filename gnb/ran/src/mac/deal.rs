//! Splits the PRBs of a slot.

/// What one UE wants and gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Grant {
    /// Index of the UE.
    pub ue: usize,
    /// PRBs below which a transport block carries nothing.
    pub min_prb: u16,
    /// PRBs that would empty its buffers.
    pub need_prb: u16,
    /// PRBs given.
    pub prb: u16,
}

/// Gives `budget_prb` to `grants` in equal parts of whole RBGs, nobody more than it needs; what
/// one leaves goes to the others, and what cannot be split evenly to the first. A UE that would
/// get less than its minimum gets nothing.
pub fn deal(budget_prb: u16, rbg_prb: u16, grants: &mut [Grant]) {
    let groups = budget_prb.div_ceil(rbg_prb);
    let mut left = groups;
    for grant in grants.iter_mut() {
        let least = grant.min_prb.div_ceil(rbg_prb);
        grant.prb = if grant.need_prb > 0 && least <= left { least } else { 0 };
        left -= grant.prb;
    }
    // From here until the end `prb` counts groups.
    loop {
        let wants = |g: &Grant| g.prb > 0 && g.prb < g.need_prb.div_ceil(rbg_prb);
        let hungry = grants.iter().filter(|g| wants(g)).count() as u16;
        if hungry == 0 || left == 0 {
            break;
        }
        level(rbg_prb, (left / hungry).max(1), &mut left, grants);
    }
    let all_given = left == 0;
    for grant in grants.iter_mut() {
        grant.prb *= rbg_prb;
    }
    // The last group of the carrier may be a smaller one; whoever has most misses it least.
    if all_given && let Some(grant) = grants.iter_mut().max_by_key(|g| g.prb) {
        grant.prb = grant.prb.saturating_sub(groups * rbg_prb - budget_prb);
    }
}

fn level(rbg_prb: u16, share: u16, left: &mut u16, grants: &mut [Grant]) {
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

    fn dealt(budget: u16, rbg: u16, needs: &[u16]) -> Vec<u16> {
        let mut grants: Vec<Grant> = needs
            .iter()
            .map(|need_prb| Grant { min_prb: 1, need_prb: *need_prb, ..Grant::default() })
            .collect();
        deal(budget, rbg, &mut grants);
        grants.iter().map(|g| g.prb).collect()
    }

    #[test]
    fn all_of_it_goes_to_one_in_need() {
        assert_eq!(dealt(25, 2, &[25]), [25]);
        assert_eq!(dealt(106, 1, &[200]), [106]);
        assert_eq!(dealt(25, 2, &[3]), [4], "whole groups");
    }

    #[test]
    fn equals_get_equal_parts_and_leftovers_go_on() {
        assert_eq!(dealt(106, 1, &[106, 106]), [53, 53]);
        assert_eq!(dealt(25, 2, &[25, 25, 25]), [9, 8, 8]);
        assert_eq!(dealt(100, 1, &[10, 100, 100]), [10, 45, 45]);
        assert_eq!(dealt(3, 1, &[3, 3, 3, 3]), [1, 1, 1, 0]);
    }

    #[test]
    fn nobody_gets_less_than_it_can_use() {
        let mut grants = [
            Grant { min_prb: 4, need_prb: 50, ..Grant::default() },
            Grant { min_prb: 4, need_prb: 50, ..Grant::default() },
        ];
        deal(6, 1, &mut grants);
        assert_eq!(grants.map(|g| g.prb), [6, 0]);
    }

    proptest! {
        #[test]
        fn nothing_is_given_twice_or_left_while_needed(
            budget in 1u16..276,
            rbg in 1u16..17,
            needs in prop::collection::vec(0u16..300, 1..20),
        ) {
            let got = dealt(budget, rbg, &needs);
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
