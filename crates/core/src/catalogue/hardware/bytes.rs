//! Sizes as messages spell them.

const KIB: i64 = 1 << 10;
const MIB: i64 = 1 << 20;
const GIB: i64 = 1 << 30;
const TIB: i64 = 1 << 40;
const PIB: i64 = 1 << 50;

/// A size in binary units: two decimals from GiB on, whole numbers below (validations §4.6).
pub fn binary(bytes: i64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
    let scaled = |unit: i64| bytes as f64 / unit as f64;
    match bytes {
        PIB.. => format!("{:.2} PiB", scaled(PIB)),
        TIB.. => format!("{:.2} TiB", scaled(TIB)),
        GIB.. => format!("{:.2} GiB", scaled(GIB)),
        MIB.. => format!("{} MiB", bytes / MIB),
        KIB.. => format!("{} KiB", bytes / KIB),
        _ => format!("{bytes} bytes"),
    }
}

/// A size given in MiB, in binary units.
pub fn binary_mib(mib: i64) -> String {
    binary(mib.saturating_mul(MIB))
}

/// A size in decimal units, rounded up to three decimals, without trailing zeros (validations §4.4).
pub fn decimal(bytes: i64) -> String {
    const UNITS: [(i128, &str); 4] =
        [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB")];
    let bytes = i128::from(bytes);
    let Some((unit, name)) = UNITS.iter().find(|(unit, _)| bytes >= *unit) else {
        return format!("{bytes} B");
    };
    let thousandths = (bytes * 1000 + unit - 1) / unit;
    let (whole, rest) = (thousandths / 1000, thousandths % 1000);
    if rest == 0 {
        return format!("{whole} {name}");
    }
    let digits = format!("{rest:03}");
    format!("{whole}.{} {name}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_units() {
        let cases = [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (100 * MIB + 1, "100 MiB"),
            (16 * GIB, "16.00 GiB"),
            (8 * GIB - 1, "8.00 GiB"),
            (3 * TIB / 2, "1.50 TiB"),
            (PIB, "1.00 PiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(binary(bytes), text);
        }
        assert_eq!(binary_mib(8192), "8.00 GiB");
    }

    #[test]
    fn decimal_units() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (100_000_000_000, "100 GB"),
            (99_998_500_001, "99.999 GB"),
            (99_999_999_999, "100 GB"),
            (1_500_000, "1.5 MB"),
            (1_000_000_000_000, "1 TB"),
            (21_474_836_480, "21.475 GB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(decimal(bytes), text);
        }
    }
}
