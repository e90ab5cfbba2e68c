//! Times as text.

/// UTC as ISO 8601 with microseconds, such as `2026-01-01T00:00:00.000000Z`.
pub(super) fn iso_time(unix_us: u64) -> String {
    const DAY_US: u64 = 86_400_000_000;
    let (mut year, mut day) = (1970, unix_us / DAY_US);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    loop {
        let days = 365 + u64::from(is_leap(year));
        if day < days {
            break;
        }
        day -= days;
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    let of_day = unix_us % DAY_US;
    let (second, micro) = (of_day / 1_000_000, of_day % 1_000_000);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let day = day + 1;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micro:06}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_flent_reads_them() {
        for (unix_us, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (lab_world::DEFAULT_EPOCH_US, "2026-01-01T00:00:00.000000Z"),
            (1_798_761_599_999_999, "2026-12-31T23:59:59.999999Z"),
        ] {
            assert_eq!(iso_time(unix_us), text);
        }
    }
}
