//! Whether what is measured again and again grows.

/// How much the second number of the points rises with the first one, along the straight line that fits them best; 0 where they tell
/// nothing of it.
pub fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let (mut x, mut y) = (0.0, 0.0);
    for point in points {
        (x, y) = (x + point.0 / count, y + point.1 / count);
    }
    let (mut together, mut alone) = (0.0, 0.0);
    for point in points {
        let aside = point.0 - x;
        (together, alone) = (together + aside * (point.1 - y), alone + aside * aside);
    }
    if alone > 0.0 { together / alone } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leak_is_told_from_noise() {
        // Megabytes after so many installations: up and down by three, and a quarter more for each.
        let noisy = |leak: f64| {
            let points = (0..100).map(|number| {
                let count = f64::from(4 * number);
                (count, 100.0 + leak * count + f64::from(number * 37 % 7 - 3))
            });
            slope(&points.collect::<Vec<_>>())
        };
        assert!(noisy(0.0).abs() < 0.002, "{}", noisy(0.0));
        assert!((noisy(0.25) - 0.25).abs() < 0.002, "{}", noisy(0.25));
    }

    #[test]
    fn too_few_points_tell_nothing() {
        for points in [&[][..], &[(1.0, 5.0)], &[(1.0, 5.0), (1.0, 9.0)]] {
            assert!(slope(points).abs() < f64::EPSILON, "{points:?}");
        }
    }
}
