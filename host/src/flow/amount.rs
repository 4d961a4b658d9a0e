//! Durations ("2s", "5m", "24h") and rates ("20/m"). A unit is always asked for: a bare number is how a wait of two
//! seconds becomes one of two milliseconds.

use super::webhook::Rate;

const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Milliseconds of a duration; the error says what is wrong.
pub(super) fn duration_ms(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(format!("{text:?} is not a duration"));
    }
    if unit.is_empty() {
        return Err(format!("{text:?} has no unit"));
    }
    let per = unit_ms(unit).ok_or_else(|| format!("{unit:?} is not a unit of time"))?;
    let ms = number.parse::<u64>().ok().and_then(|n| n.checked_mul(per));
    ms.ok_or_else(|| format!("{text:?} is too long"))
}

/// A rate; the error says what is wrong.
pub(super) fn rate(text: &str) -> Result<Rate, String> {
    let (count, unit) = text.split_once('/').ok_or_else(|| format!("{text:?} is not a rate"))?;
    let per_ms = unit_ms(unit.trim())
        .filter(|ms| *ms > 1)
        .ok_or_else(|| format!("{unit:?} is not a unit of time"))?;
    match count.trim().parse::<u32>() {
        Ok(count @ 1..=1_000_000) => Ok(Rate { count, per_ms }),
        Ok(_) | Err(_) => Err(format!("{count:?} is not a number between 1 and 1000000")),
    }
}

/// A duration as a designer would write it.
pub(super) fn words(ms: u64) -> String {
    let fits = |&&(_, per): &&(&str, u64)| ms >= per && ms.is_multiple_of(per);
    let (unit, per) = UNITS.iter().rev().find(fits).copied().unwrap_or(UNITS[0]);
    format!("{}{unit}", ms / per)
}

fn unit_ms(unit: &str) -> Option<u64> {
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, ms)| *ms)
}
