//! The way of a UE among base stations: its distance to one of them as it moves.

/// A straight way, gone to and fro.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Route {
    /// Place of the UE at first, m.
    pub from_m: [f64; 2],
    /// Place at which it turns, m.
    pub to_m: [f64; 2],
    /// Place of the base station, m.
    pub base_m: [f64; 2],
}

impl Route {
    /// Distance on the ground to the base station after `travelled_m`.
    pub fn distance_m(&self, travelled_m: f64) -> f64 {
        let [from_x, from_y] = self.from_m;
        let [to_x, to_y] = self.to_m;
        let length_m = libm::hypot(to_x - from_x, to_y - from_y);
        let share = if length_m > 0.0 {
            let way = (travelled_m / length_m) % 2.0;
            if way > 1.0 { 2.0 - way } else { way }
        } else {
            0.0
        };
        let [base_x, base_y] = self.base_m;
        let x = from_x + share * (to_x - from_x);
        let y = from_y + share * (to_y - from_y);
        libm::hypot(x - base_x, y - base_y)
    }

    /// Largest distance on the way, m: that of an end.
    pub fn largest_distance_m(&self) -> f64 {
        let length_m = libm::hypot(self.to_m[0] - self.from_m[0], self.to_m[1] - self.from_m[1]);
        self.distance_m(0.0).max(self.distance_m(length_m))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ue_goes_to_and_fro() {
        let route = Route { from_m: [0.0, 30.0], to_m: [400.0, 30.0], base_m: [0.0, 0.0] };
        for (travelled_m, x) in [(0.0, 0.0), (100.0, 100.0), (400.0, 400.0), (500.0, 300.0)] {
            let expected = libm::hypot(x, 30.0);
            assert!((route.distance_m(travelled_m) - expected).abs() < 1e-9, "{travelled_m}");
        }
        assert!((route.distance_m(8_100.0) - libm::hypot(100.0, 30.0)).abs() < 1e-6);
        assert!((route.largest_distance_m() - libm::hypot(400.0, 30.0)).abs() < 1e-9);
    }

    #[test]
    fn a_ue_that_stands_keeps_its_distance() {
        let route = Route { from_m: [3.0, 0.0], to_m: [3.0, 0.0], base_m: [0.0, 4.0] };
        assert_eq!((route.distance_m(0.0), route.distance_m(1e6)), (5.0, 5.0));
    }
}
