//! Means over seeds with their 95 % confidence intervals.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// A mean with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    /// Mean of the values.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval (Student's t); `None` for one value.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// The mean of values that are independent and roughly normal; `None` without values.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let half_width = StudentsT::new(0.0, 1.0, n - 1.0).ok().map(|distribution| {
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            distribution.inverse_cdf(0.975) * (squares / (n - 1.0) / n).sqrt()
        });
        (n > 0.0).then_some(Self { mean, half_width })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_has_an_interval_from_two_values_on() {
        assert_eq!(Estimate::of([]), None);
        assert_eq!(Estimate::of([3.0]), Some(Estimate { mean: 3.0, half_width: None }));
        assert_eq!(Estimate::of([7.0, 7.0]).unwrap().half_width, Some(0.0));
        // Standard deviation 1, n = 3: 4.302653 / √3.
        let half_width = Estimate::of([1.0, 2.0, 3.0]).unwrap().half_width.unwrap();
        assert!((half_width - 2.484_138).abs() < 1e-6, "{half_width}");
    }

    #[test]
    fn t_is_that_of_the_tables() {
        for (n, t) in [(2, 12.706_205), (5, 2.776_445), (10, 2.262_157), (101, 1.983_972)] {
            // Zeros and a one have the deviation 1 / √n.
            let values = (0..n).map(|index| f64::from(u8::from(index == 0)));
            let own = Estimate::of(values).unwrap().half_width.unwrap() * f64::from(n);
            assert!((own - t).abs() < 1e-5, "{n}: {own}");
        }
    }
}
